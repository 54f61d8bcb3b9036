//! Counts a program and writes executions of every instruction: `executions FILE PROGRAM ARGUMENTS…`; with
//! `--no-calls` before FILE without the costs of calls.
//!
//! For the checks of `cargo xtask check`: it prints nothing of its own and ends as the program ended. The
//! first line of FILE says by how much flow into and out of blocks differs; warnings follow, a line each that
//! begins with `warning: `; each other line holds process id,
//! link-time address, code bytes, executions and the path of the module, separated by tabs; address and code
//! are hexadecimal. Code that was written at run time has its version, if that is not 0, after its module's
//! name. The profile goes to FILE.tw.
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use timewise_profile::{Exit, Profile};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let mut file = arguments.next();
    let calls = file.as_ref().is_none_or(|word| word != "--no-calls");
    if !calls {
        file = arguments.next();
    }
    let (Some(file), Some(program)) = (file, arguments.next()) else {
        eprintln!("usage: executions [--no-calls] FILE PROGRAM ARGUMENTS…");
        return ExitCode::from(125);
    };
    let options = timewise_engine::Options { calls, ..Default::default() };
    match run(&file, program, arguments.collect(), &options) {
        Ok(exit) => timewise_target::end::like(exit).unwrap_or(ExitCode::from(125)),
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
    options: &timewise_engine::Options,
) -> Result<Exit, Box<dyn std::error::Error>> {
    let mut launch = timewise_target::launch::Launch::new(program);
    launch.arguments = arguments;
    let counted = timewise_engine::count(launch, options)?;
    let mut saved = file.clone();
    saved.push(".tw");
    counted.profile.save(saved.as_ref())?;
    let mut out = std::io::BufWriter::new(std::fs::File::create(file)?);
    writeln!(out, "imbalance {}", counted.imbalance)?;
    for warning in counted.profile.runs.iter().flat_map(|run| &run.warnings) {
        writeln!(out, "warning: {warning}")?;
    }
    write(&counted.profile, &mut out)?;
    out.flush()?;
    if let Some(failure) = counted.failure {
        return Err(format!("counts are incomplete: {failure:?}").into());
    }
    Ok(counted.profile.runs[0].exit)
}

fn write(profile: &Profile, out: &mut impl Write) -> std::io::Result<()> {
    for count in &profile.block_counts {
        let block = &profile.blocks[count.block.index()];
        let pid = profile.processes[count.process.index()].pid;
        let path = String::from_utf8_lossy(&profile.modules[block.place.module.index()].path);
        let version = match block.place.version.0 {
            0 => String::new(),
            version => format!(" {version}"),
        };
        for step in timewise_isa::walk(&block.code, block.place.offset.0) {
            let start = (step.offset - block.place.offset.0) as usize;
            let code = &block.code[start..start + usize::from(step.length)];
            let code: String = code.iter().map(|byte| format!("{byte:02x}")).collect();
            let (offset, executions) = (step.offset, count.executions);
            writeln!(out, "{pid}\t{offset:x}\t{code}\t{executions}\t{path}{version}")?;
        }
    }
    Ok(())
}
