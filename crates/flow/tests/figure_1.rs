//! The program of the OptiWISE paper's Figure 1: a load that misses the caches before an inner loop of
//! cheap instructions. Samples are those of an AMD Zen 4 machine at 4 kHz, where the sampled instruction
//! is the one after the cause.

use timewise_flow::{Analysis, Policy};
use timewise_profile::{CodeVersion, ModuleId, Offset, Place, Profile};

const LOAD: u64 = 0x1006;
const BACK_EDGE: u64 = 0x1023;

/// 1,000,000 rounds outside and 256 inside; `padding` stands between the load and the loop.
fn program(padding: &str, samples: &str) -> Profile {
    let text = format!(
        "clock cpu-clock:u 3.5e9 3.4e9 3.6e9 250000
         function main at 0x1000 size 0x40 file fig1.c line 9
         block outer at 0x1000 runs 1000000 code 48c1e606 31c0 488b3433 {padding}
         block inner at 0x1010 runs 256000000 code 4889f1 4831c1 4801ca 4883c001 483d00010000 75eb
         block latch at 0x1025 runs 1000000 code 4883c701 4839fd 75d0
         edge - -> outer external 1
         edge outer -> inner fallthrough 1000000
         edge inner -> inner branch 255000000
         edge inner -> latch fallthrough 1000000
         edge latch -> outer branch 999999
         edge latch -> - return 1
         {samples}"
    );
    timewise_flow::sketch::sketch(&text).unwrap()
}

fn cycles_each(analysis: &Analysis, offset: u64) -> f64 {
    let place = Place { module: ModuleId(0), version: CodeVersion(0), offset: Offset(offset) };
    let id = analysis.code.instruction_at(place).unwrap();
    let cost = analysis.by_instruction()[id.index()];
    let ruler = &analysis.ruler;
    ruler.each(ruler.cycles(&cost), cost.instructions).unwrap().value
}

/// Each load costs 1035 samples × 0.25 ms × 3.5 GHz / 1,000,000 = 906 cycles.
#[test]
fn the_load_stands_out_with_a_skid_of_one_instruction() {
    let profile = program("0f1f840000000000", "sample 0x100a 1035\nsample 0x1016 516\nsample 0x1023 2");
    let analysis = Analysis::new(&profile, None);
    assert_eq!(analysis.policy, Policy::Predecessor);
    assert!((cycles_each(&analysis, LOAD) - 905.6).abs() < 0.1);
    assert!((cycles_each(&analysis, 0x1013) - 1.764).abs() < 0.001);
    assert_eq!(cycles_each(&analysis, 0x1016), 0.0);
}

#[test]
fn executions_and_loops_are_exact() {
    let profile = program("0f1f840000000000", "");
    let analysis = Analysis::new(&profile, None);
    let counts: Vec<u64> = analysis.code.blocks.iter().map(|block| block.executions).collect();
    assert_eq!(counts, [1_000_000, 256_000_000, 1_000_000]);
    let loops: Vec<(u32, u64, u64)> =
        analysis.forest.loops.iter().map(|one| (one.depth, one.invocations, one.iterations)).collect();
    assert_eq!(loops, [(1, 1, 1_000_000), (2, 1_000_000, 256_000_000)]);
    let totals: Vec<u64> = analysis.by_loop_total().iter().map(|cost| cost.instructions).collect();
    let own: Vec<u64> = analysis.by_loop_self().iter().map(|cost| cost.instructions).collect();
    assert_eq!(own, [7_000_000, 1_536_000_000]);
    assert_eq!(totals, [1_543_000_000, 1_536_000_000]);
}

/// The load is the last instruction before the header, so its samples fall on the header. By count
/// alone it would get one of 256 of them: 3.5 cycles.
#[test]
fn a_load_right_before_the_header_keeps_its_samples() {
    for inner_head in [0, 60] {
        let samples = format!("sample 0x1010 {}\nsample 0x1016 516", 1035 + inner_head);
        let profile = program("", &samples);
        let analysis = Analysis::new(&profile, None);
        let load = cycles_each(&analysis, LOAD);
        assert!(load > 0.6 * 905.6 && load < 1.1 * 905.6, "{load}");
        for cheap in [0x1010, 0x1013, 0x1016, 0x1019, 0x101d, BACK_EDGE] {
            assert!(10.0 * cycles_each(&analysis, cheap) < load, "{cheap:#x}");
        }
        let outer = analysis.by_loop_self()[0];
        let interval = analysis.ruler.cycles(&outer);
        assert!(interval.low < 905.6e6 && interval.high > 905.6e6, "{interval:?}");
    }
}

/// The header is slow by itself and the load is cheap: every round of the inner loop then waits
/// there, and the load is not blamed for it beyond its share.
#[test]
fn a_busy_header_is_not_blamed_on_a_cheap_load() {
    let profile = program("", "sample 0x1010 120\nsample 0x1016 140");
    let analysis = Analysis::new(&profile, None);
    // 120 samples are 0.41 cycles a round, less than the branch alone is expected to cost.
    assert!((cycles_each(&analysis, BACK_EDGE) - 0.41).abs() < 0.02);
    assert!(cycles_each(&analysis, LOAD) < 5.0);
}

#[test]
fn precise_samples_stay_where_they_are() {
    let profile = program("0f1f840000000000", "sample 0x1006 1035");
    let analysis = Analysis::new(&profile, Some(Policy::Sampled));
    assert!((cycles_each(&analysis, LOAD) - 905.6).abs() < 0.1);
}
