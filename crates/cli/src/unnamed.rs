//! Code that a program wrote at run time without saying what it is, and how it would.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use timewise_flow::routine::FunctionMap;
use timewise_profile::{ModuleKind, Place, Profile};

/// Programs that announce what they write only if they are asked to, and how, by the beginning of their names.
const ASKED: [(&str, &str); 3] = [
    ("node", "node --perf-basic-prof"),
    ("java", "java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit"),
    ("php", "php -d opcache.jit_debug=16"),
];

/// How one that runs already is asked, where that is another way.
const ASKED_LATER: (&str, &str) = ("java", "jcmd PID Compiler.perfmap before it is attached to");

/// With less of the samples it is not worth a word.
const NOTABLE: f64 = 0.02;

/// How a program of a named profile is to be asked for the names of what it wrote, if that matters and it can.
pub fn how_to_name(profile: &Profile) -> Option<String> {
    let functions = FunctionMap::new(profile);
    // Of what another profiler recorded it is not known.
    let runs_already = profile.runs.iter().any(|run| run.is_of_a_period() && !run.is_imported());
    let mut unnamed: BTreeMap<&str, usize> = BTreeMap::new();
    for sample in &profile.samples {
        let process = &profile.processes[profile.threads[sample.thread.index()].process.index()];
        let is_written = |place: &Place| profile.modules[place.module.index()].kind == ModuleKind::Jit;
        if sample.place.filter(is_written).is_some_and(|place| functions.at(place).is_none())
            && let Some(how) = how_to_ask(&process.executable, runs_already)
        {
            *unnamed.entry(how).or_default() += 1;
        }
    }
    let (how, samples) = unnamed.into_iter().max_by_key(|&(_, samples)| samples)?;
    let share = samples as f64 / profile.samples.len() as f64;
    (share >= NOTABLE).then(|| {
        format!(
            "{:.1} % of the samples lie in functions without names that the program wrote at run time; it names them \
             with {how}",
            100.0 * share
        )
    })
}

fn how_to_ask(executable: &[u8], runs_already: bool) -> Option<&'static str> {
    let name = Path::new(OsStr::from_bytes(executable)).file_name()?.to_str()?;
    let later = Some(&ASKED_LATER).filter(|_| runs_already);
    later.into_iter().chain(&ASKED).find(|(beginning, _)| name.starts_with(beginning)).map(|(_, how)| *how)
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_profile::{
        CodeVersion, Exit, Function, Module, ModuleId, Offset, Process, ProcessId, RunId, Sample, Thread,
        ThreadId,
    };

    #[test]
    fn what_can_be_named_is_told_of_while_it_is_not() {
        let place =
            |offset| Place { module: ModuleId(0), version: CodeVersion::default(), offset: Offset(offset) };
        let sample = |offset| Sample {
            thread: ThreadId(0),
            time_ns: 0,
            weight_ns: 1,
            weight_cycles: None,
            place: Some(place(offset)),
            kernel: false,
            stack: None,
        };
        let process = |executable: &str| Process {
            run: RunId(0),
            pid: 7,
            parent: None,
            executable: executable.into(),
            exit: Exit::Code(0),
            count_uncertainty: 0,
        };
        let mut profile = Profile {
            modules: vec![Module {
                kind: ModuleKind::Jit,
                path: b"[jit 0x1000]".to_vec(),
                build_id: Vec::new(),
            }],
            processes: vec![process("/usr/bin/nodejs")],
            threads: vec![Thread { process: ProcessId(0), tid: 7, name: String::new(), instructions: None }],
            samples: vec![sample(16), sample(48), sample(4096), sample(4097)],
            ..Profile::default()
        };
        let told = |profile: &Profile| how_to_name(profile).unwrap_or_default();
        assert!(
            told(&profile).starts_with("100.0 % of") && told(&profile).ends_with("node --perf-basic-prof")
        );
        let (name, symbol) = ("f".to_string(), "f".to_string());
        profile.functions = vec![Function { place: place(16), size: 33, name, symbol, file: None, line: 0 }];
        assert!(told(&profile).starts_with("50.0 % of"), "{}", told(&profile));
        profile.functions[0].size = 4096;
        assert_eq!(told(&profile), "");
        profile.functions.clear();
        profile.processes = vec![process("/usr/bin/own-compiler")];
        assert_eq!(told(&profile), "");
    }
}
