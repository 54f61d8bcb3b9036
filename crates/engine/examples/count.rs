//! Counts a program and prints totals: the engine alone, for measuring it, with the costs of
//! calls or, after `--no-calls`, without; after `--native` the program runs uncounted, and its memory alone is said.
use timewise_engine::Options;

fn main() -> Result<(), timewise_engine::CountError> {
    let mut arguments = std::env::args_os().skip(1);
    let mut program = arguments.next().expect("a program");
    let (calls, native) = (program != "--no-calls", program == "--native");
    if native || !calls {
        program = arguments.next().expect("a program");
    }
    let mut launch = timewise_target::launch::Launch::new(program);
    launch.arguments = arguments.collect();
    if native {
        let running = launch.stopped()?.release().expect("the program may run");
        let ended = running.wait().expect("the program ends");
        eprintln!("natively resident {} KiB", ended.max_resident_bytes >> 10);
        return Ok(());
    }
    let started = std::time::Instant::now();
    let counted =
        timewise_engine::count(launch, &Options { calls, time_translation: true, ..Options::default() })?;
    let harvest = started.elapsed().saturating_sub(counted.ended.elapsed);
    let profile = &counted.profile;
    let blocks = profile.block_counts.iter();
    let instructions: u64 =
        blocks.map(|c| c.executions * u64::from(profile.blocks[c.block.index()].instructions)).sum();
    eprintln!(
        "processes {} blocks {} edges {} instructions {instructions} status {:#x} user {:?} system {:?} harvest {harvest:?}",
        profile.processes.len(),
        profile.block_counts.len(),
        profile.edge_counts.len(),
        counted.ended.wait_status,
        counted.ended.user,
        counted.ended.kernel
    );
    let unbalanced = profile.imbalances();
    eprintln!(
        "imbalance {} blocks that do not balance {} shared memory {} KiB resident {} KiB",
        counted.imbalance,
        unbalanced.len(),
        counted.shared_bytes >> 10,
        counted.ended.max_resident_bytes >> 10
    );
    let translation = counted.translation;
    let nanoseconds = translation.elapsed.as_nanos() as u64 / translation.blocks.max(1);
    eprintln!("translated {} blocks {nanoseconds} ns each", translation.blocks);
    for imbalance in unbalanced.iter().take(5) {
        eprintln!("{imbalance:?} {:x?}", profile.blocks[imbalance.block.index()]);
    }
    for warning in &profile.runs[0].warnings {
        eprintln!("warning: {warning}");
    }
    Ok(())
}
