//! Counts a program and writes executions of every instruction: `executions FILE PROGRAM ARGUMENTS…`.
//!
//! For the checks of `cargo xtask check`: it prints nothing of its own and ends as the program ended. Each
//! line of FILE holds process id, address, offset in the mapped file, code bytes, executions and the mapped
//! file's path, separated by tabs; all but the first and the last two are hexadecimal.
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use timewise_engine::count::count;
use timewise_engine::harvest::ProcessCounts;

/// Address, offset in the file, code, path.
type Instruction = (u64, u64, Vec<u8>, Vec<u8>);

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(file), Some(program)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: executions FILE PROGRAM ARGUMENTS…");
        return ExitCode::from(125);
    };
    match run(&file, program, arguments.collect()) {
        Ok(wait_status) => end_likewise(wait_status),
        Err(error) => {
            eprintln!("executions: {error}");
            ExitCode::from(125)
        }
    }
}

fn run(
    file: &OsString,
    program: OsString,
    arguments: Vec<OsString>,
) -> Result<i32, Box<dyn std::error::Error>> {
    let mut launch = timewise_target::launch::Launch::new(program);
    launch.arguments = arguments;
    let counted = count(launch)?;
    let mut out = std::io::BufWriter::new(std::fs::File::create(file)?);
    for process in &counted.processes {
        for ((address, offset, code, path), executions) in executions(process) {
            let code: String = code.iter().map(|byte| format!("{byte:02x}")).collect();
            let path = String::from_utf8_lossy(&path).into_owned();
            writeln!(out, "{}\t{address:x}\t{offset:x}\t{code}\t{executions}\t{path}", process.pid)?;
        }
    }
    out.flush()?;
    if let Some(failure) = counted.failure {
        return Err(format!("counts are incomplete: {failure:?}").into());
    }
    Ok(counted.ended.wait_status)
}

/// Executions of each instruction: entries of its blocks, less the times control left before it.
fn executions(process: &ProcessCounts) -> BTreeMap<Instruction, i64> {
    let mut left = vec![Vec::new(); process.blocks.len()];
    for (edge, &value) in process.edges.iter().zip(&process.solution.edges) {
        if let Some(leaving) = left.get_mut(edge.from as usize) {
            leaving.push((u64::from(edge.executed), value));
        }
    }
    let mut all = BTreeMap::new();
    for ((block, &entered), left) in process.blocks.iter().zip(&process.solution.blocks).zip(&left) {
        let mapping = process.mappings[..block.record.mappings as usize]
            .iter()
            .rev()
            .find(|m| (m.record.start..m.record.end).contains(&block.record.address))
            .filter(|m| m.record.mapped == 1);
        for (number, step) in (0..).zip(timewise_isa::walk(&block.code, block.record.address)) {
            let start = (step.offset - block.record.address) as usize;
            let code = block.code[start..start + usize::from(step.length)].to_vec();
            let (offset, path) = mapping.map_or((0, Vec::new()), |m| {
                (step.offset - m.record.start + m.record.file_offset, m.path.clone())
            });
            let before: i64 = left.iter().filter(|(executed, _)| *executed <= number).map(|(_, n)| n).sum();
            *all.entry((step.offset, offset, code, path)).or_default() += entered - before;
        }
    }
    all
}

/// Ends with the exit status, or by the signal, that a `waitpid` status tells of.
fn end_likewise(wait_status: i32) -> ExitCode {
    if !libc::WIFSIGNALED(wait_status) {
        return ExitCode::from(libc::WEXITSTATUS(wait_status) as u8);
    }
    let signal = libc::WTERMSIG(wait_status);
    let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit is a valid value; the rest takes no memory.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &no_core);
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
    ExitCode::from(128 + signal as u8)
}
