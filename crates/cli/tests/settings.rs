//! Settings in files, completions, manual pages, and how quiet we are.

use crate::command::Place;

/// A place with a profile in it.
fn place() -> Place {
    let place = Place::new();
    assert_eq!(place.shell("timewise count -- true").status, Some(0));
    place
}

#[test]
fn the_nearest_project_wins_over_the_user_and_options_over_both() {
    let place = place();
    place.shell("mkdir -p home/timewise sub/deeper");
    let rows = |script: &str| {
        let outcome = place.shell(&format!("export XDG_CONFIG_HOME=$PWD/home; {script}"));
        assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
        outcome.stdout.lines().filter(|line| line.contains(" % ")).count()
    };
    place.write("home/timewise/config.toml", "limit = 3\n");
    assert_eq!(rows("timewise report"), 3);
    place.write("timewise.toml", "limit = 2 # of the project\n");
    assert_eq!(rows("cd sub/deeper; timewise report ../../profile.tw"), 2);
    assert_eq!(rows("timewise report --limit 4"), 4);
}

#[test]
fn a_flag_that_is_set_can_be_taken_back() {
    let place = Place::new();
    place.write("timewise.toml", "quiet = true\n");
    assert_eq!(place.shell("timewise count -- true").stderr, "");
    assert!(place.shell("timewise count --quiet=false -- true").stderr.contains("instructions, exact"));
    place.write("timewise.toml", "quiet = false\n");
    assert!(place.shell("timewise count -- true").stderr.contains("instructions, exact"));
}

#[test]
fn a_number_that_is_too_large_is_told_in_a_line() {
    let place = Place::new();
    place.write("timewise.toml", "limit = 99999999999999999999999999999999999999999\n");
    let outcome = place.shell("timewise report");
    assert_eq!((outcome.status, outcome.stderr.lines().count()), (Some(2), 1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("limit cannot be '99999999999999999999999"), "{}", outcome.stderr);
}

/// Each key that the documentation names is one, and an option of every command that it names.
#[test]
fn documented_keys_are_options_of_their_commands() {
    let place = place();
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let mut keys = Vec::new();
    for (key, rest) in rows {
        let commands = rest.split(" | ").next().unwrap();
        for command in commands.split('`').skip(1).step_by(2) {
            let help = place.shell(&format!("timewise {command} --help")).stdout;
            assert!(help.contains(&format!("--{key}")), "{command} has no --{key}");
        }
        keys.push(key);
    }
    place.write("timewise.toml", "none = 1");
    let known = place.shell("timewise report").stderr;
    assert_eq!(known.trim_end().split_once("there are ").unwrap().1, keys.join(", "));
}

#[test]
fn what_is_wrong_with_settings_is_one_line() {
    let place = place();
    for (settings, says) in [
        ("limits = 3", "unknown key 'limits'"),
        ("limit = \"many\"", "limit cannot be 'many'"),
        ("frequency = 0", "frequency cannot be '0'"),
        ("frequency = 1e9", "frequency cannot be '1e9'"),
        ("color = true", "color cannot be 'true'"),
        ("quiet = \"yes\"", "quiet cannot be 'yes'"),
        ("limit = [1]", "limit is neither"),
        ("\n\nlimit 3", "line 3"),
    ] {
        place.write("timewise.toml", settings);
        for (command, status) in [("report", 2), ("run -- true", 125)] {
            let outcome = place.shell(&format!("timewise {command}"));
            assert_eq!(outcome.status, Some(status), "{settings}: {}", outcome.stderr);
            assert_eq!(outcome.stderr.lines().count(), 1, "{settings}: {}", outcome.stderr);
            assert!(
                outcome.stderr.starts_with("timewise: '/") && outcome.stderr.contains(says),
                "{}",
                outcome.stderr
            );
        }
    }
}

#[test]
fn quiet_is_silent_unless_something_is_wrong() {
    let place = Place::new();
    let outcome = place.shell("timewise sample -q -- sh -c 'echo out; echo message >&2'");
    assert_eq!((outcome.status, &*outcome.stdout), (Some(0), "out\n"));
    assert!(!outcome.stderr.contains("clock"), "{}", outcome.stderr);
    assert_eq!(place.shell("timewise count -q -- ./none").stderr.lines().count(), 1);
}

#[test]
fn long_text_on_a_terminal_goes_through_the_pager() {
    let place = place();
    let on_terminal = |script: &str| {
        place.write("script", script);
        place.shell("export TIMEWISE; script -qec 'stty rows 12 cols 100; . ./script' /dev/null").stdout
    };
    let timewise = env!("CARGO_BIN_EXE_timewise");
    let paged = |options: &str| {
        on_terminal(&format!("export PAGER='sed s/^/paged:/'; {timewise} report {options}"))
            .contains("paged:")
    };
    assert!(paged(""));
    assert!(!paged("--no-pager"));
    assert!(!paged("--limit 1"), "it fits");
    assert!(!place.shell("PAGER='sed s/^/paged:/' timewise report").stdout.contains("paged:"), "no terminal");
    let text = on_terminal(&format!("export PAGER=/none/such; {timewise} report"));
    assert!(text.contains("executions exact"), "a pager that cannot be run shows nothing: {text}");
}

#[test]
fn completions_load_and_complete() {
    let place = Place::new();
    let outcome = place.shell(
        "timewise completions bash > complete.bash && source complete.bash && \
         COMP_WORDS=(timewise report --form) COMP_CWORD=2 && _timewise timewise --form report && echo \"${COMPREPLY[@]}\"",
    );
    assert_eq!(outcome.stdout.trim(), "--format", "{}", outcome.stderr);
    for shell in ["zsh", "fish"] {
        assert!(place.shell(&format!("timewise completions {shell}")).stdout.contains("annotate"));
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let place = Place::new();
    assert_eq!(place.shell("timewise manual pages").status, Some(0));
    let help = place.shell("timewise --help").stdout;
    let commands =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names: Vec<&str> =
        commands.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect();
    assert!(names.contains(&"annotate") && !names.contains(&"manual"), "{names:?}");
    for name in names {
        let page = place.read(&format!("pages/timewise-{name}.1"));
        assert!(
            page.contains(".SH NAME") && page.contains(".SH SYNOPSIS") && page.contains(".SH OPTIONS"),
            "{name}"
        );
    }
    assert!(place.read("pages/timewise-ostrace-record.1").contains("\\-\\-rounds"));
    let run = place.read("pages/timewise-run.1");
    assert!(run.contains("\\-\\-prepare") && run.contains("timewise run \\-\\- ./app input"), "{run}");
    assert!(place.read("pages/timewise.1").contains("timewise\\-run(1)"));
}

#[test]
fn pages_are_files() {
    let place = place();
    assert_eq!(place.shell("timewise report --format html -o page.html").status, Some(0));
    assert!(place.read("page.html").starts_with("<!DOCTYPE html>"));
    assert_eq!(place.shell("timewise report --format html").stdout, place.read("page.html"));
    for (options, says) in
        [("--format html --by loop", "leave out --by"), ("-o profile.tw", "is the profile itself")]
    {
        let outcome = place.shell(&format!("timewise report {options}"));
        assert_eq!(outcome.status, Some(2));
        assert!(outcome.stderr.contains(says), "{}", outcome.stderr);
    }
    assert_eq!(place.shell("timewise report").status, Some(0), "the profile is still one");
}
