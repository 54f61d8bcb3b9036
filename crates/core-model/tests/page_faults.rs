//! Exceptions at the first touches of pages, where a processor's record says what they cost.

use std::collections::BTreeSet;
use timewise_core_model::{Code, Core, Processor, Totals};
use timewise_replay::Access;
use timewise_trace::{Psv, Record};

/// Where code stands: the first instruction that is fetched touches its page.
const START: u64 = 0x40_0000;

/// Cycles that the kernel takes.
const FAULT: u64 = 1000;

/// An instruction's number, and what it accesses.
type Step = (u32, Vec<Access>);

/// What a core does that executes this code, and which instructions raise exceptions, in order.
fn executed(processor: &Processor, bytes: &[u8], start: u64, steps: &[Step]) -> (Vec<u32>, Totals) {
    let mut processor = processor.clone();
    processor.commit.page_fault = Some(FAULT);
    let mut code = Code::new(&processor).unwrap();
    code.add(0, 0, bytes, start);
    let mut raised = Vec::new();
    let observe = |record: &Record| {
        record.check().unwrap();
        if let Some(entry) = record.exception().filter(|entry| entry.events.contains(Psv::FL_EX)) {
            raised.push(entry.instruction);
        }
    };
    let mut core = Core::new(&processor, &code, observe);
    steps.iter().for_each(|(number, accesses)| core.step(&code, *number, accesses));
    let totals = core.finish().1;
    assert_eq!(totals.instructions, steps.len() as u64);
    (raised, totals)
}

fn raised(bytes: &[u8], steps: &[Step]) -> Vec<u32> {
    let (raised, totals) = executed(&Processor::named("zen-4").unwrap(), bytes, START, steps);
    assert!(totals.cycles > FAULT * raised.len() as u64, "{totals:?}");
    raised
}

fn read(address: u64, size: u64) -> Access {
    Access { address, size, unit: 1, reads: true, writes: false }
}

fn write(address: u64, size: u64) -> Access {
    Access { reads: false, writes: true, ..read(address, size) }
}

#[test]
fn loads_and_stores_touch_pages() {
    // 0: mov rax,[rbx]; 1: mov [rdi],rax; 2: add [rdi],rax
    let bytes = [0x48, 0x8b, 3, 0x48, 0x89, 7, 0x48, 1, 7];
    let both = |address| Access { writes: true, ..read(address, 8) };
    let steps = [
        (0, vec![read(0x1_0000, 8)]),
        (1, vec![write(0x1_0ff8, 8)]),
        (2, vec![both(0x2_0000)]),
        (0, vec![read(0x2_0008, 8)]),
        (1, vec![write(0x3_0000, 8)]),
        (2, vec![both(0x3_0000)]),
    ];
    assert_eq!(raised(&bytes, &steps), [0, 0, 2, 1]);
}

#[test]
fn an_access_to_two_pages_touches_both() {
    let bytes = [0x48, 0x8b, 3, 0x48, 0x89, 7];
    let steps = [
        (0, vec![read(0x1_0ffc, 8)]),
        (1, vec![write(0x2_0ffc, 8)]),
        (1, vec![write(0x2_1ffc, 8)]),
        (0, vec![read(0x1_1000, 8)]),
    ];
    assert_eq!(raised(&bytes, &steps), [0, 0, 0, 1, 1, 1]);
}

#[test]
fn string_instructions_go_on_behind_each_new_page() {
    // 0: rep movsb; 1: rep stosb
    let bytes = [0xf3, 0xa4, 0xf3, 0xaa];
    let copy = (0, vec![read(0x1_0000, 0x2800), write(0x4_0800, 0x2800)]);
    // Three pages of either, and that of the code.
    assert_eq!(raised(&bytes, &[copy.clone(), copy]), [0; 7]);
    let processor = Processor::named("zen-4").unwrap();
    let set = |pages: u64| {
        let (raised, totals) = executed(&processor, &bytes, START, &[(1, vec![write(1 << 30, pages << 12)])]);
        assert_eq!(raised.len() as u64, 1 + pages);
        totals.cycles
    };
    let each = (set(96) - set(32)) / 64;
    let moved = 4096 / processor.backend.strings.bytes;
    assert!((FAULT + moved..FAULT + moved + 300).contains(&each), "{each} cycles a page");
}

#[test]
fn fetch_touches_pages() {
    // Additions of three bytes each, of which the sixth lies on both sides.
    let bytes = [0x48, 0x01, 0xd8].repeat(9);
    let steps: Vec<Step> = (0..9).map(|number| (number, Vec::new())).collect();
    let (raised, _) = executed(&Processor::named("zen-4").unwrap(), &bytes, START + 0xff0, &steps);
    assert_eq!(raised, [0, 6]);
}

#[test]
fn a_prefetch_touches_no_page() {
    // 0: prefetcht0 [rax]; 1: mov rax,[rbx]
    let bytes = [0x0f, 0x18, 0x08, 0x48, 0x8b, 3];
    let prefetch = Access { reads: false, ..read(0x1_0000, 1) };
    assert_eq!(raised(&bytes, &[(0, vec![prefetch]), (1, vec![read(0x1_0000, 8)])]), [0, 1]);
}

#[test]
fn a_wrong_path_takes_no_first_touch_away() {
    // 0: mov rax,[rbx]; test rax,rax; je +3; add rcx,rbx; 4: mov rdx,[rsi]; jmp 0
    let bytes = [0x48, 0x8b, 3, 0x48, 0x85, 0xc0, 0x74, 3, 0x48, 1, 0xd9, 0x48, 0x8b, 0x16, 0xeb, 0xf0];
    let (mut state, mut steps, mut pages) = (1u64, Vec::new(), BTreeSet::new());
    for _ in 0..1_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // The branch waits for a line of pages that are there soon, and the load behind it goes to a new one.
        let (late, new) = (state >> 40 & 0x3ff << 6, (state >> 20 & 0xff_ffff) << 6 | 1 << 40);
        pages.extend([late >> 12, new >> 12]);
        steps.extend([(0, vec![read(late, 8)]), (1, vec![]), (2, vec![])]);
        if state >> 63 == 0 {
            steps.push((3, vec![]));
        }
        steps.extend([(4, vec![read(new, 8)]), (5, vec![])]);
    }
    for wrong_path in [0, 64] {
        let mut processor = Processor::named("zen-4").unwrap();
        processor.branches.wrong_path = wrong_path;
        let (raised, totals) = executed(&processor, &bytes, START, &steps);
        assert!(totals.mispredicted > 200, "{totals:?}");
        assert_eq!(raised.len(), 1 + pages.len(), "wrong path of {wrong_path}");
    }
}
