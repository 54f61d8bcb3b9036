//! Counts a program and prints totals: the engine alone, for measuring it.
fn main() -> Result<(), timewise_engine::count::CountError> {
    let mut arguments = std::env::args_os().skip(1);
    let mut launch = timewise_target::launch::Launch::new(arguments.next().expect("a program"));
    launch.arguments = arguments.collect();
    let counted = timewise_engine::count::count(launch)?;
    for process in &counted.processes {
        let instructions: i64 = (process.solution.blocks.iter().zip(&process.blocks))
            .map(|(n, b)| n * i64::from(b.record.instructions))
            .sum();
        eprintln!(
            "pid {} blocks {} edges {} instructions {instructions} imbalance {}",
            process.pid,
            process.blocks.len(),
            process.edges.len(),
            process.solution.imbalance
        );
    }
    for program in &counted.uncounted {
        eprintln!("uncounted: {program:?}");
    }
    eprintln!("{:?} status {:#x} user {:?}", counted.failure, counted.ended.wait_status, counted.ended.user);
    Ok(())
}
