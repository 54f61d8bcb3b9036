//! Functions and lines in a profile, and what becomes of them when files go away.

use crate::command::Place;

const BUSY: &str = "#include <unistd.h>
static int step(int n) {
    return n * 3 + 1;
}
int main(int argc, char **argv) {
    volatile int n = 0;
    for (int i = 0; i < 50000000; i++)
        n = step(n);
    if (argc > 1)
        unlink(argv[0]);
    return 0;
}
";

#[test]
fn a_profile_is_read_without_the_program() {
    let place = Place::new();
    place.write("busy.c", BUSY);
    let outcome = place.shell("cc -g -O1 busy.c -o busy && timewise run -- ./busy && rm busy busy.c");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let profile = place.profile();
    let main = profile.functions.iter().find(|function| function.name == "main").unwrap();
    let file = &profile.files[main.file.unwrap().index()].path;
    assert_eq!((main.line, file.ends_with("/busy.c")), (5, true), "{file}");
    let within = |line: &&timewise_profile::Line| {
        let offset = line.place.offset.0;
        line.place.module == main.place.module
            && offset >= main.place.offset.0
            && offset < main.place.offset.0 + main.size
    };
    let lines: Vec<u32> = profile.lines.iter().filter(within).map(|line| line.line).collect();
    assert!([3, 7, 8].iter().all(|line| lines.contains(line)), "{lines:?}");
    // The C library's start-up code calls it, so its functions are named as well.
    assert!(profile.functions.iter().any(|function| function.name.contains("libc_start")));
    let outcome = place.shell("timewise report --by line --format csv");
    assert!(outcome.stdout.contains("busy.c"), "{}{}", outcome.stdout, outcome.stderr);
}

#[test]
fn source_that_was_changed_after_the_run_is_not_shown() {
    let place = Place::new();
    place.write("busy.c", BUSY);
    let outcome = place.shell("cc -g -O1 busy.c -o busy && timewise count -- ./busy");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let before = place.shell("timewise annotate main").stdout;
    assert!(before.contains("busy.c:8          n = step(n);"), "{before}");
    assert!(!before.contains("was changed"), "{before}");
    let after = place.shell("sed -i '1i // A\\n// B' busy.c && timewise annotate main").stdout;
    assert_eq!(place.read("busy.c").lines().nth(1), Some("// B"));
    let says = "warning: busy.c was changed after the run: its lines may be others\n";
    assert_eq!(after.matches(says).count(), 1, "{after}");
    assert!(after.contains("busy.c:8\n") && !after.contains("n = step"), "{after}");
}

#[test]
fn a_program_that_deletes_itself() {
    let place = Place::new();
    place.write("busy.c", BUSY);
    let build = "cc -g -O1 busy.c -o busy";
    let outcome = place.shell(&format!("{build} && timewise count -- ./busy delete"));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("busy' was deleted after it ran"), "{}", outcome.stderr);
    let all = place.profile().block_counts.iter().any(|count| count.executions >= 49_999_999);
    assert!(all, "counts need no file");
    let outcome = place.shell(&format!("{build} && timewise run -- ./busy delete"));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("./busy: not found"), "{}", outcome.stderr);
    let outcome = place.shell(&format!("timewise run --prepare '{build}' -- ./busy delete"));
    assert_eq!((outcome.status, place.profile().runs.len()), (Some(0), 2), "{}", outcome.stderr);
}

#[test]
fn control_characters_reach_no_terminal() {
    let place = Place::new();
    place.write("busy.c", BUSY);
    let build = "name=$'./a\\e[31mb\\nc\\a'; cc -s -O1 busy.c -o \"$name\"";
    for verb in ["run", "sample", "count"] {
        let outcome = place.shell(&format!("{build} && timewise {verb} -- \"$name\" && timewise report"));
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        let shown = format!("{}{}", outcome.stderr, outcome.stdout);
        assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown}");
        assert!(shown.contains(r"a\x1b[31mb\nc\x07"), "{shown}");
    }
    let outcome = place.shell("timewise run -- bash -c 'for i in {1..20000}; do :; done' $(seq 1 10000)");
    assert!(outcome.stderr.lines().all(|line| line.chars().count() <= 120), "{}", outcome.stderr);
}

#[test]
fn a_profile_whose_name_is_no_text() {
    let place = Place::new();
    place.write("busy.c", BUSY);
    let outcome = place.shell(
        "cc -g -O1 busy.c -o busy && name=$(printf 'p\\377') && timewise count -o \"$name\" -- ./busy &&
         timewise annotate \"$name\" main && timewise report \"$name\"",
    );
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("busy.c:8"), "{}", outcome.stdout);
}

#[test]
fn a_program_whose_name_is_no_text() {
    let place = Place::new();
    let outcome = place.shell(
        "name=./$(printf 'a\\377'); cp /bin/true \"$name\";
         timewise count -- sh -c '\"$0\"; exit 3' \"$name\"",
    );
    assert_eq!(outcome.status, Some(3), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("was not counted"), "{}", outcome.stderr);
    let profile = place.profile();
    let started = profile.processes.iter().position(|process| process.executable.ends_with(b"/a\xff"));
    let started = started.expect("the program is followed");
    assert!(profile.block_counts.iter().any(|count| count.process.index() == started));
}

/// As services that lock themselves in: there, the kernel's table of mappings cannot be read.
#[test]
fn a_program_in_a_root_without_proc_has_its_name() {
    let place = Place::new();
    place.write("busy.c", BUSY);
    let built = place.shell("mkdir root && sed 's/int n = 0;/int n = 0; clock_gettime(1, \\&(struct timespec) {0});/; 1i #include <time.h>' busy.c > ticks.c &&
         cc -g -O1 ticks.c -o root/busy -static && chroot root /busy");
    if built.status != Some(0) {
        eprintln!("not checked: {}", built.stderr);
        return;
    }
    let outcome = place.shell("timewise count -- chroot root /busy");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("warning"), "{}", outcome.stderr);
    assert!(place.profile().functions.iter().any(|function| function.name == "main"));
    let built = place.shell(
        "cc -O1 busy.c -o root/moving && for file in $(ldd root/moving | grep -o '/[^ ]*'); do
         mkdir -p root/${file%/*} && cp $file root/$file; done",
    );
    assert_eq!(built.status, Some(0), "{}", built.stderr);
    let outcome = place.shell("timewise count -- chroot root /moving");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("/proc/self/maps could not be read"), "{}", outcome.stderr);
}

/// Where the kernel's table cannot be read, whatever is not known of may be written to.
#[test]
fn code_that_is_written_again_is_executed_anew_without_the_table() {
    let place = Place::new();
    place.write("rewrites.c", include_str!("programs/rewrites.c"));
    assert_eq!(place.shell("mkdir root && cc -O1 rewrites.c -o root/rewrites -static").status, Some(0));
    let few = "(ulimit -n 64; exec root/rewrites x)";
    for (native, counted) in [
        ("chroot root /rewrites", "chroot root /rewrites"),
        (few, "bash -c 'ulimit -n 64; exec root/rewrites x'"),
    ] {
        if place.shell(native).status != Some(0) {
            eprintln!("not checked: {native}");
            continue;
        }
        let outcome = place.shell(&format!("timewise count -- {counted}"));
        assert_eq!((outcome.status, &*outcome.stdout), (Some(0), "1225\n"), "{counted}: {}", outcome.stderr);
    }
}
