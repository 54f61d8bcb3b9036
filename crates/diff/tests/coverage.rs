//! Limits hold the true change as often as they say, and unchanged code is named as seldom, on simulated runs whose
//! true times are known.

use timewise_diff::{Change, Comparison, Difference, Grain};
use timewise_flow::Analysis;
use timewise_flow::sketch::sketch;
use timewise_profile::Profile;

/// Samples that each function is expected to get in a run of BASE.
const SAMPLES: [f64; 6] = [300.0, 150.0, 80.0, 40.0, 10.0, 3.0];

/// Rounds of the loop in each function.
const ROUNDS: f64 = 1_000_000.0;

const NS_PER_SAMPLE: f64 = 250_000.0;

/// A program that differs from BASE by factors.
#[derive(Clone, Copy)]
struct Version {
    /// Rounds of each function's loop.
    rounds: [f64; 6],
    /// Cost of a round.
    cost: [f64; 6],
}

const BASE: Version = Version { rounds: [1.0; 6], cost: [1.0; 6] };

/// The second function goes round a tenth more often, in the third a round costs a fifth more.
const CHANGED: Version =
    Version { rounds: [1.0, 1.1, 1.0, 1.0, 1.0, 1.0], cost: [1.0, 1.0, 1.2, 1.0, 1.0, 1.0] };

/// How runs of the same program differ: standard deviations of logarithms.
#[derive(Clone, Copy)]
struct Noise {
    /// Of the whole run.
    machine: f64,
    /// Of each function.
    function: f64,
    /// Of the rounds that each function's loop makes.
    rounds: f64,
}

/// Steele, Lea and Flood's generator (2014): enough for a simulation.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// The number of events in a time in which so many are expected.
    fn poisson(&mut self, expected: f64) -> u64 {
        let mut time = -(1.0 - self.uniform()).ln();
        let mut events = 0;
        while time < expected {
            events += 1;
            time -= (1.0 - self.uniform()).ln();
        }
        events
    }
}

fn run(version: &Version, noise: Noise, random: &mut Random) -> Profile {
    let mut text = String::from("clock cpu-clock:u 3e9 3e9 3e9 250000\n");
    let machine = noise.machine * random.normal();
    for (index, samples) in SAMPLES.iter().enumerate() {
        let at = 0x1000 * (index + 1);
        let mut more = || (noise.rounds * random.normal()).exp();
        // The sampling run and the counting run differ as any two runs do.
        let (sampled_rounds, counted_rounds) =
            (version.rounds[index] * more(), version.rounds[index] * more());
        let slower = (machine + noise.function * random.normal()).exp();
        let sampled = random.poisson(samples * sampled_rounds * version.cost[index] * slower);
        let rounds = (ROUNDS * counted_rounds) as u64;
        text += &format!(
            "function f{index} at {at:#x} size 0x40
             block b{index} at {at:#x} runs {rounds} code 488b3433 4883c001 75eb
             edge b{index} -> b{index} branch {rounds}
             sample {:#x} {sampled}\n",
            at + 4
        );
    }
    sketch(&text).unwrap()
}

fn side(version: &Version, noise: Noise, runs: usize, random: &mut Random) -> Profile {
    let mut profile = run(version, noise, random);
    (1..runs).for_each(|_| profile.append(run(version, noise, random)));
    profile
}

/// What was seen of so many comparisons.
#[derive(Default, Debug)]
struct Seen {
    limits: f64,
    holding: f64,
    comparisons: f64,
    /// Comparisons in which an unchanged function was named.
    alarms: f64,
}

fn compare_often(test: Version, noise: Noise, runs: usize) -> Seen {
    const COMPARISONS: usize = 200;
    let mut random = Random(1);
    let mut seen = Seen { comparisons: COMPARISONS as f64, ..Seen::default() };
    for _ in 0..COMPARISONS {
        let (base, new) = (side(&BASE, noise, runs, &mut random), side(&test, noise, runs, &mut random));
        let (base, new) = (Analysis::new(&base, None), Analysis::new(&new, None));
        let comparison = Comparison::new(&base, &new).unwrap();
        let mut is_alarm = false;
        for row in comparison.rows(Grain::Function) {
            let name = comparison.base.name_of(row.what.base.unwrap().function(comparison.base).unwrap());
            let index: usize = name.strip_prefix('f').unwrap().parse().unwrap();
            is_alarm |= row.is_finding && test.rounds[index] * test.cost[index] == 1.0;
            for holds in of_row(&row.change, &test, index) {
                seen.limits += 1.0;
                seen.holding += f64::from(u8::from(holds));
            }
        }
        seen.alarms += f64::from(u8::from(is_alarm));
    }
    seen
}

/// Whether the limits of the change and of both its parts hold the truth. Those of a part that cannot have
/// changed are no limits.
fn of_row(change: &Change, test: &Version, index: usize) -> Vec<bool> {
    let (rounds, cost) = (test.rounds[index], test.cost[index]);
    let time = SAMPLES[index] * NS_PER_SAMPLE;
    let holds = |part: Option<Difference>, truth: f64| {
        let estimate = part.unwrap().estimate();
        estimate.low <= truth * time && truth * time <= estimate.high
    };
    let mut all = vec![holds(change.time, rounds * cost - 1.0), holds(change.by_cost, rounds * (cost - 1.0))];
    if rounds != 1.0 {
        all.push(holds(change.by_count, rounds - 1.0));
    }
    all
}

/// Rows of one comparison share the machine's noise, so the shares themselves are known to a per cent or two.
#[track_caller]
fn check(noise: Noise, runs: usize) {
    let seen = compare_often(CHANGED, noise, runs);
    assert!(seen.holding >= 0.93 * seen.limits, "too narrow: {seen:?}");
    assert!(seen.alarms <= 0.02 * seen.comparisons, "too many alarms: {seen:?}");
}

#[test]
fn of_single_runs_within_the_assumed_noise() {
    check(Noise { machine: 0.15, function: 0.1, rounds: 0.0 }, 1);
}

#[test]
fn of_several_runs_on_a_quiet_machine() {
    check(Noise { machine: 0.005, function: 0.005, rounds: 0.0 }, 3);
}

#[test]
fn of_several_runs_on_a_machine_that_many_share() {
    check(Noise { machine: 0.1, function: 0.03, rounds: 0.0 }, 3);
    check(Noise { machine: 0.05, function: 0.05, rounds: 0.0 }, 4);
}

#[test]
fn of_several_runs_that_execute_something_else_each_time() {
    check(Noise { machine: 0.02, function: 0.02, rounds: 0.05 }, 3);
}
