//! Counts a program and prints what its calls cost, by the offset that each returns to.
use std::collections::BTreeMap;
use timewise_profile::EdgeKind;

fn main() -> Result<(), timewise_engine::CountError> {
    let mut arguments = std::env::args_os().skip(1);
    let mut launch = timewise_target::launch::Launch::new(arguments.next().expect("a program"));
    launch.arguments = arguments.collect();
    let counted = timewise_engine::count(launch, &timewise_engine::Options::default())?;
    let profile = &counted.profile;
    let mut rows: BTreeMap<(u32, u32, u64, u64), (u64, u64)> = BTreeMap::new();
    let key = |process: u32, site: u32, callee: u32| {
        let (site, callee) = (&profile.blocks[site as usize], &profile.blocks[callee as usize]);
        (process, site.place.module.0, site.place.offset.0 + site.code.len() as u64, callee.place.offset.0)
    };
    for edge in
        profile.edge_counts.iter().filter(|e| matches!(e.kind, EdgeKind::Call | EdgeKind::IndirectCall))
    {
        if let (Some(from), Some(to)) = (edge.from, edge.to) {
            rows.entry(key(edge.process.0, from.0, to.0)).or_default().0 += edge.count;
        }
    }
    for cost in &profile.call_costs {
        rows.entry(key(cost.process.0, cost.site.0, cost.callee.0)).or_default().1 += cost.instructions;
    }
    for ((process, module, site, callee), (calls, instructions)) in rows {
        let module = String::from_utf8_lossy(&profile.modules[module as usize].path);
        println!("{process}\t{module}\t{site:x}\t{callee:x}\t{calls}\t{instructions}");
    }
    let instructions: u64 = profile.threads.iter().filter_map(|thread| thread.instructions).sum();
    eprintln!(
        "instructions {instructions} imbalance {} lost calls {:?}",
        counted.imbalance, profile.runs[0].lost_calls
    );
    for warning in &profile.runs[0].warnings {
        eprintln!("warning: {warning}");
    }
    Ok(())
}
