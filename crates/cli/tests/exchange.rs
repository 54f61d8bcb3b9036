//! `timewise export` and `timewise import` as a user meets them: statuses, files, messages.

use crate::command::{Outcome, Place};
use timewise_profile::{
    BlockId, CodeVersion, EdgeKind, ModuleId, Offset, Place as At, ProcessId, RunKind, TakenBranch,
};

/// A program of which most of the time is in one function.
const BUSY: &str = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";

fn assert_refused(outcome: &Outcome, says: &str) {
    assert_eq!((outcome.status, &outcome.stdout[..]), (Some(2), ""), "{}", outcome.stderr);
    assert!(outcome.stderr.starts_with("timewise: ") && outcome.stderr.contains(says), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
}

#[test]
fn a_counted_program_is_exported_where_counts_are_enough() {
    let place = Place::new();
    assert_eq!(place.shell("timewise count -- true").status, Some(0));
    for format in ["folded", "firefox", "speedscope"] {
        assert_refused(&place.shell(&format!("timewise export --to {format}")), "no samples");
    }
    let callgrind = place.shell("timewise export --to callgrind");
    assert!(callgrind.stdout.starts_with("# callgrind format\n"), "{}", callgrind.stderr);
    let events = callgrind.stdout.lines().find(|line| line.starts_with("events: "));
    assert_eq!(events, Some("events: Instructions"));
    let total = callgrind.stdout.lines().find_map(|line| line.strip_prefix("totals: "));
    let executed: u64 = place.profile().threads.iter().filter_map(|thread| thread.instructions).sum();
    assert_eq!(total, Some(&executed.to_string()[..]));
    let table = place.shell("timewise export --to csv -o table.csv; cat table.csv");
    assert!(table.stdout.starts_with("module,build_id,code_version,offset,function,"), "{}", table.stderr);
    assert_eq!(place.shell("timewise export --to pprof | wc -c").status, Some(0));
}

#[test]
fn what_cannot_be_exported_is_said_in_a_line() {
    let place = Place::new();
    assert_refused(&place.shell("timewise export --to csv"), "profile.tw");
    place.write("text", "no profile");
    assert_refused(&place.shell("timewise export text --to csv"), "text");
    assert_eq!(place.shell("timewise export --to elf").status, Some(2));
    assert_eq!(place.shell("timewise count -- true").status, Some(0));
    assert_refused(&place.shell("timewise export --to csv -o missing/table.csv"), "missing/table.csv");
    let before = place.shell("ln profile.tw hard; ln -s profile.tw soft; cksum < profile.tw").stdout;
    for same in ["profile.tw", "./profile.tw", "hard", "soft"] {
        assert_refused(&place.shell(&format!("timewise export --to csv -o {same}")), "the profile itself");
    }
    assert_eq!(place.shell("cksum < profile.tw").stdout, before);
}

/// What stands where an export goes keeps its permissions, its owner and its links, and what is no file is written to.
#[test]
fn an_export_takes_the_place_of_what_was_there() {
    let place = Place::new();
    assert_eq!(place.shell("timewise count -- true").status, Some(0));
    let table = place.shell("timewise export --to csv").stdout;
    place.shell(
        "umask 022; echo former > file; chmod 640 file; ln -s file link; ln -s none/new dangling; mkdir none",
    );
    let written = place.shell("timewise export --to csv -o link; timewise export --to csv -o dangling");
    assert_eq!((written.status, &written.stderr[..]), (Some(0), ""));
    assert_eq!((place.read("file"), place.read("none/new")), (table.clone(), table.clone()));
    let about = place.shell("stat -c %a file; readlink link; ls none; ls -A | wc -l").stdout;
    assert_eq!(about, "640\nfile\nnew\n5\n");
    for through in [
        "-o /dev/stdout > out",
        "-o /dev/fd/1 | cat > out",
        "-o /dev/stdout | cat > out",
        "-o >(cat > out; touch done); until [ -e done ]; do sleep 0.01; done",
        "-o pipe & cat pipe > out",
    ] {
        let through = place.shell(&format!(
            "rm -f out done; mkfifo -m 600 pipe; timewise export --to csv {through}; rm pipe"
        ));
        assert_eq!((&through.stderr[..], place.read("out") == table), ("", true));
    }
    // The file that a shell holds open is the one that gets it.
    let held = place.shell("exec 3<> held; timewise export --to csv -o /dev/fd/3; cat <&3");
    assert_eq!(held.stdout, table);
}

/// As for a user who may write to a file but not beside it.
#[test]
fn a_file_in_a_folder_of_another_is_written_to() {
    let place = Place::new();
    assert_eq!(place.shell("timewise count -- true && chmod 755 . && chmod 644 profile.tw").status, Some(0));
    let table = place.shell("timewise export --to csv").stdout;
    let anyone = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    let timewise = env!("CARGO_BIN_EXE_timewise");
    if place.shell(&format!("cp '{timewise}' tw && {anyone} ./tw --version")).status != Some(0) {
        eprintln!("not checked: no right to become another user");
        return;
    }
    let export = |file: &str| place.shell(&format!("{anyone} ./tw export --to csv -o {file}"));
    place.shell(
        "echo former > open; chmod 666 open; mkdir shared; chmod 777 shared; cp -p open shared; \
         echo former > shared/closed; chmod 644 shared/closed",
    );
    for file in ["open", "shared/open"] {
        let outcome = export(file);
        assert_eq!((outcome.status, place.read(file) == table), (Some(0), true), "{}", outcome.stderr);
        assert_eq!(place.shell(&format!("stat -c %a:%u {file}")).stdout, "666:0\n");
    }
    assert_refused(&export("shared/closed"), "shared/closed");
    assert_eq!(place.read("shared/closed"), "former\n");
    assert_refused(&export("new"), "new");
}

/// As where all of the program's time passes in libraries: no optimiser makes anything of an empty file.
#[test]
fn a_program_without_branches_of_its_own_is_not_exported_to_optimisers() {
    let place = Place::new();
    assert_eq!(place.shell("timewise count -- true").status, Some(0));
    let mut profile = place.profile();
    let own = timewise_export::traced::first_executable(&profile).unwrap();
    let is_own = |block: timewise_profile::BlockId| profile.blocks[block.index()].place.module == own;
    profile.edge_counts.retain(|edge| ![edge.from, edge.to].into_iter().flatten().any(is_own));
    profile.block_counts.retain(|count| !is_own(count.block));
    let empty = profile.clone();
    profile.processes[0].executable = b"/gone".to_vec();
    for profile in [profile, empty] {
        profile.save(&place.path().join("empty.tw")).unwrap();
        for format in ["bolt-preaggregated", "llvm-profgen", "autofdo"] {
            let export = format!("timewise export empty.tw --to {format}");
            let refused = place.shell(&export);
            assert_refused(&refused, "no branches were taken within the program itself");
            assert!(refused.stderr.contains("/libc.so.6"), "{}", refused.stderr);
            assert_refused(&place.shell(&format!("{export} --binary /bin/true")), "'/bin/true'");
            let library =
                place.shell(&format!("{export} --binary $(ldd /bin/true | grep -o '/.*/libc[^ ]*')"));
            assert!(library.status == Some(0) && library.stdout.len() > 100, "{}", library.stderr);
        }
    }
}

/// As where it only calls libraries and is returned to. BOLT would make an empty profile of that and refuse it later;
/// the others make one of straight code.
#[test]
fn a_program_that_branches_only_to_others_is_told_of() {
    let place = Place::new();
    assert_eq!(place.shell("timewise count -- true").status, Some(0));
    let mut counted = place.profile();
    let own = timewise_export::traced::first_executable(&counted).unwrap();
    let other = counted.modules.iter().position(|module| module.path.ends_with(b"/libc.so.6")).unwrap();
    let blocks = counted.blocks.clone();
    let is_own =
        |block: Option<BlockId>| block.is_some_and(|block| blocks[block.index()].place.module == own);
    counted
        .edge_counts
        .retain(|edge| edge.kind == EdgeKind::Fallthrough || !(is_own(edge.from) && is_own(edge.to)));
    let at = |module, offset| At { module, version: CodeVersion(0), offset: Offset(offset) };
    let (library, mut traced) = (ModuleId(other as u32), counted.clone());
    let branch = |from, to, next| TakenBranch {
        process: ProcessId(0),
        from,
        to,
        next: Some(next),
        count: 7,
        weight: 7,
    };
    traced.taken_branches = vec![
        branch(at(library, 0x20), at(own, 0x1000), at(own, 0x1008)),
        branch(at(own, 0x1008), at(library, 0x10), at(library, 0x20)),
        branch(at(library, 0x20), at(library, 0x10), at(library, 0x20)),
    ];
    let told = "no branches were taken within the program itself, '/usr/bin/true'";
    for (profile, remedy) in [(counted, "choose another by --binary FILE"), (traced, "trace more")] {
        profile.save(&place.path().join("straight.tw")).unwrap();
        let refused = place.shell("timewise export straight.tw --to bolt-preaggregated");
        assert_refused(&refused, told);
        assert!(
            refused.stderr.contains(remedy) && refused.stderr.contains("/libc.so.6"),
            "{}",
            refused.stderr
        );
        // Its own branches do not help whoever was told that it has none.
        assert!(!refused.stderr.contains("with the most are /usr/bin/true"), "{}", refused.stderr);
        for (format, ends) in [("llvm-profgen", "\n0\n"), ("autofdo", "\n0\n0\n")] {
            let told_of = place.shell(&format!("timewise export straight.tw --to {format}"));
            let Outcome { status, stdout, stderr, .. } = &told_of;
            assert_eq!((*status, stderr.lines().count()), (Some(0), 1), "{stderr}");
            assert!(stderr.starts_with(&format!("warning: {told}")) && stderr.contains(remedy), "{stderr}");
            let stretches: usize = stdout.lines().next().unwrap().parse().unwrap();
            assert!(stretches > 0 && stdout.ends_with(ends), "{stdout}");
        }
    }
}

#[test]
fn what_cannot_be_imported_is_said_in_a_line() {
    let place = Place::new();
    place.write("profile.tw", "former");
    assert_refused(&place.shell("timewise import"), "perf.data");
    place.write("text", "no recording");
    assert_refused(&place.shell("timewise import text"), "not a file of perf record");
    assert_refused(&place.shell("timewise import - < text"), "not a file of perf record");
    assert_refused(&place.shell("timewise import ."), "'.': a directory; record without --threads");
    assert_refused(&place.shell("timewise import text --counts text"), "text");
    assert_eq!(place.read("profile.tw"), "former");
}

/// A recording of `perf` and counts of our own are what `timewise run` makes in one go.
#[test]
fn a_recording_of_perf_joins_with_counts() {
    let place = Place::new();
    place.write("busy", BUSY);
    let recorded = place.shell("perf record -q -B -e cpu-clock:u -F 2000 -g -o perf.data sh busy");
    if recorded.status != Some(0) {
        eprintln!("skipped: perf does not work here: {}", recorded.stderr);
        return;
    }
    assert_eq!(place.shell("timewise count -o counts.tw -- sh busy").status, Some(0));
    let imported = place.shell("timewise import --counts counts.tw");
    assert_eq!(imported.status, Some(0), "{}", imported.stderr);
    let profile = place.profile();
    assert_eq!(
        profile.runs.iter().map(|run| run.kind).collect::<Vec<_>>(),
        [RunKind::Sampling, RunKind::Counting]
    );
    let report = place.shell("timewise report --format json");
    let report: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
    let joined = report["measurement"]["joined_share"].as_f64().unwrap();
    assert!(joined > 0.95, "{joined} of the samples lie on counted code");
    assert_refused(
        &place.shell(
            "timewise sample -o samples.tw -- sh busy 2> /dev/null; timewise import --counts samples.tw",
        ),
        "holds no counts",
    );
    assert_refused(
        &place.shell("timewise run -o both.tw -- sh busy 2> /dev/null; timewise import --counts both.tw"),
        "holds samples of its own",
    );
    assert_refused(
        &place.shell(
            "timewise count -o other.tw -- cat busy > /dev/null 2>&1; timewise import --counts other.tw",
        ),
        "holds counts of /usr/bin/cat, and the recording is of /usr/bin/dash",
    );
    let streamed = place.shell(
        "perf record -q -B -e cpu-clock:u -g -o - sh busy | timewise import - -o streamed.tw && \
         timewise export streamed.tw --to folded",
    );
    assert!(streamed.stdout.starts_with("sh;"), "{}{}", streamed.stdout, streamed.stderr);
}

/// An optimiser would take the branches of one file for those of another; of a copy of the former one it does not.
#[test]
fn branches_of_a_file_that_changed_are_not_exported() {
    let place = Place::new();
    place.write(
        "app.c",
        "#ifdef CHANGED
         long other(long n) { return n > 3 ? n * n + other(n - 2) : 1; }
         #endif
         int main(void) {
             volatile long n = 0;
             for (long i = 0; i < 50000000; i++) if (i & n) n++; else n += 2;
             return 0;
         }",
    );
    for linked in ["", "-Wl,--build-id=none"] {
        let build = format!("cc -O1 {linked} app.c -o app");
        let made = place.shell(&format!(
            "rm -f copy; {build} && cp app copy && timewise count -o counted.tw -- ./app && \
             timewise branches -F 1000 -o traced.tw -- ./app"
        ));
        let profiles: &[&str] = match made.stderr.contains("cannot open performance events") {
            true => &["counted.tw"],
            false => &["counted.tw", "traced.tw"],
        };
        for profile in profiles {
            let export = format!("timewise export {profile} --to bolt-preaggregated");
            let before = place.shell(&export);
            assert!(
                before.status == Some(0) && before.stderr.is_empty(),
                "{} {}",
                made.stderr,
                before.stderr
            );
            assert_eq!(place.shell(&format!("{build} -DCHANGED")).status, Some(0));
            assert_refused(&place.shell(&export), "app' changed after it ran");
            assert_refused(&place.shell(&format!("{export} --binary app")), "app' changed after it ran");
            assert_eq!(place.shell(&format!("{export} --binary copy")).stdout, before.stdout);
            let gone = place.shell(&format!("rm app; {export}"));
            assert!(gone.status == Some(0) && gone.stderr.starts_with("warning: '"), "{}", gone.stderr);
            assert_eq!(place.shell("cp copy app").status, Some(0));
        }
    }
}

#[test]
fn inlined_functions_stand_in_their_callers() {
    let place = Place::new();
    place.write(
        "busy.c",
        "static int step(int n) { return 1000000007 / (n % 100 + 200) * 3 + 1; }
         int main(void) {
             volatile int n = 0;
             for (int i = 0; i < 20000000; i++) n = step(n);
             return 0;
         }",
    );
    let sampled = place.shell("cc -g -O1 busy.c -o busy && timewise sample -- ./busy");
    assert_eq!(sampled.status, Some(0), "{}", sampled.stderr);
    if place.profile().samples.len() < 20 {
        eprintln!("skipped: {}", sampled.stderr);
        return;
    }
    let folded = place.shell("timewise export --to folded").stdout;
    assert!(folded.lines().any(|line| line.starts_with("busy;") && line.contains(";main;step ")), "{folded}");
}
