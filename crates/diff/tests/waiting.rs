//! Elapsed time and waiting compared, of small profiles written by hand.

use timewise_diff::gate::{GateError, Metric};
use timewise_diff::{Comparison, Gate, Noise, WaitingRow};
use timewise_flow::Analysis;
use timewise_flow::names::Names;
use timewise_flow::sketch::sketch;
use timewise_profile::{ClockScope, Exit, Profile, RunKind};

/// A second of work in `work`, called by `main`, and what waits; so much time from start to end.
fn program(elapsed_ns: u64, waits: &str) -> Profile {
    let mut profile = sketch(&format!(
        "clock cpu-clock:u 3e9 3e9 3e9 250000
         function main at 0x1000 size 0x40
         function work at 0x2000 size 0x40
         function lock at 0x3000 size 0x40
         block head at 0x2000 runs 1000 code 4831c9
         edge - -> head external 1000
         edge head -> - external 1000
         sample 0x2000 4000
         {waits}"
    ))
    .unwrap();
    for run in &mut profile.runs {
        run.elapsed_ns = elapsed_ns;
        run.exit = Exit::Code(0);
        run.kernel_ns = 1_000_000;
        if run.kind == RunKind::Sampling {
            run.user_ns = 1_000_000_000;
            run.clock.as_mut().unwrap().scope = Some(ClockScope::Processors);
        }
    }
    profile
}

fn compared<T>(base: &[Profile], test: &[Profile], with: impl FnOnce(&Comparison) -> T) -> T {
    let side = |runs: &[Profile]| {
        let mut all = runs[0].clone();
        runs[1..].iter().for_each(|run| all.append(run.clone()));
        all
    };
    let (base, test) = (side(base), side(test));
    let (base, test) = (Analysis::new(&base, Default::default()), Analysis::new(&test, Default::default()));
    with(&Comparison::new(&base, &test).unwrap())
}

/// Called, in ms, and whether it is a finding.
fn told(comparison: &Comparison, row: &WaitingRow) -> (String, f64, f64, bool) {
    let (side, place) = match row.place.test {
        Some(place) => (comparison.test, place),
        None => (comparison.base, row.place.base.unwrap()),
    };
    let names = Names::of(side.profile);
    let place = place.unwrap();
    let caller = place.caller.map_or(String::new(), |caller| format!(" < {}", names.of_place(caller)));
    let ms = |waited: timewise_diff::waiting::Waited| waited.duration_ns / 1e6;
    (names.of_place(place.place) + &caller, ms(row.base), ms(row.test), row.is_finding)
}

/// Without names of its own code, but of the library's `lock`: a function at `at` that calls it and waits for so many ms,
/// and its caller.
fn stripped(at: u64, ms: u64) -> Profile {
    let mut profile = program(
        1_100_000_000,
        &format!(
            "function a at {at} size 0x20
             block first at {at} runs 1 code 53 e800000000
             block second at {} runs 1 code 4889c3 5b c3
             edge first -> second return 1
             wait 0x3002 1 {} {}",
            at + 6,
            ms * 1_000_000,
            at + 6
        ),
    );
    profile.functions.retain(|function| function.name != "main");
    for function in profile.functions.iter_mut().filter(|function| function.name == "a") {
        (function.name, function.symbol) = (format!("sketch+{at:#x}"), String::new());
    }
    profile
}

/// So many waits of `lock`, called from `main`, of so many ms in all.
fn locked(times: u64, ms: u64) -> String {
    format!("wait 0x3002 {times} {} 0x1006", ms * 1_000_000)
}

#[test]
fn a_lock_that_is_held_for_longer_is_found_where_cpu_time_shows_nothing() {
    let (base, test) =
        (program(1_100_000_000, &locked(1000, 10)), program(4_000_000_000, &locked(1000, 2900)));
    compared(&[base], &[test], |comparison| {
        assert_eq!(comparison.whole().time.unwrap().certain, 0.0);
        let rows = comparison.waiting();
        assert_eq!(told(comparison, &rows[0]), ("lock < main".into(), 10.0, 2900.0, true));
        let elapsed = comparison.elapsed().unwrap();
        assert_eq!((elapsed.base_ns, elapsed.test_ns, elapsed.noise), (1.1e9, 4e9, Noise::Unknown));
        let judge = |gate: &str| gate.parse::<Gate>().unwrap().judge(comparison).unwrap().fails;
        assert!(judge("elapsed>5%") && !judge("time>5%"));
    });
}

#[test]
fn a_few_long_waits_more_are_chance() {
    // Three times as long, and in two waits rather than one.
    let (base, test) = (program(1_500_000_000, &locked(1, 400)), program(2_300_000_000, &locked(2, 1200)));
    compared(&[base], &[test], |comparison| {
        let rows = comparison.waiting();
        assert_eq!(told(comparison, &rows[0]), ("lock < main".into(), 400.0, 1200.0, false));
    });
}

#[test]
fn several_runs_tell_what_waits_longer_in_each() {
    let runs = |ms: [u64; 4]| ms.map(|ms| program(1_100_000_000 + ms * 1_000_000, &locked(1, ms)));
    let (base, test) = (runs([40, 42, 41, 39]), runs([80, 83, 79, 82]));
    compared(&base, &test, |comparison| {
        let rows = comparison.waiting();
        assert_eq!(told(comparison, &rows[0]), ("lock < main".into(), 40.5, 81.0, true));
        let estimate = rows[0].change.estimate();
        assert!(estimate.low > 30.0e6 && estimate.high < 51.0e6, "{estimate:?}");
        let gate: Gate = "elapsed>1%".parse().unwrap();
        assert!(gate.judge(comparison).unwrap().fails);
    });
    let (base, test) = (runs([10, 90, 20, 60]), runs([80, 20, 90, 95]));
    compared(&base, &test, |comparison| assert!(!comparison.waiting()[0].is_finding));
}

#[test]
fn cpu_time_is_exact_where_samples_are_few() {
    let runs = |user_ms: [u64; 3]| {
        user_ms.map(|ms| {
            let mut profile = program(200_000_000, "");
            (profile.runs[0].user_ns, profile.runs[0].kernel_ns) = (ms * 1_000_000, 10_000_000);
            profile
        })
    };
    let judge = |test: [u64; 3]| {
        let mut fails = [false; 2];
        compared(&runs([200, 201, 199]), &runs(test), |comparison| {
            fails = ["cpu-time>2%", "time>2%"]
                .map(|gate| gate.parse::<Gate>().unwrap().judge(comparison).unwrap().fails);
        });
        fails
    };
    assert_eq!(judge([209, 210, 208]), [true, false]);
    assert_eq!(judge([203, 202, 204]), [false, false]);
}

#[test]
fn what_is_not_known_is_not_compared() {
    let of_a_period = |mut profile: Profile| {
        profile.runs.iter_mut().for_each(|run| run.exit = Exit::Unknown);
        profile
    };
    let plain = || program(1_100_000_000, &locked(5, 100));
    compared(&[plain()], &[of_a_period(plain())], |comparison| {
        assert!(comparison.elapsed().is_none() && comparison.in_kernel().is_none());
        let gate: Gate = "elapsed>5%".parse().unwrap();
        assert_eq!(gate.judge(comparison), Err(GateError::NotLaunched(Metric::Elapsed)));
        assert_eq!(comparison.waiting().len(), 1);
    });
    let mut imported = plain();
    imported.runs[0].clock.as_mut().unwrap().scope = None;
    compared(&[plain()], &[imported], |comparison| {
        assert!(!comparison.knows_waiting() && comparison.waiting().is_empty());
    });
}

#[test]
fn functions_that_moved_wait_as_they_did() {
    let runs = |at, ms: [u64; 2]| ms.map(|ms| stripped(at, ms));
    compared(&runs(0x1000, [400, 401]), &runs(0x1010, [400, 401]), |comparison| {
        let rows = comparison.waiting();
        assert_eq!(rows.len(), 1);
        assert_eq!(told(comparison, &rows[0]), ("lock < sketch+0x1010".into(), 400.5, 400.5, false));
        let base = rows[0].place.base.unwrap().unwrap();
        assert_eq!(Names::of(comparison.base.profile).of_place(base.caller.unwrap()), "sketch+0x1000");
    });
    compared(&runs(0x1000, [400, 401]), &runs(0x1010, [900, 901]), |comparison| {
        assert_eq!(
            told(comparison, &comparison.waiting()[0]),
            ("lock < sketch+0x1010".into(), 400.5, 900.5, true)
        );
    });
}

/// Two runs in which `lock` waits for so many ms for each of these callers: `main` at 0x1000, `work` at 0x2000.
fn called_from(callers: &[(u64, u64)]) -> [Profile; 2] {
    let wait = |(at, ms): &(u64, u64)| format!("wait 0x3002 1 {} {}\n", ms * 1_000_000, at + 6);
    let waits: String = callers.iter().map(wait).collect();
    [(); 2].map(|()| program(1_100_000_000, &waits))
}

#[test]
fn callers_that_only_one_side_has_are_not_told_apart() {
    let told = |base: &[(u64, u64)], test: &[(u64, u64)]| {
        compared(&called_from(base), &called_from(test), |comparison| {
            let mut rows: Vec<_> = comparison.waiting().iter().map(|row| told(comparison, row)).collect();
            rows.sort_by(|a, b| a.0.cmp(&b.0));
            rows
        })
    };
    let (main, work) = (0x1000, 0x2000);
    // What was called is inlined now.
    assert_eq!(told(&[(work, 400)], &[(main, 400)]), [("lock < main".into(), 400.0, 400.0, false)]);
    assert_eq!(told(&[(work, 400)], &[(main, 900)]), [("lock < main".into(), 400.0, 900.0, true)]);
    // A caller more is one.
    assert_eq!(
        told(&[(main, 400)], &[(main, 400), (work, 500)]),
        [("lock < main".into(), 400.0, 400.0, false), ("lock < work".into(), 0.0, 500.0, true)]
    );
}

#[test]
fn where_one_side_has_no_callers_none_are_compared() {
    let alone = [(); 2].map(|()| program(1_100_000_000, "wait 0x3002 1 400000000"));
    for (base, test) in
        [(called_from(&[(0x1000, 400)]), alone.clone()), (alone, called_from(&[(0x1000, 400)]))]
    {
        compared(&base, &test, |comparison| {
            let rows: Vec<_> = comparison.waiting().iter().map(|row| told(comparison, row)).collect();
            assert_eq!(rows, [("lock".into(), 400.0, 400.0, false)]);
        });
    }
}
