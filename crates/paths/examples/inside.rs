//! Counts a program's paths with counters in it, and writes executions of every instruction like `executions` of the
//! engine: `inside FILE PROGRAM ARGUMENTS…`; with `--all` before FILE by the plans of PP, else by those of TPP.
//!
//! For `cargo xtask check transparency`: the program runs twice. What the first run prints, whose edges are counted, is
//! not shown; it ends as the second one ended.

mod functions;
#[path = "../../engine/examples/listing/mod.rs"]
mod listing;
mod repeated;

use repeated::Repeated;
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use timewise_engine::Options;
use timewise_flow::Analysis;
use timewise_paths::{Instruments, Limits, Method, Program};
use timewise_profile::Exit;
use timewise_target::launch::Launch;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    let is_all = arguments.next_if(|word| word == "--all").is_some();
    let (Some(file), Some(program)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: inside [--all] FILE PROGRAM ARGUMENTS…");
        return ExitCode::from(125);
    };
    let method = if is_all { Method::All } else { Method::USUAL };
    repeated::end("inside", run(&file, Repeated { program, arguments: arguments.collect() }, method))
}

fn run(file: &OsString, repeated: Repeated, method: Method) -> Result<Exit, Box<dyn std::error::Error>> {
    let options = Options { calls: false, ..Options::default() };
    let mut profile = timewise_engine::count(repeated.again()?, &options)?.profile;
    functions::name(&mut profile);
    let analysis = Analysis::new(&profile, None);
    let instruments = Instruments::new(&Program::new(&analysis), &profile, method, Limits::default());
    let paths = Some(Arc::new(instruments.instrumentation));
    repeated::rewind()?;
    // Plans hold wherever files are mapped.
    let launch = Launch { randomise_addresses: true, ..repeated.launch() };
    let counted = timewise_engine::count(launch, &Options { paths, ..options })?;
    listing::save(&counted, file)?;
    Ok(counted.profile.runs[0].exit)
}
