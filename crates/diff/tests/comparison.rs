//! Comparisons of small profiles written by hand.

use timewise_diff::{Both, Comparison, Gate, Grain, Noise, Thing};
use timewise_flow::Analysis;
use timewise_flow::sketch::sketch;
use timewise_profile::{Exit, Line, Offset, Place, Profile};

/// A program with a hot loop in `work` and some time in `main`: so many rounds, samples on the loop's load and
/// in `main`, and further lines.
fn program(rounds: u64, load: u64, main: u64, more: &str) -> Profile {
    sketch(&format!(
        "clock cpu-clock:u 3e9 3e9 3e9 250000
         function main at 0x1000 size 0x40 file a.c line 1
         function work at 0x2000 size 0x40 file a.c line 9
         block start at 0x1000 runs 1 code 31c0 90
         block head at 0x2000 runs 1 code 4831c9
         block body at 0x2003 runs {rounds} code 488b3433 4883c001 75eb
         block tail at 0x200d runs 1 code c3
         edge - -> start external 1
         edge start -> head fallthrough 1
         edge head -> body fallthrough 1
         edge body -> body branch {}
         edge body -> tail fallthrough 1
         line 0x1000 /src/a.c 2
         line 0x2000 /src/a.c 10
         line 0x2003 /src/a.c 11
         sample 0x1002 {main}
         sample 0x2007 {load}
         {more}",
        rounds - 1
    ))
    .unwrap()
}

fn compared<T>(base: &Profile, test: &Profile, with: impl FnOnce(&Comparison) -> T) -> T {
    let (base, test) = (Analysis::new(base, None), Analysis::new(test, None));
    with(&Comparison::new(&base, &test).unwrap())
}

const GRAINS: [Grain; 4] = [Grain::Function, Grain::Loop, Grain::Instruction, Grain::Line];

fn named(analysis: &Analysis, thing: Option<Thing>) -> Option<String> {
    thing?.function(analysis).map(|id| analysis.name_of(id))
}

#[test]
fn a_profile_compared_with_itself_has_not_changed() {
    let profile = program(1_000_000, 5000, 500, "");
    compared(&profile, &profile, |comparison| {
        let rows = GRAINS.into_iter().flat_map(|grain| comparison.rows(grain)).map(|row| row.change);
        for change in rows.chain([comparison.whole()]) {
            let by_count = change.by_count.unwrap();
            assert_eq!((by_count.estimate().low, by_count.estimate().high), (0.0, 0.0), "{change:?}");
            assert_eq!((change.time.unwrap().estimate().value, change.certain()), (0.0, 0.0), "{change:?}");
            let (base, test) = change.instructions.unwrap();
            assert_eq!(base, test);
        }
        assert_eq!(comparison.noise, Noise::Unknown);
    });
}

/// Of a build without debug information nothing says that its lines are gone, or that those of the other are new.
#[test]
fn lines_that_one_side_alone_knows_have_no_rows() {
    let known = program(1_000_000, 5000, 500, "");
    let stripped = Profile { lines: Vec::new(), ..program(1_000_000, 5000, 500, "") };
    // Of one function alone, as of one that was compiled without.
    let mut partly = program(1_000_000, 5000, 500, "");
    let of_work = partly.lines.iter_mut().filter(|line| line.place.offset.0 >= 0x2000);
    of_work.for_each(|line| line.file = None);
    let lines = |base: &Profile, test: &Profile| {
        compared(base, test, |comparison| {
            let rows = comparison.rows(Grain::Line).into_iter().map(|row| (row.what.base, row.what.test));
            let number = |of: Option<Thing>| match of {
                Some(Thing::Line((_, line))) => Some(line.line),
                _ => None,
            };
            rows.map(|(base, test)| (number(base), number(test))).collect::<Vec<_>>()
        })
    };
    assert_eq!(lines(&known, &stripped), []);
    assert_eq!(lines(&stripped, &known), []);
    assert_eq!(lines(&known, &partly), [(Some(2), Some(2))]);
    assert_eq!(lines(&partly, &known), [(Some(2), Some(2))]);
}

/// Of a file that stayed as it was a line's code may be compiled into another's function: each line remains itself.
#[test]
fn lines_of_a_file_that_did_not_change_stay_themselves() {
    let lines = |[load, add, branch]: [u32; 3]| {
        let all = [(0x2003, load), (0x2007, add), (0x200b, branch), (0x200d, 15)];
        let mut profile = program(1_000_000, 5000, 500, "");
        // Behind those of `main` and of what comes before the loop.
        let last = profile.lines.pop().unwrap();
        let row =
            |(offset, line)| Line { place: Place { offset: Offset(offset), ..last.place }, line, ..last };
        profile.lines.extend(all.map(row));
        profile
    };
    let (base, test) = (lines([12, 11, 11]), lines([11, 11, 12]));
    let pairs = |base: &Profile, test: &Profile| {
        compared(base, test, |comparison| {
            let number = |of: Option<Thing>| match of? {
                Thing::Line((_, line)) => Some(line.line),
                _ => None,
            };
            let rows = comparison.rows(Grain::Line).into_iter();
            let mut pairs: Vec<_> = rows.map(|row| (number(row.what.base), number(row.what.test))).collect();
            pairs.sort_unstable();
            pairs
        })
    };
    let same = |lines: &[u32]| lines.iter().map(|&line| (Some(line), Some(line))).collect::<Vec<_>>();
    assert_eq!(pairs(&base, &test), same(&[2, 10, 11, 12, 15]));
    // With two lines more above `work`, those below are the same two further down.
    let moved = |line: u32| if line >= 10 { line + 2 } else { line };
    let mut test = base.clone();
    test.lines.iter_mut().for_each(|line| line.line = moved(line.line));
    let expected: Vec<_> = [2, 10, 11, 12, 15].map(|line| (Some(line), Some(moved(line)))).into();
    assert_eq!(pairs(&base, &test), expected);
}

#[test]
fn more_rounds_at_the_same_cost_are_a_change_by_count() {
    let (base, test) = (program(1_000_000, 5000, 500, ""), program(1_200_000, 6000, 500, ""));
    compared(&base, &test, |comparison| {
        let row = comparison.rows(Grain::Function)[0];
        assert_eq!(named(comparison.test, row.what.test).as_deref(), Some("work"));
        assert!(row.is_finding);
        let (by_count, by_cost) = (row.change.by_count.unwrap(), row.change.by_cost.unwrap());
        // A fifth of 5000 samples of 250 µs.
        assert!((by_count.estimate().value - 250e6).abs() < 1e3, "{by_count:?}");
        assert!(by_count.certain > 0.0);
        assert!(by_cost.estimate().value.abs() < 1e3 && by_cost.certain == 0.0, "{by_cost:?}");
        let time = row.change.time.unwrap();
        let parts = by_count.estimate().value + by_cost.estimate().value;
        assert!((time.estimate().value - parts).abs() < 1e3, "{time:?}");
        assert!(comparison.rows(Grain::Loop)[0].is_finding);
    });
}

#[test]
fn a_dearer_load_is_a_change_by_cost_if_it_is_more_than_noise() {
    let base = program(1_000_000, 5000, 500, "");
    let by_cost = |load| {
        let test = program(1_000_000, load, 500, "");
        compared(&base, &test, |comparison| {
            let row = comparison.rows(Grain::Instruction)[0];
            let change = row.change;
            assert_eq!(change.by_count.unwrap().estimate().value, 0.0);
            (row.is_finding, change.by_cost.unwrap().certain)
        })
    };
    assert_eq!(by_cost(5600), (false, 0.0), "runs differ by as much");
    let (is_finding, certain) = by_cost(40_000);
    assert!(is_finding && certain > 0.0);
    let (is_finding, certain) = by_cost(500);
    assert!(is_finding && certain < 0.0);
}

#[test]
fn time_that_moved_within_a_function_is_no_finding_of_one_run_each() {
    let at = |load, next| program(1_000_000, load, 500, &format!("sample 0x200b {next}"));
    let is_found = |base: &Profile, test: &Profile| {
        compared(base, test, |comparison| {
            comparison.rows(Grain::Instruction).iter().any(|row| row.is_finding)
        })
    };
    assert!(!is_found(&at(4000, 1000), &at(500, 4500)));
    assert!(is_found(&at(4000, 1000), &at(4000, 20_000)), "the function is slower");
    let twice = |load, next| {
        let mut profile = at(load, next);
        profile.append(at(load, next));
        profile
    };
    assert!(is_found(&twice(4000, 1000), &twice(500, 4500)), "runs do not differ by themselves");
}

/// Three samples against one are chance, of one run on each side and of several that happen to have as many each.
#[test]
fn of_few_samples_the_whole_is_not_certain() {
    for runs in [1, 2] {
        let side = |samples: u64| {
            let run = || program(1_000_000, samples, 0, "");
            let mut side = run();
            (1..runs).for_each(|_| side.append(run()));
            side
        };
        compared(&side(1), &side(3), |comparison| {
            let estimate = comparison.whole().time.unwrap().estimate();
            assert!(estimate.low < 0.0 && estimate.high > estimate.value, "{runs}: {estimate:?}");
        });
    }
}

#[test]
fn several_runs_measure_the_noise() {
    let side = |loads: [u64; 4]| {
        let mut runs = loads.map(|load| program(1_000_000, load, 500, "")).into_iter();
        let mut profile = runs.next().unwrap();
        runs.for_each(|run| profile.append(run));
        profile
    };
    let steady = side([5000, 5010, 4990, 5000]);
    let slower = side([5600, 5590, 5610, 5600]);
    compared(&steady, &slower, |comparison| {
        assert!(matches!(comparison.noise, Noise::Measured(share) if share < 0.01), "{:?}", comparison.noise);
        assert!(comparison.rows(Grain::Function)[0].is_finding, "what one run each could not tell");
        assert!("time>5%".parse::<Gate>().unwrap().judge(comparison).unwrap().fails);
        assert!(!"time>15%".parse::<Gate>().unwrap().judge(comparison).unwrap().fails);
    });
    let unsteady = (side([4000, 6000, 5000, 5500]), side([5600, 4600, 6600, 5600]));
    compared(&unsteady.0, &unsteady.1, |comparison| {
        assert!(matches!(comparison.noise, Noise::Measured(share) if share > 0.05), "{:?}", comparison.noise);
        assert!(!comparison.rows(Grain::Function)[0].is_finding);
        assert!(!"time>5%".parse::<Gate>().unwrap().judge(comparison).unwrap().fails);
    });
}

#[test]
fn new_and_vanished_functions_are_shown_with_their_time() {
    let extra = "function added at 0x3000 size 0x10
         block added at 0x3000 runs 1000 code 90 c3
         edge body -> added call 1000
         sample 0x3001 400";
    let (base, test) = (program(1_000_000, 5000, 500, ""), program(1_000_000, 5000, 500, extra));
    let is_added = |analysis: &Analysis, what: Both<Thing>| {
        named(analysis, what.test).or(named(analysis, what.base)).as_deref() == Some("added")
    };
    compared(&base, &test, |comparison| {
        let row = comparison.rows(Grain::Function)[0];
        assert!(row.is_finding && row.what.base.is_none());
        assert_eq!(named(comparison.test, row.what.test).as_deref(), Some("added"));
        assert_eq!(row.change.instructions, Some((0, 2000)));
        let by_count = row.change.by_count.unwrap();
        assert!((by_count.estimate().value - 100e6).abs() < 1e3 && by_count.certain > 0.0, "{by_count:?}");
    });
    compared(&test, &base, |comparison| {
        let row = comparison.rows(Grain::Function)[0];
        assert!(
            row.is_finding
                && row.what.test.is_none()
                && is_added(comparison.base, Both { test: None, ..row.what })
        );
        assert!(row.change.by_count.unwrap().certain < 0.0);
    });
}

#[test]
fn code_that_moved_is_the_same_code() {
    let base = program(1_000_000, 5000, 500, "");
    let mut moved = base.clone();
    moved.modules[0].path = b"/other/sketch".to_vec();
    let shift =
        |offset: &mut timewise_profile::Offset| offset.0 += if offset.0 >= 0x2000 { 0x770 } else { 0x40 };
    moved.functions.iter_mut().for_each(|function| shift(&mut function.place.offset));
    moved.blocks.iter_mut().for_each(|block| shift(&mut block.place.offset));
    moved.lines.iter_mut().for_each(|line| shift(&mut line.place.offset));
    for sample in &mut moved.samples {
        sample.place.iter_mut().for_each(|place| shift(&mut place.offset));
    }
    let unnamed = |profile: &Profile| Profile { functions: Vec::new(), ..profile.clone() };
    for (base, test) in [(base.clone(), moved.clone()), (unnamed(&base), unnamed(&moved))] {
        compared(&base, &test, |comparison| {
            let rows = comparison.rows(Grain::Instruction);
            let alone = rows.iter().filter(|row| row.what.base.is_none() || row.what.test.is_none()).count();
            assert_eq!(alone, 0);
        });
    }
}

#[test]
fn gates_of_functions_and_instructions() {
    let (base, test) = (program(1_000_000, 5000, 500, ""), program(1_200_000, 6000, 500, ""));
    compared(&base, &test, |comparison| {
        let judged = |gate: &str| gate.parse::<Gate>().unwrap().judge(comparison);
        assert!(judged("instructions>19%").unwrap().fails && !judged("instructions>20%").unwrap().fails);
        assert!(judged("function:work time-by-count>5%").unwrap().fails);
        assert!(!judged("function:main instructions>0%").unwrap().fails);
        assert!(judged("time-by-count>5%").unwrap().fails);
        assert!(!judged("time>2%").unwrap().fails, "one run each: noise is unknown");
        assert!(judged("function:nothing time>1%").is_err());
    });
    compared(&base, &program(1_000_000, 9000, 900, ""), |comparison| {
        let verdict = "time>2%".parse::<Gate>().unwrap().judge(comparison).unwrap();
        assert!(
            !verdict.fails && verdict.growth.low < 0.02 && verdict.confidence > 0.995,
            "{verdict:?}: one comparison in forty may say so"
        );
        // What would be seen is what is then judged so.
        assert!(verdict.growth.value < verdict.least_seen, "{verdict:?}");
        let judged = |share: f64| {
            let load = 5500.0 * (1.0 + verdict.least_seen * share) - 900.0;
            compared(&base, &program(1_000_000, load as u64, 900, ""), |comparison| {
                "time>2%".parse::<Gate>().unwrap().judge(comparison).unwrap().fails
            })
        };
        assert_eq!([0.99, 1.01].map(judged), [false, true]);
    });
    compared(&base, &program(1_000_000, 40_000, 500, ""), |comparison| {
        assert!("time>2%".parse::<Gate>().unwrap().judge(comparison).unwrap().fails);
    });
}

/// What `timewise annotate` takes for a name, on either side.
#[test]
fn gates_take_short_names_of_functions_and_places() {
    let named = |profile: &Profile, work: &str| {
        let mut profile = profile.clone();
        profile.functions[1].name = work.into();
        profile
    };
    let (base, test) = (program(1_000_000, 5000, 500, ""), program(1_200_000, 6000, 500, ""));
    let judged = |base: &Profile, test: &Profile, name: &str| {
        let gate: Gate = format!("function:{name} instructions>5%").parse().unwrap();
        compared(base, test, |comparison| gate.judge(comparison))
    };
    let long = named(&test, "ns::work(long)");
    for name in ["ns::work(long)", "ns::work", "work", "sketch+0x2000", "sketch+0x2007", "/bin/sketch+0x2000"]
    {
        let verdict = judged(&named(&base, "ns::work(long)"), &long, name);
        assert!(verdict.is_ok_and(|verdict| verdict.fails), "{name}");
    }
    let unknown = judged(&base, &long, "wor").unwrap_err().to_string();
    let meant = "did you mean ns::work(long) or work?";
    assert_eq!(unknown, format!("no function 'wor' was executed or sampled in either profile; {meant}"));
    let unknown = judged(&base, &long, "nothing").unwrap_err().to_string();
    assert!(unknown.ends_with("either profile; timewise diff lists all as JSON or CSV"), "{unknown}");
    // Of those that one short name means the worst counts, but one that is called just so is the only one meant.
    let overloaded = |profile: &Profile, main: &str| {
        let mut profile = named(profile, "ns::work(long)");
        profile.functions[0].name = main.into();
        profile
    };
    for (main, fails) in [("ns::work(int)", true), ("ns::work", false)] {
        let verdict = judged(&overloaded(&base, main), &overloaded(&test, main), "ns::work");
        assert_eq!(verdict.map(|verdict| verdict.fails), Ok(fails), "{main}");
    }
}

/// A compiler may make a clone of a function in one build and not in the other.
#[test]
fn clones_are_the_functions_that_they_were_made_of() {
    let named = |work: &str, mangled: &str| {
        let mut profile = program(1_000_000, 5000, 500, "");
        (profile.functions[1].name, profile.functions[1].symbol) = (work.into(), mangled.into());
        profile
    };
    // Code of another length has nothing but its name in common.
    let other = |profile: Profile| {
        let mut profile = profile;
        for block in &mut profile.blocks {
            block.code = vec![0x90; block.code.len()];
        }
        profile
    };
    let plain = "long ns::mix<long>(P const&, int)";
    let clone = "long ns::mix<long>(P const&, int) [clone .constprop.0]";
    let base = named(clone, "_ZN2ns3mixIlEElRK1Pi.constprop.0");
    let test = other(named(plain, "_ZN2ns3mixIlEElRK1Pi"));
    for (base, test) in [(&base, &test), (&test, &base)] {
        compared(base, test, |comparison| {
            let rows = comparison.rows(Grain::Function);
            assert!(rows.iter().all(|row| row.what.base.is_some() && row.what.test.is_some()), "{rows:?}");
        });
    }
    let judged = |of: &str, mangled: &str, name: &str| {
        let profile = named(of, mangled);
        let gate: Gate = format!("function:{name} instructions>1%").parse().unwrap();
        compared(&profile, &profile, |comparison| gate.judge(comparison).is_ok())
    };
    for name in ["mix", "ns::mix", "mix<long>", plain, clone] {
        assert!(judged(clone, "_ZN2ns3mixIlEElRK1Pi.constprop.0", name), "{name}");
    }
    assert!(judged("compress.part.0", "compress.part.0", "compress"));
    for (of, name) in [("compress.part.0", "press"), ("f.constprop.0.cold", "f")] {
        assert!(!judged(of, of, name), "{name}");
    }
}

/// Copies of a loop that was inlined twice may stand in another order in the next build.
#[test]
fn copies_of_a_loop_keep_their_counts() {
    let inlined = |[first, second]: [u64; 2]| {
        let copy = |name: &str, at: u64, entries: u64, rounds: u64| {
            format!(
                "block {name} at {at:#x} runs {rounds} code 488b3433 4883c001 75eb
                 edge {name} -> {name} branch {}
                 line {at:#x} /src/a.c 11\n",
                rounds - entries
            )
        };
        let more = copy("one", 0x3001, 1, first) + &copy("other", 0x300c, 1, second);
        let more = more
            + "function twice at 0x3000 size 0x40 file a.c line 9
               block enter at 0x3000 runs 1 code 90
               block between at 0x300b runs 1 code 90
               block leave at 0x3016 runs 1 code c3
               edge enter -> one fallthrough 1
               edge one -> between fallthrough 1
               edge between -> other fallthrough 1
               edge other -> leave fallthrough 1
               line 0x3000 /src/a.c 9
               line 0x300b /src/a.c 12
               line 0x3016 /src/a.c 13";
        program(10, 50, 50, &more)
    };
    let changed = |base, test| {
        compared(&inlined(base), &inlined(test), |comparison| {
            let loops = comparison.rows(Grain::Loop).into_iter().map(|row| row.change.instructions.unwrap());
            let mut loops: Vec<(u64, u64)> = loops.filter(|(base, test)| base != test).collect();
            loops.sort_unstable();
            let rows = comparison.rows(Grain::Instruction).into_iter();
            let instructions = rows.filter(|row| {
                let (base, test) = row.change.instructions.unwrap();
                base != test
            });
            (loops, instructions.count())
        })
    };
    assert_eq!(changed([1000, 7000], [7000, 1000]), (vec![], 0));
    assert_eq!(changed([1000, 7000], [7000, 1010]), (vec![(3000, 3030)], 3));
    // All ran twice as often, so that one ran as often as the other did.
    assert_eq!(changed([1000, 2000], [2000, 4000]), (vec![(3000, 6000), (6000, 12_000)], 6));
}

/// What crashed after half of the work is no faster.
#[test]
fn gates_do_not_judge_what_ended_otherwise() {
    let ended = |exits: [Exit; 2]| {
        let mut profile = program(1_000_000, 5000, 500, "");
        profile.runs.iter_mut().zip(exits).for_each(|(run, exit)| run.exit = exit);
        profile
    };
    let (fine, crashed) = (Exit::Code(0), Exit::Signal(11));
    let judged = |base, test| {
        let gate: Gate = "instructions>1%".parse().unwrap();
        compared(&ended(base), &ended(test), |comparison| gate.judge(comparison).map(|verdict| verdict.fails))
    };
    assert_eq!(judged([fine; 2], [fine, Exit::Unknown]), Ok(false));
    assert_eq!(judged([crashed; 2], [crashed; 2]), Ok(false), "as programs end that never do by themselves");
    assert_eq!(judged([fine, crashed], [crashed; 2]), Ok(false), "what base does, too");
    let told = judged([fine; 2], [fine, crashed]).unwrap_err().to_string();
    assert!(told.starts_with("test was ended by signal 11, base ended with status 0: "), "{told}");
}

#[test]
fn no_time_shrinks_by_more_than_all_of_it() {
    let (base, test) = (program(1_000_000, 5, 5, ""), program(1_000_000, 4, 4, ""));
    compared(&base, &test, |comparison| {
        let change = comparison.whole();
        let (limits, old) = (change.time.unwrap().all.estimate, change.amounts.unwrap().0);
        assert!(limits.low < -old, "{limits:?}: else this tests nothing");
        let growth = "time>2%".parse::<Gate>().unwrap().judge(comparison).unwrap().growth;
        assert_eq!((growth.low, growth.high), (-1.0, limits.high / old));
    });
}

/// A side whose runs used as much time, but lost samples of so many nanoseconds of it.
fn lossy(load: u64, main: u64, missing_ns: u64) -> Profile {
    let mut profile = program(1_000_000, load, main, "");
    profile.runs[0].user_ns = (load + main) * 250_000 + missing_ns;
    profile.runs[0].lost_samples = missing_ns / 250_000;
    let mut runs = profile.clone();
    (1..3).for_each(|_| runs.append(profile.clone()));
    runs
}

/// Whoever loses samples seems to be as much faster, everywhere or in one place.
#[test]
fn time_of_lost_samples_is_neither_gained_nor_spent() {
    let whole = lossy(5000, 500, 0);
    let found = |base: &Profile, test: &Profile| {
        compared(base, test, |comparison| {
            let judged = |gate: &str| gate.parse::<Gate>().unwrap().judge(comparison).map(|one| one.fails);
            let estimate = comparison.whole().time.unwrap().estimate();
            let is_found = GRAINS.map(|grain| comparison.rows(grain).iter().any(|row| row.is_finding));
            (
                is_found.contains(&true),
                estimate.low < 0.0 && estimate.high > 0.0,
                judged("time>5%").map_err(|why| why.to_string()),
                judged("function:work time-by-count>5%").is_err(),
                judged("instructions>0%").is_err(),
            )
        })
    };
    let halved = lossy(2500, 250, 2750 * 250_000);
    for (base, test, side) in [(&whole, &halved, "TEST"), (&halved, &whole, "BASE")] {
        let (is_found, holds_zero, time, by_count, instructions) = found(base, test);
        assert!(!is_found && holds_zero && by_count && !instructions);
        assert!(time.unwrap_err().contains(&format!("samples of 50 % of {side}'s time were lost")));
    }
    // Three in a hundred are as many more or less, no matter where.
    let few = lossy(4835, 500, 165 * 250_000);
    for (base, test) in [(&whole, &few), (&few, &whole)] {
        assert_eq!(found(base, test), (false, true, Ok(false), false, false));
    }
    // What took half as long again, did so whatever was lost.
    let (is_found, holds_zero, time, ..) = found(&few, &lossy(7500, 500, 165 * 250_000));
    assert!(is_found && !holds_zero);
    assert_eq!(time, Ok(true));
}
