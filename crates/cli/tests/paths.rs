//! `timewise paths` runs a program twice as if it ran once, and what came of a run that differs or ends early is said.

use crate::command::{MEANWHILE, Outcome, Place};
use std::io::Read;
use std::os::unix::process::CommandExt;
use timewise_profile::Exit;

#[test]
fn paths_are_counted_and_reported() {
    let place = Place::new();
    let outcome =
        place.shell("echo 7 | timewise paths -- bash -c 'read n; for i in {1..500}; do :; done; exit $n'");
    assert_eq!(outcome.status, Some(7), "{}", outcome.stderr);
    assert!(place.profile().paths.iter().any(|path| path.executions >= 500), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("the runs differ"), "{}", outcome.stderr);
    let report = place.shell("timewise report --by path");
    assert!(report.status == Some(0) && report.stdout.contains("bash"), "{}{}", report.stdout, report.stderr);
}

#[test]
fn runs_that_differ_are_told() {
    let place = Place::new();
    place.write("file", "9\n");
    let outcome = place.shell("timewise paths -- bash -c 'read n < file; echo $((n + 90)) > file; echo $n'");
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), "9\n"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("the runs differ"), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("of all flow"), "{}", outcome.stderr);
}

#[test]
fn edges_of_another_program_are_refused() {
    let place = Place::new();
    let outcome =
        place.shell("timewise count -q -o true.tw -- true; timewise paths --edges true.tw -- echo done");
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(125), ""), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("another program than 'echo'"), "{}", outcome.stderr);
    place.write("script", "#!/bin/sh\necho done\n");
    let script =
        "chmod +x script; timewise count -q -o s.tw -- ./script; timewise paths --edges s.tw -- ./script";
    let outcome = place.shell(script);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), "done\ndone\n"), "{}", outcome.stderr);
}

#[test]
fn edges_of_another_build_are_refused_and_those_of_other_work_told() {
    let place = Place::new();
    let source = "int main(int n, char **a) { long s = n; for (long i = 0; i < n * 100000; i++) s ^= i; return s & B; }";
    place.write("loops.c", source);
    let outcome = place.shell(
        "gcc -DB=0 -o loops loops.c && timewise count -q -o e.tw -- ./loops && timewise paths --edges e.tw -- ./loops",
    );
    assert!(outcome.status == Some(0) && !outcome.stderr.contains("the runs differ"), "{}", outcome.stderr);
    let outcome = place.shell("timewise paths --edges e.tw -- ./loops more");
    assert!(outcome.status == Some(0) && outcome.stderr.contains("the runs differ"), "{}", outcome.stderr);
    let outcome = place.shell("gcc -DB=1 -o loops loops.c && timewise paths --edges e.tw -- ./loops");
    assert_eq!(outcome.status, Some(125), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("another build of './loops'"), "{}", outcome.stderr);
    let unnamed = "gcc -Wl,--build-id=none -DB=0 -o loops loops.c && timewise count -q -o e.tw -- ./loops";
    let outcome = place.shell(&format!("{unnamed} && timewise paths --edges e.tw -- ./loops"));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let other = "gcc -Wl,--build-id=none -DB=1 -o loops loops.c && timewise paths --edges e.tw -- ./loops";
    let outcome = place.shell(other);
    assert_eq!(outcome.status, Some(125), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("another build of './loops'"), "by its code: {}", outcome.stderr);
}

#[test]
fn an_interrupt_in_the_first_run_is_enough() {
    let place = Place::new();
    let timewise = env!("CARGO_BIN_EXE_timewise");
    let busy = "echo begin; while [ $((i+=1)) -lt 100000000 ]; do :; done";
    let mut child = place
        .command(&format!("exec {timewise} paths -- bash -c '{busy}'"))
        .process_group(0)
        .spawn()
        .unwrap();
    let mut begin = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut begin).unwrap();
    // As a terminal does: to all of the foreground.
    let interrupt = format!("kill -s INT -- -{}", child.id());
    assert!(std::process::Command::new("bash").args(["-c", &interrupt]).status().unwrap().success());
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    assert_eq!((outcome.signal, outcome.stdout.as_str()), (Some(libc::SIGINT), ""), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("not run again"), "{}", outcome.stderr);
    let profile = place.profile();
    assert_eq!((profile.runs[0].exit, profile.paths.len()), (Exit::Signal(libc::SIGINT), 0));
}

#[test]
fn a_program_that_ends_before_its_paths_are_counted_ends_as_it_does() {
    let place = Place::new();
    let outcome = place.shell("timewise paths --after 1h -- sh -c 'echo done; exit 3'");
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(3), "done\n"), "{}", outcome.stderr);
    // It may be over before it can be attached to.
    let is_said =
        ["no paths were counted", "nothing to save"].iter().any(|word| outcome.stderr.contains(word));
    assert!(is_said, "{}", outcome.stderr);
}

/// A hundred thousand calls of a function that goes along rare edges in a quarter of them or more. Where it does, its second
/// branch does not go as the first went, as it does otherwise.
const RARE: &str = "
static unsigned long long s = 88172645463325252ull; volatile int sink;
static unsigned next(void) { s ^= s << 13; s ^= s >> 7; s ^= s << 17; return s >> 20; }
__attribute__((noinline)) void g(unsigned a, unsigned r, unsigned other) {
  unsigned h = 0;
#define RARE(i) if ((r >> 3 * i) % 32 == 5) h |= 1u << i;
  RARE(0) RARE(1) RARE(2) RARE(3) RARE(4) RARE(5) RARE(6) RARE(7)
#define THEN(i) if ((other >> i) % 32 == 1) h |= 1u << i;
  THEN(8) THEN(9) THEN(10) THEN(11)
  unsigned b = h ? other & 1 : a;
  if (a) sink = 1;
  if (b) sink = 3;
}
int main(void) { for (int i = 0; i < 100000; i++) { unsigned a = next() & 1, r = next(); g(a, r, next()); } return 0; }";

#[test]
fn what_is_on_no_path_is_told_and_may_have_gone_any_way() {
    let place = Place::new();
    place.write("rare.c", RARE);
    let outcome = place.shell("gcc -O0 -g -o rare rare.c && timewise paths -- ./rare");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let figures = |text: &str, behind: &str, of: &str| -> Option<String> {
        Some(text.split_once(behind)?.1.split(of).next()?.to_string())
    };
    let told = figures(&outcome.stderr, "that edges tell, ", " on paths that are not told apart");
    let told = told.unwrap_or_else(|| panic!("{}", outcome.stderr));
    let report = place.shell("timewise report --by path").stdout;
    assert!(report.contains(&format!("not told apart: {told} of the instructions")), "{told}\n{report}");
    assert!(!report.contains("goes as the one at"), "{report}");
    let json = place.shell("timewise report --by path --format json").stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let of = |rows: &serde_json::Value| -> f64 {
        let rows = rows.as_array().unwrap().iter().filter(|row| row["function"] == "g");
        rows.map(|row| row["share_of_function"].as_f64().unwrap()).sum()
    };
    let (known, untold) = (of(&json["rows"]), of(&json["paths_not_told_apart"]));
    assert!((known + untold - 1.0).abs() < 0.001 && untold > 0.2, "{known} {untold}");
}

#[test]
fn code_written_at_run_time_is_followed_where_it_is_again() {
    let place = Place::new();
    place.write(
        "written.c",
        "#include <string.h>\n#include <sys/mman.h>
        /* int f(int x) { if (x & 1) x += 3; else x -= 1; return x; } */
        unsigned char code[] = {0x89,0xf8, 0xa8,0x01, 0x74,0x04, 0x83,0xc0,0x03, 0xc3, 0x83,0xe8,0x01, 0xc3};
        int main(void) {
          void *p = mmap(0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
          memcpy(p, code, sizeof code);
          int (*f)(int) = p; long s = 0;
          for (int i = 0; i < 100000; i++) s += f(i % 3);
          return s == 0;
        }",
    );
    let outcome = place.shell("gcc -o written written.c && timewise paths --all -- ./written");
    assert!(
        outcome.stderr.contains("not counted; --follow --deterministic counts them"),
        "{}",
        outcome.stderr
    );
    let told = |text: &str| text.contains("tell, 0.0 % on paths that are not told apart");
    let outcome = place.shell("timewise paths --all --follow -- ./written");
    assert!(!told(&outcome.stderr), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("--deterministic, which has addresses be the same"),
        "{}",
        outcome.stderr
    );
    let outcome = place.shell("timewise paths --all --follow --deterministic -- ./written");
    assert!(told(&outcome.stderr) && !outcome.stderr.contains("warning"), "{}", outcome.stderr);
}

/// Each program that it starts is another process, and ends between stages and in them.
#[test]
fn paths_of_a_script_are_counted_in_stages_to_its_end() {
    let place = Place::new();
    let script = "echo $$ > pid; until [ -e enough ]; do sleep 0.1; done; exit 4";
    // Edges are counted, and paths in two stages.
    let outcome = place.shell(&format!(
        "{MEANWHILE} '{}' paths --all --after 500ms -- bash -c '{script}' & own=$!
         goes_on() {{ sleep 0.01; kill -0 $own; }}
         until read -r pid < pid || ! goes_on; do :; done; seen=0; last=
         until [ $seen = 3 ] || ! goes_on; do
           now=$(ours); [ \"$now\" = \"$last\" ] || {{ last=$now; [ ! \"$now\" ] || seen=$((seen + 1)); }}
         done
         : > enough; wait $own",
        env!("CARGO_BIN_EXE_timewise")
    ));
    assert_eq!(outcome.status, Some(4), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("seccomp"), "{}", outcome.stderr);
    let profile = place.profile();
    assert!(!profile.paths.is_empty() && profile.runs[0].exit == Exit::Code(4), "{}", outcome.stderr);
}

/// Once it has restricted its system calls it cannot be attached to for another stage.
#[test]
fn what_was_counted_is_kept_if_a_later_stage_is_impossible() {
    let place = Place::new();
    place.write("confines.c", include_str!("programs/confines.c"));
    let outcome =
        place.shell("cc -O1 -g confines.c -o confines && timewise paths --all --after 200ms -- ./confines");
    assert_eq!(outcome.status, Some(7), "{}", outcome.stderr);
    let is_said = outcome.stderr.contains("no more paths were counted: process");
    assert!(is_said && outcome.stderr.contains("restricted its system calls"), "{}", outcome.stderr);
    let profile = place.profile();
    assert_eq!(profile.runs[0].exit, Exit::Code(7));
    assert!(profile.functions.iter().any(|function| function.name == "work"), "{}", outcome.stderr);
}

/// As a rebuild does that does not wait for the run to end.
#[test]
fn a_program_that_is_replaced_while_it_runs_is_not_taken_for_its_next_build() {
    let place = Place::new();
    place.write("rebuilt.c", include_str!("programs/rebuilt.c"));
    let outcome = place.shell(
        "gcc -g -o old rebuilt.c && gcc -g -DNEW -o new rebuilt.c && cp old program || exit 99
         replace() { until [ -e half ]; do sleep 0.01; done; cp new other; mv other program; }
         replace & timewise count -- ./program && timewise verify || exit 98
         wait; rm half; cp old program; replace & timewise paths --all -o paths.tw -- ./program",
    );
    assert_eq!(outcome.status, Some(0), "{}{}", outcome.stdout, outcome.stderr);
    let build_id = |name: &str| {
        let headers = timewise_image::Headers::of_file(&place.path().join(name));
        headers.map(|headers| headers.build_id).unwrap_or_default()
    };
    let (old, new) = (build_id("old"), build_id("new"));
    let profile = place.profile();
    assert!(profile.modules.iter().any(|module| module.build_id == old), "{}", outcome.stderr);
    assert!(!profile.modules.iter().any(|module| module.build_id == new), "{}", outcome.stderr);
    assert!(!profile.functions.iter().any(|function| function.name == "second"), "{:?}", profile.functions);
    assert!(outcome.stderr.contains("was replaced since its edges were counted"), "{}", outcome.stderr);
}
