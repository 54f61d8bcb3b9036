//! Trees of real programs.

use std::path::Path;
use std::process::Command;
use timewise_engine::{Counted, Options};
use timewise_profile::Profile;
use timewise_target::launch::Launch;

fn shell(script: &str, options: &Options) -> Counted {
    count("/bin/sh".as_ref(), &["-c", script], options)
}

fn count(program: &Path, arguments: &[&str], options: &Options) -> Counted {
    let mut launch = Launch::new(program);
    launch.arguments = arguments.iter().map(|&argument| argument.into()).collect();
    launch.stdout = std::process::Stdio::null();
    let counted = timewise_engine::count(launch, options).unwrap();
    assert_eq!(counted.failure, None);
    assert_eq!(counted.imbalance, 0, "{:?}", counted.profile.runs[0].warnings);
    assert_eq!(counted.profile.imbalances(), []);
    counted.profile.check().unwrap();
    counted
}

fn instructions(profile: &Profile) -> u64 {
    let blocks = profile.block_counts.iter();
    blocks.map(|count| count.executions * u64::from(profile.blocks[count.block.index()].instructions)).sum()
}

#[test]
fn a_process_keeps_its_row_through_exec() {
    let counted = shell("exec /bin/true", &Options::default());
    let profile = &counted.profile;
    assert_eq!(profile.processes.len(), 1);
    let executable = String::from_utf8(profile.processes[0].executable.clone()).unwrap();
    assert!(executable.ends_with("/true"), "{executable}");
    let named = |name: &[u8]| profile.modules.iter().filter(|module| module.path.ends_with(name)).count();
    assert_eq!(named(b"/libc.so.6"), 1, "both programs use the same library");
    let threads: u64 = profile.threads.iter().filter_map(|thread| thread.instructions).sum();
    assert_eq!(threads, instructions(profile));
}

/// The stop of a process that is followed through its `execve` is not its end.
#[test]
fn what_is_executed_after_an_exec_is_followed() {
    for round in 0..30 {
        let counted = shell("exec /bin/sh -c '/bin/true; /bin/true; :'", &Options::default());
        let executables =
            counted.profile.processes.iter().map(|process| process.executable.ends_with(b"/true"));
        assert_eq!(executables.collect::<Vec<_>>(), [false, true, true], "round {round}");
    }
}

/// Where it is blocked, a child's end interrupts calls of other threads, though it is ignored (`suite/torture/fork_unblocked.c`).
#[test]
fn what_a_program_ignores_is_not_blocked_while_it_forks() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("fork_unblocked");
    let source = format!("{}/../../suite/torture/fork_unblocked.c", env!("CARGO_MANIFEST_DIR"));
    assert!(Command::new("cc").arg(source).arg("-o").arg(&program).status().unwrap().success());
    let counted = shell(&format!("exec '{}'", program.display()), &Options::default());
    assert_eq!(counted.ended.wait_status, 0);
}

/// Their counts are read while they run on, so what is read is to be of one moment.
#[test]
fn counts_of_processes_that_outlive_the_program_balance() {
    let mut launch = Launch::new("/bin/sh");
    let long = "i=0; while [ $i -lt 99999999 ]; do i=$((i+1)); case $i in *7) j=$i;; *3) :;; esac; done";
    launch.arguments =
        vec!["-c".into(), format!("for n in 1 2 3 4 5 6; do ({long}) & done; /bin/sleep 1").into()];
    launch.stdout = std::process::Stdio::null();
    let counted = timewise_engine::count(launch, &Options::default()).unwrap();
    let children = counted.profile.processes[1..].iter();
    let still_run: Vec<_> = children.filter(|process| !process.executable.ends_with(b"/sleep")).collect();
    for process in &still_run {
        // SAFETY: takes no memory, and ends what the program left running.
        unsafe { libc::kill(process.pid as i32, libc::SIGKILL) };
    }
    assert_eq!(still_run.len(), 6);
    let warnings = &counted.profile.runs[0].warnings;
    assert!(
        warnings.iter().any(|warning| warning.starts_with("6 of the program's processes still ran")),
        "{warnings:?}"
    );
    assert_eq!(counted.imbalance, 0, "{:?}", counted.profile.runs[0].warnings);
    assert_eq!(counted.profile.imbalances(), []);
}

#[test]
fn many_processes_share_rows_without_a_loss() {
    let script = "i=0; while [ $i -lt 6 ]; do (:); i=$((i+1)); done";
    let [all, few] =
        [256, 2].map(|process_limit| shell(script, &Options { process_limit, ..Options::default() }).profile);
    assert_eq!(all.processes.len(), 7);
    assert_eq!(few.processes.len(), 3);
    assert_eq!(few.processes.iter().filter(|process| process.pid == 0).count(), 1);
    // Which addresses the kernel chose changes what the loader does, by little.
    let (all, few) = (instructions(&all) as f64, instructions(&few) as f64);
    assert!((all / few - 1.0).abs() < 0.01, "{all} {few}");
}

/// No two blocks of one module and version overlap in compiled code.
#[test]
fn blocks_do_not_overlap() {
    let counted = shell("ls /usr/lib | sort -r | head -3", &Options::default());
    let blocks = &counted.profile.blocks;
    assert!(blocks.len() > 3000);
    for pair in blocks.windows(2) {
        let (place, next) = (pair[0].place, pair[1].place);
        assert!(place < next);
        if (place.module, place.version) == (next.module, next.version) {
            assert!(place.offset.0 + pair[0].code.len() as u64 <= next.offset.0, "{pair:x?}");
        }
    }
}

/// What children translate is there for those that are forked after them, and counts the same.
#[test]
fn what_siblings_execute_is_translated_once() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("siblings");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/siblings.c");
    assert!(Command::new("cc").args(["-O2", source, "-o"]).arg(&program).status().unwrap().success());
    for calls in [false, true] {
        let options = Options { calls, ..Options::default() };
        let [few, many] = ["3", "30"].map(|children| count(&program, &[children], &options));
        let executed = |counted: &Counted| {
            let threads = counted.profile.threads[1..].iter();
            threads.map(|thread| thread.instructions).collect::<Vec<_>>()
        };
        assert_eq!(executed(&many).len(), 30);
        assert!(executed(&many)[0] > Some(10_000));
        assert_eq!(executed(&many), vec![executed(&many)[0]; 30]);
        let costs = |child: usize| {
            let process = many.profile.threads[child].process;
            let of_child = many.profile.call_costs.iter().filter(move |cost| cost.process == process);
            of_child.map(|cost| (cost.site, cost.callee, cost.instructions)).collect::<Vec<_>>()
        };
        assert_eq!(costs(1).is_empty(), !calls);
        assert!((2..=30).all(|child| costs(child) == costs(1)), "calls cost as much in each child");
        let [few, many] = [few, many].map(|counted| counted.translation.blocks);
        assert!(many < few + 100, "{few} blocks for 3 children, {many} for 30");
    }
}
