//! Programs under branch tracing: they do as they do natively, and what is traced are branches of theirs.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use timewise_branches::{End, Options, TraceError, Traced, record};
use timewise_profile::{Exit, ModuleKind, TakenBranch};
use timewise_target::launch::Launch;

/// Compiles a C program into `folder`.
fn build(name: &str, folder: &Path) -> PathBuf {
    compile(name, &folder.join(name), &["-pthread"])
}

fn compile(name: &str, output: &Path, flags: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(format!("{name}.c"));
    let mut compiler = Command::new("gcc");
    compiler.args(["-O1", "-g"]).args(flags).arg("-o").args([output, &source]);
    assert!(compiler.status().unwrap().success());
    output.to_path_buf()
}

/// Traces a program with its output into a file; none where events are refused.
fn trace(program: &Path, arguments: &[&str], output: &Path, options: &Options) -> Option<Traced> {
    let mut launch = Launch::new(program);
    launch.arguments = arguments.iter().map(Into::into).collect();
    launch.stdout = File::create(output).unwrap().into();
    match record(launch.stopped().unwrap(), options) {
        Ok(traced) => Some(traced),
        Err(TraceError::Events(why)) => {
            eprintln!("skipped, events are refused here: {why}");
            None
        }
        Err(other) => panic!("{other}"),
    }
}

/// Far more than any program would be traced in earnest.
const OFTEN: Options = Options { length: 32, period_ns: 200_000, timer_tick_ns: 0, confirm: 2 };

#[test]
fn a_program_with_threads_and_signals_does_as_natively() {
    let folder = tempfile::tempdir().unwrap();
    let program = build("busy", folder.path());
    let native = Command::new(&program).output().unwrap();
    assert_eq!(native.status.code(), Some(42));
    let output = folder.path().join("output");
    let Some(traced) = trace(&program, &[], &output, &OFTEN) else { return };
    assert_eq!(
        String::from_utf8_lossy(&std::fs::read(&output).unwrap()),
        String::from_utf8_lossy(&native.stdout)
    );
    assert_eq!(traced.profile.runs[0].exit, Exit::Code(42));
    // The first thread, and those that were picked up.
    assert!(traced.statistics.threads >= 5, "{:?}", traced.statistics);
    assert!(traced.statistics.branches > 500, "{:?}", traced.statistics);
    traced.profile.check().unwrap();
}

/// More threads than processors by far: all are traced, and none is lost.
#[test]
fn many_threads_at_once_are_traced() {
    let folder = tempfile::tempdir().unwrap();
    let program = build("many", folder.path());
    let output = folder.path().join("output");
    let options = Options { period_ns: 1_000_000, ..OFTEN };
    let Some(traced) = trace(&program, &[], &output, &options) else { return };
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "all\n");
    assert_eq!(traced.profile.runs[0].exit, Exit::Code(0));
    assert!(traced.statistics.threads >= 64 && traced.statistics.turned_away == 0, "{:?}", traced.statistics);
    assert!(traced.statistics.traces > 64, "{:?}", traced.statistics);
}

#[test]
fn a_trap_of_the_programs_own_ends_it_as_natively() {
    let folder = tempfile::tempdir().unwrap();
    let program = build("busy", folder.path());
    let Some(traced) = trace(&program, &["trap"], &folder.path().join("output"), &OFTEN) else { return };
    assert_eq!(traced.profile.runs[0].exit, Exit::Signal(libc::SIGTRAP));
    assert!(traced.statistics.branches > 0);
}

/// A filter would end the program for what the tracer calls, or that would come to the program: it is silent by then, in
/// all threads.
#[test]
fn a_program_that_restricts_its_system_calls_is_let_alone_from_there_on() {
    let folder = tempfile::tempdir().unwrap();
    let program = build("restricts", folder.path());
    let output = folder.path().join("output");
    for arguments in [&[][..], &["alone"], &["itself"]] {
        let Some(traced) = trace(&program, arguments, &output, &OFTEN) else { return };
        assert_eq!(traced.profile.runs[0].exit, Exit::Code(42), "{arguments:?}");
        assert_eq!(std::fs::read_to_string(&output).unwrap(), "passed\n");
        let warnings = &traced.profile.runs[0].warnings;
        assert!(warnings.iter().any(|warning| warning.contains("seccomp")), "{warnings:?}");
        // What it did before is there.
        assert!(traced.statistics.branches > 0);
    }
}

/// They have a copy of the tracer, but no events that it would answer, until they are attached to.
#[test]
fn workers_that_are_forked_are_traced_and_do_as_natively() {
    let folder = tempfile::tempdir().unwrap();
    let program = build("forks", folder.path());
    let output = folder.path().join("output");
    let Some(traced) = trace(&program, &[], &output, &OFTEN) else { return };
    assert_eq!(traced.profile.runs[0].exit, Exit::Code(42));
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "21\n");
    let profile = &traced.profile;
    profile.check().unwrap();
    if profile.runs[0].warnings.iter().any(|warning| warning.contains("cannot be attached to")) {
        return eprintln!("skipped, the system does not let us attach: {:?}", profile.runs[0].warnings);
    }
    let of_workers = profile.taken_branches.iter().filter(|branch| branch.process.0 > 0).count();
    assert!(profile.processes.len() > 1 && of_workers > 0, "{:?}", profile.runs[0].warnings);
}

/// A worker gives as many traces for its CPU time as a process that is traced from its start, whether or not samples go
/// on while a trace is taken: none is lost but those before it was attached to, which a busy machine may put off.
#[test]
fn workers_that_are_forked_give_as_many_traces_as_a_process_alone() {
    const WORKERS: u64 = 2;
    const ATTEMPTS: usize = 3;
    let folder = tempfile::tempdir().unwrap();
    let program = build("forks", folder.path());
    let output = folder.path().join("output");
    for options in [OFTEN, Options { length: 16, period_ns: 1_000_000, ..OFTEN }] {
        let Some(alone) = trace(&program, &["alone"], &output, &options) else { return };
        let mut given = Vec::new();
        while given.len() < ATTEMPTS && given.iter().all(|each| 2 * each < alone.statistics.traces) {
            let Some(forked) = trace(&program, &[], &output, &options) else { return };
            let warnings = &forked.profile.runs[0].warnings;
            if warnings.iter().any(|warning| warning.contains("cannot be attached to")) {
                return eprintln!("skipped, the system does not let us attach: {warnings:?}");
            }
            given.push(forked.statistics.traces / WORKERS);
        }
        let alone = alone.statistics.traces;
        assert!(given.iter().any(|each| 2 * each >= alone), "{given:?} of {alone} with {options:?}");
    }
}

/// Traces are confirmed by a breakpoint where that is possible: all registers must be as evaluated there.
#[test]
fn the_program_does_what_was_evaluated_and_is_hardly_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let program = build("busy", folder.path());
    let options = Options { length: 256, confirm: 1, ..OFTEN };
    let Some(traced) = trace(&program, &["trap"], &folder.path().join("output"), &options) else { return };
    let statistics = traced.statistics;
    assert_eq!(statistics.ended(End::Otherwise), 0, "{statistics:?}");
    assert!(statistics.traces > 0 && 10 * statistics.hits < statistics.conditional, "{statistics:?}");
    let taken = &traced.profile.taken_branches;
    let sums = taken.iter().fold((0, 0), |sum, row| (sum.0 + row.count, sum.1 + row.weight));
    let each = sums.1 as f64 / sums.0 as f64 / TakenBranch::WEIGHT_OF_ONE as f64;
    assert!((0.99..1.01).contains(&each), "{each}");
}

/// Where other threads could change what follows, a trace that ends in a tight loop ends there early, because each round is
/// a breakpoint that is reached: it costs little more than in a process with one thread, and weighs as much.
#[test]
fn traces_in_tight_loops_cost_little_and_weigh_as_much_with_several_threads() {
    let folder = tempfile::tempdir().unwrap();
    let program = build("tight", folder.path());
    let options = Options { length: 1000, period_ns: 1_000_000, ..OFTEN };
    let mut found = Vec::new();
    for arguments in [&["alone"][..], &[]] {
        let Some(traced) = trace(&program, arguments, &folder.path().join("output"), &options) else {
            return;
        };
        let statistics = traced.statistics;
        assert_eq!(statistics.ended(End::Otherwise), 0, "{statistics:?}");
        assert!(statistics.traces > 100, "{statistics:?}");
        // Of what was taken back nothing is counted: for algorithm 1 a loop's branch is one, and there are two or three in
        // the sort for each that is taken.
        assert!(statistics.conditional < 3 * statistics.branches, "{statistics:?}");
        let run = &traced.profile.runs[0];
        let (own, all) = weight_of(&traced, &program, "tight");
        found.push((own / all, (run.user_ns + run.kernel_ns) as f64 / 1e9, statistics));
    }
    let [(alone, alone_s, _), (beside, beside_s, statistics)] = &found[..] else { unreachable!() };
    assert!(statistics.ended(End::Patience) > 0, "{statistics:?}");
    assert!((0.2..0.95).contains(alone) && (alone - beside).abs() < 0.12, "{found:?}");
    assert!(beside_s / alone_s < 2.0, "{found:?}");
}

/// The weight of the branches of a function of a program, and of all.
fn weight_of(traced: &Traced, program: &Path, function: &str) -> (f64, f64) {
    let listing = Command::new("nm").arg("-S").arg(program).output().unwrap();
    let listing = String::from_utf8(listing.stdout).unwrap();
    let line = listing.lines().find_map(|line| line.strip_suffix(&format!(" T {function}"))).unwrap();
    let mut numbers = line.split(' ').map(|number| u64::from_str_radix(number, 16).unwrap());
    let (start, size) = (numbers.next().unwrap(), numbers.next().unwrap());
    let rows = traced.profile.taken_branches.iter();
    let weights = rows.map(|row| ((start..start + size).contains(&row.from.offset.0), row.weight as f64));
    weights.fold((0.0, 0.0), |(own, all), (is_own, weight)| {
        (own + if is_own { weight } else { 0.0 }, all + weight)
    })
}

/// Signals of two events that come together are one: that must not end samples for good.
#[test]
fn a_thread_is_traced_to_its_end_however_often() {
    let folder = tempfile::tempdir().unwrap();
    let program = build("long", folder.path());
    let options = Options { period_ns: 100_000, ..OFTEN };
    let Some(traced) = trace(&program, &[], &folder.path().join("output"), &options) else { return };
    let listing = Command::new("nm").arg(&program).output().unwrap();
    let listing = String::from_utf8(listing.stdout).unwrap();
    let late = listing.lines().find_map(|line| line.strip_suffix(" T late")).unwrap();
    let late = u64::from_str_radix(late, 16).unwrap();
    let is_late = |branch: &&TakenBranch| (late..late + 64).contains(&branch.from.offset.0);
    let seen: u64 = traced.profile.taken_branches.iter().filter(is_late).map(|branch| branch.count).sum();
    // The last second of CPU time gives several thousand traces, or two or three by chance if samples have ended.
    assert!(seen > 1_000, "{seen} {:?}", traced.statistics);
}

/// A second witness that shares no code: the listing of binutils.
#[test]
fn traced_branches_are_those_of_the_listing() {
    let folder = tempfile::tempdir().unwrap();
    let program = build("busy", folder.path());
    let Some(traced) = trace(&program, &["trap"], &folder.path().join("output"), &OFTEN) else { return };
    let listing = listing(&program);
    let profile = &traced.profile;
    let own = profile
        .modules
        .iter()
        .position(|module| module.kind == ModuleKind::File && module.path.ends_with(b"/busy"));
    let own = own.unwrap() as u32;
    let mut seen = HashMap::<&str, u64>::new();
    for branch in profile.taken_branches.iter().filter(|branch| branch.from.module.0 == own) {
        let (mnemonic, target) = &listing[&branch.from.offset.0];
        let to = branch.to.offset.0;
        match mnemonic.as_str() {
            "ret" => assert!(branch.to.module.0 != own || listing.contains_key(&to)),
            "jmp" | "call" | "notrack" | "bnd" if target.is_none() => {}
            word if word.starts_with('j') || word == "call" => {
                assert_eq!(
                    (branch.to.module.0, Some(to)),
                    (own, *target),
                    "{word} at {:#x}",
                    branch.from.offset.0
                );
            }
            other => panic!("a branch at {other}, {:#x}", branch.from.offset.0),
        }
        if let Some(next) = branch.next.filter(|next| next.module == branch.to.module) {
            assert!(next.offset >= branch.to.offset, "straight on, but backwards");
        }
        *seen.entry(mnemonic.as_str()).or_default() += branch.count;
    }
    assert!(seen["ret"] > 20 && seen.keys().any(|word| word.starts_with('j')), "{seen:?}");
}

/// Mnemonic and direct target of each instruction, by its address.
fn listing(program: &Path) -> HashMap<u64, (String, Option<u64>)> {
    let output = Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(program).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let row = |line: &str| {
        let (address, rest) = line.trim_start().split_once(":\t")?;
        let mut words = rest.split_whitespace();
        let mnemonic = words.next()?.to_string();
        let target = words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
        Some((u64::from_str_radix(address, 16).ok()?, (mnemonic, target)))
    };
    text.lines().filter_map(row).collect()
}

/// Of two objects that are mapped in turn at one place, each has branches of its own only, however short a time it lay
/// there.
#[test]
fn modules_that_lie_at_one_place_in_turn_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let program = build("plugins", folder.path());
    let objects = [("one.so", "-DEVEN"), ("two.so", "-DODD")]
        .map(|(name, flag)| compile("plugin", &folder.path().join(name), &["-shared", "-fPIC", flag]));
    let output = folder.path().join("output");
    let arguments = objects.each_ref().map(|object| object.to_str().unwrap());
    let Some(traced) = trace(&program, &arguments, &output, &OFTEN) else { return };
    if traced.profile.runs[0].warnings.iter().any(|warning| warning.contains("did not tell")) {
        return eprintln!("skipped, the system does not tell of each mapping here");
    }
    // They do lie at one place.
    assert!(std::fs::read_to_string(&output).unwrap().starts_with("1 "));
    let profile = &traced.profile;
    for object in &objects {
        let listing = listing(object);
        let is_it = |module: &timewise_profile::Module| Path::new(OsStr::from_bytes(&module.path)) == object;
        let number = profile.modules.iter().position(is_it).unwrap();
        let own: Vec<&TakenBranch> = profile
            .taken_branches
            .iter()
            .filter(|row| [row.from, row.to].iter().any(|place| place.module.index() == number))
            .collect();
        assert!(own.iter().map(|row| row.count).sum::<u64>() > 1000, "{:?}", traced.statistics);
        for row in own {
            if row.from.module.index() == number {
                let (mnemonic, target) = &listing[&row.from.offset.0];
                let is_branch =
                    mnemonic.starts_with('j') || ["ret", "call", "bnd", "notrack"].contains(&&mnemonic[..]);
                assert!(is_branch, "{mnemonic} at {:#x}", row.from.offset.0);
                let is_inside = row.to.module.index() == number;
                assert!(target.is_none_or(|target| is_inside && target == row.to.offset.0));
            }
            if row.to.module.index() == number {
                assert!(listing.contains_key(&row.to.offset.0), "{:#x}", row.to.offset.0);
            }
        }
    }
}

#[test]
fn a_handler_of_the_programs_own_gets_its_own_signals_only() {
    let folder = tempfile::tempdir().unwrap();
    let program = build("own_trap", folder.path());
    let output = folder.path().join("output");
    let Some(traced) = trace(&program, &[], &output, &OFTEN) else { return };
    let expected = "before: 1\nset: 1\nunexpected: 0\nraised: 1\nagain: 2\n";
    assert_eq!(std::fs::read_to_string(&output).unwrap(), expected);
    assert_eq!(traced.profile.runs[0].exit, Exit::Code(0));
    assert!(traced.statistics.branches > 100, "{:?}", traced.statistics);
}

/// Before the program begins nothing keeps a library from taking the signal away, and the program does not end by it.
#[test]
fn a_library_that_resets_all_signals_is_let_do_it() {
    let folder = tempfile::tempdir().unwrap();
    let program = build("own_trap", folder.path());
    let library = compile("reset", &folder.path().join("reset.so"), &["-shared", "-fPIC"]);
    let mut launch = Launch::new(&program);
    launch.environment = vec![("LD_PRELOAD".into(), library.into())];
    launch.stdout = File::create(folder.path().join("output")).unwrap().into();
    let traced = match record(launch.stopped().unwrap(), &OFTEN) {
        Err(TraceError::Events(why)) => return eprintln!("skipped, events are refused here: {why}"),
        other => other.unwrap(),
    };
    let expected = "before: 1\nset: 1\nunexpected: 0\nraised: 1\nagain: 2\n";
    assert_eq!(std::fs::read_to_string(folder.path().join("output")).unwrap(), expected);
    assert_eq!(traced.profile.runs[0].exit, Exit::Code(0));
    assert!(traced.statistics.branches > 100, "{:?}", traced.statistics);
}

#[test]
fn a_program_that_cannot_be_loaded_ends_as_natively() {
    let folder = tempfile::tempdir().unwrap();
    let program = build("own_trap", folder.path());
    let mut launch = Launch::new(&program);
    launch.environment = vec![("LD_PRELOAD".into(), "".into()), ("LD_BIND_NOW".into(), "1".into())];
    launch.environment.push(("LD_DEBUG".into(), "help".into()));
    launch.stdout = File::create(folder.path().join("output")).unwrap().into();
    // The loader prints its help and ends the process: the program never begins.
    match record(launch.stopped().unwrap(), &OFTEN) {
        Ok(traced) => {
            assert_eq!(traced.profile.runs[0].exit, Exit::Code(0));
        }
        Err(why) => panic!("{why}"),
    }
}
