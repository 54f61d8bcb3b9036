//! What cannot be profiled: one clear line, the promised status, and no former file lost.

use crate::command::{Outcome, Place};

/// Each command that runs a program, with its status and the one line that it says.
fn refused(place: &Place, program: &str) -> Vec<(&'static str, Option<i32>, String)> {
    ["run", "sample", "count"]
        .map(|verb| {
            let outcome = place.shell(&format!("timewise {verb} -- {program}"));
            assert_eq!(outcome.stdout, "");
            assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
            (verb, outcome.status, outcome.stderr)
        })
        .into()
}

fn assert_refused(place: &Place, program: &str, status: i32, says: &str) {
    place.write("profile.tw", "former");
    for (verb, found, message) in refused(place, program) {
        assert_eq!(found, Some(status), "{verb}: {message}");
        assert!(message.starts_with("timewise: ") && message.contains(says), "{verb}: {message}");
    }
    assert_eq!(place.read("profile.tw"), "former");
    assert!(!place.has("profile.tw.old"));
}

#[test]
fn no_such_program() {
    assert_refused(&Place::new(), "./missing", 127, "./missing: not found");
    assert_refused(&Place::new(), "missing-program", 127, "missing-program: not found");
    assert_refused(&Place::new(), "''", 127, "the name of the program is empty");
}

#[test]
fn a_directory() {
    assert_refused(&Place::new(), "/tmp", 126, "is a directory");
}

#[test]
fn a_file_that_is_not_executable() {
    let place = Place::new();
    place.write("data", "#!/bin/sh\n");
    assert_refused(&place, "./data", 126, "not executable");
}

/// The system lets nobody look into it; root may read all.
#[test]
fn a_program_that_may_not_be_read() {
    let place = Place::new();
    let nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs";
    let script =
        format!("cp /bin/true hidden && chmod 711 hidden && chmod 777 . && {nobody} true || exit 99");
    if place.shell(&script).status == Some(99) {
        eprintln!("not checked: no right to become another user");
        return;
    }
    for verb in ["run", "sample", "count"] {
        let timewise = env!("CARGO_BIN_EXE_timewise");
        let outcome = place.shell(&format!("cp '{timewise}' tw; {nobody} ./tw {verb} -- ./hidden"));
        assert_eq!(outcome.status, Some(126), "{}", outcome.stderr);
        let says = "timewise: ./hidden: may be executed but not read, so that it cannot be profiled; \
                    make it readable: chmod +r ./hidden\n";
        assert_eq!(outcome.stderr, says);
    }
}

/// Under observation it would run without the rights that it gains, unless it gains none natively either.
#[test]
fn a_program_that_gains_rights() {
    let place = Place::new();
    let nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups";
    let script = format!(
        "cp /bin/true setuid && chmod u+s setuid && cp /bin/true capable && chmod 777 . &&
         setcap cap_net_raw+ep capable && {nobody} ./capable && cp '{}' tw &&
         cp /bin/true incapable && setcap = incapable || exit 99",
        env!("CARGO_BIN_EXE_timewise")
    );
    if place.shell(&script).status == Some(99) {
        eprintln!("not checked: no right to become another user or to give capabilities");
        return;
    }
    let outcome = place.shell(&format!("{nobody} ./tw count -- ./incapable"));
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    for (program, how) in [("setuid", "setuid"), ("capable", "setcap")] {
        for verb in ["run", "sample", "count", "branches"] {
            let outcome = place.shell(&format!("{nobody} ./tw {verb} -- ./{program}"));
            assert_eq!(
                (outcome.status, outcome.stderr.lines().count()),
                (Some(126), 1),
                "{}",
                outcome.stderr
            );
            assert!(
                outcome.stderr.contains(&format!("({how}), which the system denies")),
                "{}",
                outcome.stderr
            );
        }
        let outcome = place.shell(&format!("{nobody} --no-new-privs ./tw count -- ./{program}"));
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    }
}

#[test]
fn a_32_bit_program() {
    let place = Place::new();
    let mut program = std::fs::read("/bin/true").unwrap();
    (program[4], program[18]) = (1, 3);
    place.write_executable("small", program);
    assert_refused(&place, "./small", 126, "is a program for 32-bit x86");
}

#[test]
fn a_program_for_another_processor() {
    let place = Place::new();
    let mut program = std::fs::read("/bin/true").unwrap();
    program[18] = 183;
    place.write_executable("arm", program);
    assert_refused(&place, "./arm", 126, "./arm: ");
}

#[test]
fn a_truncated_program() {
    let place = Place::new();
    place.write_executable("cut", &std::fs::read("/bin/true").unwrap()[..40]);
    assert_refused(&place, "./cut", 126, "./cut: is a truncated ELF file");
    place.write_executable("short", &std::fs::read("/bin/true").unwrap()[..100]);
    assert_refused(&place, "./short", 126, "./short: is a truncated ELF file");
}

/// What ends natively before its first instruction.
#[test]
fn programs_without_a_first_instruction() {
    let place = Place::new();
    place.write("main.c", "int main(void) { return 0; }");
    let build = "cc -static main.c -o whole && head -c 5000 whole > cut && \
                 echo 'int f(void) { return 0; }' | cc -shared -fPIC -nostdlib -x c - -o library && chmod +x cut";
    assert_eq!(place.shell(build).status, Some(0));
    for program in ["./cut", "./library"] {
        for verb in ["count", "branches"] {
            let outcome = place.shell(&format!("timewise {verb} -- {program}"));
            assert_eq!(outcome.status, Some(125), "{}", outcome.stderr);
            assert!(outcome.stderr.contains("cut short, or is a library"), "{}", outcome.stderr);
            assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        }
        let natively = place.shell(&format!("exec {program}"));
        let timewise = env!("CARGO_BIN_EXE_timewise");
        let outcome = place.shell(&format!("exec {timewise} run -- {program}"));
        assert!(natively.signal.is_some() && outcome.signal == natively.signal, "{}", outcome.stderr);
        assert!(outcome.stderr.starts_with("timewise: nothing to save: no samples"), "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains("not counted: the program's first instruction"),
            "{}",
            outcome.stderr
        );
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        assert!(!place.has("profile.tw"));
    }
}

/// As in a container: the system call filter forbids `ptrace`.
#[test]
fn a_machine_that_forbids_to_observe_programs() {
    let place = Place::new();
    for verb in ["run", "sample", "count"] {
        let mut command = place.command(&format!("timewise {verb} -- true"));
        // SAFETY: the closure makes two system calls with memory of its own.
        unsafe { std::os::unix::process::CommandExt::pre_exec(&mut command, forbid_ptrace) };
        let outcome = Outcome::from(command.output().unwrap());
        assert_eq!(outcome.status, Some(125), "{}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("cannot launch true under ptrace: forbidden"), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("; run: "), "{}", outcome.stderr);
    }
}

fn forbid_ptrace() -> std::io::Result<()> {
    let statement = |code: u32, jumps: (u8, u8), k: u32| libc::sock_filter {
        code: code as u16,
        jt: jumps.0,
        jf: jumps.1,
        k,
    };
    let mut filter = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, (0, 0), 0),
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, (0, 1), libc::SYS_ptrace as u32),
        statement(libc::BPF_RET | libc::BPF_K, (0, 0), libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        statement(libc::BPF_RET | libc::BPF_K, (0, 0), libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the program and its filter live until the calls return.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program, 0, 0) == 0
    };
    if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[test]
fn an_interpreter_that_is_missing() {
    let place = Place::new();
    place.write_executable("script", "#!/no/such/interpreter\n");
    assert_refused(&place, "./script", 126, "/no/such/interpreter");
}

#[test]
fn an_interpreter_that_is_none() {
    let place = Place::new();
    place.write_executable("windows", "#!/bin/sh\r\nexit 0\r\n");
    assert_refused(&place, "./windows", 126, "run: sed -i 's/\\r$//' ./windows");
    place.write_executable("itself", format!("#!{}/itself\n", place.path().display()));
    assert_refused(&place, "./itself", 126, "./itself: its interpreter is a script whose interpreter");
}

#[test]
fn nowhere_to_save() {
    let place = Place::new();
    for (file, says) in [
        ("no/where.tw", "there is no directory 'no'"),
        ("/dev/null", "not a regular file"),
        ("/proc/x.tw", "'/proc' takes no files"),
        ("/dev/null/x.tw", "'/dev/null' is not a directory"),
        ("-", "a profile is a database"),
    ] {
        for verb in ["run", "sample", "count"] {
            let outcome = place.shell(&format!("timewise {verb} -o {file} -- touch ran"));
            assert_eq!(outcome.status, Some(125), "{}", outcome.stderr);
            assert!(outcome.stderr.contains(says), "{}", outcome.stderr);
            assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
            assert!(!place.has("ran"));
        }
    }
}

#[test]
fn a_file_system_that_is_read_only() {
    let place = Place::new();
    let outcome = place.shell(&format!(
        "mkdir disk; unshare --mount sh -c 'mount -t tmpfs -o ro none disk || exit 99
         exec \"$0\" sample -o disk/p.tw -- touch ran' '{}'",
        env!("CARGO_BIN_EXE_timewise")
    ));
    if outcome.status == Some(99) || outcome.stderr.contains("unshare") {
        return eprintln!("not checked: no right to mount a file system");
    }
    assert_eq!((outcome.status, place.has("ran")), (Some(125), false), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("the file system of 'disk' is read-only"), "{}", outcome.stderr);
}

#[test]
fn a_full_disk_keeps_the_former_profile() {
    let place = Place::new();
    let script = "mkdir disk && mount -t tmpfs -o size=4m none disk 2> /dev/null || exit 99
        timewise sample -o disk/p.tw -- bash -c 'for i in {1..200000}; do :; done' && cp disk/p.tw first
        dd if=/dev/zero of=disk/filler bs=1k 2> /dev/null
        TMPDIR=$PWD timewise run -o disk/p.tw -- bash -c 'for i in {1..20000}; do :; done'; status=$?
        cmp disk/p.tw first && ls disk; umount disk; exit $status";
    let outcome = place.shell(script);
    if outcome.status == Some(99) {
        eprintln!("not checked: no right to mount a small file system");
        return;
    }
    assert_eq!(
        (outcome.status, outcome.stdout.as_str()),
        (Some(125), "filler\np.tw\n"),
        "{}",
        outcome.stderr
    );
    assert!(outcome.stderr.contains("no space is left in 'disk'"), "{}", outcome.stderr);
}

#[test]
fn a_program_without_symbols_gives_a_profile() {
    let place = Place::new();
    place.write("busy.c", "int main(void) { volatile long n = 0; while (n < 100000000) n++; return 0; }");
    let outcome = place.shell("cc -O1 -s busy.c -o busy && timewise sample -- ./busy");
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let profile = place.profile();
    assert!(profile.functions.iter().any(|f| f.name.starts_with("busy+0x") && f.symbol.is_empty()));
}

#[test]
fn a_file_that_is_no_profile() {
    let place = Place::new();
    place.shell("timewise sample -- bash -c 'for i in {1..200000}; do :; done'; cp profile.tw whole");
    let whole = std::fs::read(place.path().join("whole")).unwrap();
    place.write("cut", &whole[..whole.len() / 2]);
    place.write("text", "once upon a time");
    place.write("empty", "");
    place.shell("sqlite3 other.tw 'create table runs(x)'");
    let says = ["there is no such file", "", "", "", "", "not a regular file"];
    for (file, says) in ["missing", "cut", "text", "empty", "other.tw", "/tmp"].into_iter().zip(says) {
        for command in [format!("report {file}"), format!("annotate {file} main")] {
            let outcome = place.shell(&format!("timewise {command}"));
            assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""), "{}", outcome.stderr);
            assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
            assert!(outcome.stderr.contains(file), "{}", outcome.stderr);
            assert!(outcome.stderr.contains(says), "{}", outcome.stderr);
        }
    }
    assert_eq!(std::fs::read(place.path().join("cut")).unwrap(), whole[..whole.len() / 2]);
}

#[test]
fn bad_usage() {
    let place = Place::new();
    assert_eq!(place.shell("timewise doctor --nonsense").status, Some(2));
    assert_eq!(place.shell("timewise nonsense").status, Some(2));
    assert_eq!(place.shell("timewise run --frequency 0 -- true").status, Some(125));
    for command in ["run", "sample", "count", "branches", "simulate", "paths"] {
        assert_eq!(place.shell(&format!("timewise {command}")).status, Some(125), "{command}");
        assert_eq!(
            place.shell(&format!("timewise {command} --nonsense -- true")).status,
            Some(125),
            "{command}"
        );
    }
    let endless = place.shell("timewise run --pid $$");
    assert_eq!(endless.status, Some(125));
    assert!(
        endless.stderr.starts_with("timewise: say how long to stay attached: --pid "),
        "{}",
        endless.stderr
    );
    assert_eq!(
        place.shell("timewise report --by foo").stderr,
        "timewise: invalid value 'foo' for '--by <BY>' [possible values: function, loop, call, block, branch, path, \
         instruction, line, waiting, kernel]; a similar value exists: 'loop'; see --help\n"
    );
    for (command, said) in [
        ("sample -F abc -- true", "'abc' for '--frequency <HZ>': it is no whole number, such as 100"),
        ("sample -F '' -- true", "'' for '--frequency <HZ>': it is no whole number, such as 100"),
        (
            "count --intervals 1e6 -- true",
            "'1e6' for '--intervals <N>': it is no whole number, such as 1000 or 2M",
        ),
        ("count --intervals 10 -- true", "'10' for '--intervals <N>': it is less than 1000"),
        ("run --pid x --for 1s", "'x' for '--pid <PID>': it is no whole number, such as 100"),
        ("simulate --skip 99999999999999999999 -- true", "'--skip <N>': it is too large a number"),
        ("report --limit x", "'x' for '--limit <ROWS>': it is no whole number, such as 100"),
        ("run --pid 1 --for abc", "'abc' for '--for <TIME>': it is no number with a unit, such as 10s"),
        ("run --pid 1 --for 10x", "'10x' for '--for <TIME>': its unit is none of ms, s, m, h"),
    ] {
        let outcome = place.shell(&format!("timewise {command}"));
        assert!(outcome.stderr.ends_with(&format!("{said}; see --help\n")), "{}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    }
    for command in ["", "run", "sample", "count", "report", "annotate", "doctor"] {
        let outcome = place.shell(&format!("timewise {command} --help"));
        assert_eq!(outcome.status, Some(0));
        assert!(command.is_empty() || outcome.stdout.contains("Examples:\n  timewise"), "{}", outcome.stdout);
    }
}

#[test]
fn an_argument_that_is_no_text() {
    let outcome = Place::new().shell("timewise \"$(printf '\\377')\"");
    assert_eq!(outcome.status, Some(2), "{}", outcome.stderr);
}

#[test]
fn outputs_that_take_nothing() {
    let place = Place::new();
    let outcome = place.shell("timewise count -- true 2> /dev/full");
    assert_eq!((outcome.status, place.has("profile.tw")), (Some(0), true));
    for command in ["report", "annotate main", "report --format json", "doctor", "--help", "report --help"] {
        let command = command.replace("main", &place.profile().functions[0].name);
        let full = place.shell(&format!("timewise {command} > /dev/full"));
        assert_eq!(full.status, Some(2), "{}", full.stderr);
        assert!(
            full.stderr.starts_with("timewise: cannot write to standard output: No space"),
            "{}",
            full.stderr
        );
        assert_eq!(full.stderr.lines().count(), 1, "{}", full.stderr);
        let closed = place.shell(&format!("timewise {command} | true; exit ${{PIPESTATUS[0]}}"));
        assert_eq!((closed.status, closed.stderr.as_str()), (Some(0), ""));
        let none = place.shell(&format!("'{}' {command} >&-", env!("CARGO_BIN_EXE_timewise")));
        assert_eq!((none.status, none.stderr.lines().count()), (Some(2), 1), "{}", none.stderr);
        assert!(none.stderr.starts_with("timewise: cannot write to standard output: it is closed"));
    }
    assert_eq!(place.shell("timewise run --help > /dev/full").status, Some(125));
    assert_eq!(place.shell("timewise report -o file >&-").status, Some(0));
}

/// What to do next with a profile is said of one that there is.
#[test]
fn what_could_not_be_saved_is_not_recommended() {
    let place = Place::new();
    let run = |before: &str| {
        place.shell(&format!(
            "mkdir -p sub; export TMPDIR=$PWD; timewise run -F 20000 -o sub/profile.tw -- sh -c '{before}; i=0
             while [ $i -lt 100000 ]; do i=$((i+1)); done'"
        ))
    };
    let saved = run(":");
    let last: Vec<_> = saved.stderr.lines().rev().take(2).collect();
    assert!(last[0].starts_with("Next: timewise annotate sub/profile.tw "), "{}", saved.stderr);
    assert_eq!(last[1], "saved as sub/profile.tw");
    let lost = run("rm -r sub");
    assert_eq!(lost.status, Some(125));
    assert!(lost.stderr.contains("what was recorded is in '"), "{}", lost.stderr);
    assert!(lost.stderr.contains("Hottest functions") && !lost.stderr.contains("Next:"), "{}", lost.stderr);
}

#[test]
fn a_profile_without_a_function_is_not_taken_for_one() {
    let place = Place::new();
    let outcome = place.shell("timewise annotate other.tw");
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""));
    let says =
        "timewise: other.tw is a profile: say which of its functions: timewise annotate other.tw FUNCTION\n";
    assert_eq!(outcome.stderr, says);
    let turned = place.shell("touch other.tw; timewise annotate main other.tw");
    assert_eq!((turned.status, turned.stdout.as_str()), (Some(2), ""));
    let says = "timewise: the profile comes before the function: timewise annotate other.tw main\n";
    assert_eq!(turned.stderr, says);
}

#[test]
fn how_to_optimise_is_to_be_said() {
    let outcome = Place::new().shell("timewise fdo -o faster -- true");
    assert_eq!((outcome.status, outcome.stderr.lines().count()), (Some(2), 1), "{}", outcome.stderr);
    assert!(["--bolt", "--clang"].iter().all(|way| outcome.stderr.contains(way)), "{}", outcome.stderr);
    let fewest = format!("at least {}", timewise_fdo::compare::FEWEST_PAIRS);
    assert!(Place::new().shell("timewise fdo --help").stdout.contains(&fewest));
    let untraced = Place::new().shell("timewise fdo --bolt -F 1 -o faster -- true");
    // One trace is possible, though hardly likely.
    assert!(untraced.stderr.matches("no branches were seen").count() <= 1, "{}", untraced.stderr);
}

#[test]
fn a_folder_for_temporary_files_that_is_none_is_named() {
    let outcome = Place::new().shell("TMPDIR=/nonexistent timewise fdo --bolt -o faster -- true");
    assert_eq!((outcome.status, outcome.stderr.lines().count()), (Some(2), 1), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("'/nonexistent'") && outcome.stderr.contains("TMPDIR"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn what_optimising_would_destroy() {
    let place = Place::new();
    assert_eq!(place.shell("cp /bin/true program && ln -s program link").status, Some(0));
    place.write("source.c", "int main(void) { return 0; }");
    for (outputs, says) in
        [(["program", "link"], "is the program itself"), (["source.c"; 2], "is no program")]
    {
        for output in outputs {
            let outcome = place.shell(&format!("timewise fdo --bolt -o {output} -- ./program"));
            assert_eq!((outcome.status, outcome.stderr.lines().count()), (Some(2), 1), "{}", outcome.stderr);
            assert!(outcome.stderr.contains(says), "{}", outcome.stderr);
        }
    }
    assert_eq!(place.shell("cmp program /bin/true").status, Some(0));
    assert_eq!(place.read("source.c"), "int main(void) { return 0; }");
}

#[test]
fn the_same_run_twice_on_one_side_of_a_comparison() {
    let place = Place::new();
    let made = "for name in old new; do timewise count -o $name.tw -- true; done; cp new.tw again.tw";
    assert_eq!(place.shell(made).status, Some(0));
    let diff = |more: &str| {
        let outcome = place.shell(&format!("timewise diff old.tw new.tw {more} > /dev/null"));
        (outcome.status, outcome.stderr)
    };
    for more in ["--base old.tw", "--test again.tw", "--base new.tw --base again.tw"] {
        let (status, stderr) = diff(more);
        assert_eq!((status, stderr.lines().count()), (Some(2), 1), "{more}: {stderr}");
        assert!(stderr.contains("are of the same run"), "{more}: {stderr}");
    }
    let (status, stderr) = diff("--base again.tw");
    assert_eq!(status, Some(0), "the two sides may have a run in common: {stderr}");
}
