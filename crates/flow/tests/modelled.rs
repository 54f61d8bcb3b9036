//! What a modelled core spent, by what the code does.

use timewise_flow::Analysis;
use timewise_flow::sketch::sketch;
use timewise_profile::{
    CommitState, CoreEvents, Place, Profile, RunId, SimulatedPart, Simulation, SimulationId, StackComponent,
};

/// A simulation that spent so many cycles at each of these places.
fn simulated(profile: &mut Profile, cycles: &[(u64, u64)]) {
    let (run, core, part) = (RunId(0), "toy-core".to_string(), SimulatedPart::ALL);
    let all = cycles.iter().map(|(_, cycles)| cycles).sum();
    profile.simulations.push(Simulation {
        run,
        core,
        core_hash: 1,
        part,
        executed: None,
        instructions: 0,
        cycles: all,
    });
    for &(offset, cycles) in cycles {
        let mut place: Place = profile.blocks[0].place;
        place.offset.0 = offset;
        let (state, events) = (CommitState::Stalled, CoreEvents(0));
        let parts = cycles * StackComponent::PARTS_OF_A_CYCLE;
        let simulation = SimulationId(0);
        profile.cycle_stacks.push(StackComponent { simulation, place, state, events, parts });
    }
}

#[test]
fn loops_with_pause_wait() {
    // pause; cmp dword [rsi],0; jne, and behind it xor rcx,rax; cmp; jne and pause; ret
    let text = "clock cpu-clock:u 1e9 1e9 1e9 1000000
        function f at 0x1000 size 0x100
        block waits at 0x1000 runs 100 code f390 833e00 75f9
        block works at 0x1007 runs 100 code 4831c1 833e00 75f8
        block last at 0x100f runs 1 code f390 c3
        edge - -> waits external 1
        edge waits -> waits branch 99
        edge waits -> works fallthrough 1
        edge works -> works branch 99
        edge works -> last fallthrough 1
        edge last -> - return 1";
    let mut profile = sketch(text).unwrap();
    // Two instructions of the first loop, two of the second, a pause in no loop, and what is behind it.
    let cycles = [(0x1000, 90), (0x1005, 8), (0x1007, 400), (0x100d, 200), (0x100f, 60), (0x1011, 30)];
    simulated(&mut profile, &cycles);
    let analysis = Analysis::new(&profile, None);
    assert_eq!(analysis.modelled_pauses().cycles().as_cycles(), 90.0 + 8.0 + 60.0);
    assert_eq!(analysis.modelled_whole().cycles().as_cycles(), 788.0);
}
