//! The program of the OptiWISE paper's Figure 8: a slow store, then independent arithmetic. The sample
//! counts are the paper's, taken on an Intel machine without precise events.

use timewise_flow::{Analysis, Policy};
use timewise_profile::Profile;

fn program() -> Profile {
    timewise_flow::sketch::sketch(
        "clock cpu-clock:u 2.3e9 2.3e9 2.3e9 1000000
         function main at 0x1000 size 0x80
         block head at 0x1000 runs 1 code 31c0
         block body at 0x1002 runs 500000000 code 41893496 01ce 31ce 01ce 31ce 01ce 31ce 01ce 31ce 01ce 31ce 01ce 31ce 83c201 75e1
         edge - -> head external 1
         edge head -> body fallthrough 1
         edge body -> body branch 499999999
         edge body -> - return 1
         sample 0x1002 86
         sample 0x1006 39318
         sample 0x1008 1
         sample 0x100e 100
         sample 0x1016 87",
    )
    .unwrap()
}

fn costs(policy: Policy) -> Vec<f64> {
    let profile = program();
    let analysis = Analysis::new(&profile, Some(policy));
    let ruler = &analysis.ruler;
    let cost = |cost: &timewise_flow::Cost| ruler.each(ruler.cycles(cost), cost.instructions).unwrap().value;
    analysis.by_instruction().iter().map(cost).collect()
}

#[test]
fn the_store_is_charged_and_the_addition_behind_it_is_not() {
    let costs = costs(Policy::Predecessor);
    let (store, addition) = (costs[1], costs[2]);
    assert!((store - 39_318.0 * 2.3e6 / 500e6).abs() < 1e-6, "{store}");
    assert!(addition < 0.01);
    assert!(costs.iter().skip(2).all(|&cost| cost < store / 100.0));
}

#[test]
fn as_sampled_the_addition_seems_slow() {
    let costs = costs(Policy::Sampled);
    assert!(costs[2] > 100.0 * costs[1]);
}
