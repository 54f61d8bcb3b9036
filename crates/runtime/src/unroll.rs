//! Small loops translated several times in a row.
//!
//! A processor adds to one place in memory only every few cycles, so a counter in a loop of a few instructions is
//! most of what the loop takes. Of several rounds in a row, one has to be counted: how often each was executed
//! follows from that and from the ways out, which are taken once (Knuth and Stevenson's placement, on a graph
//! that was made larger for its sake).

use crate::unit::{PlannedBlock, Unit, World, position};
use alloc::vec::Vec;
use core::ops::{Range, RangeInclusive};
use timewise_isa::{Control, Instruction, MAX_LENGTH, decode};

/// Instructions of a loop at most, and of all its rounds together: longer ones take as long as counting does.
const LOOP: usize = 16;
const ROUNDS: usize = 32;

/// Bytes behind a branch within which the one begins that closes a small loop around it, nearly always.
pub const FURTHEST: u64 = 5 * LOOP as u64;

/// Rounds at most.
const MOST: usize = 8;

/// Blocks in a row of which the last branches back to the first, and how often they are to be translated.
struct Loop {
    blocks: RangeInclusive<usize>,
    rounds: usize,
}

/// Repeats small loops of a unit, to `limit` instructions in all.
pub fn unroll(unit: &mut Unit, limit: usize) {
    let loops = find(unit, limit);
    if loops.is_empty() {
        return;
    }
    let rounds = |block: usize| loops.iter().find(|l| l.blocks.contains(&block));
    // Where the first round of each block will stand.
    let mut firsts = Vec::with_capacity(unit.blocks.len());
    let mut order = Vec::new();
    let mut repeated = Vec::with_capacity(loops.len());
    let mut block = 0;
    while block < unit.blocks.len() {
        let (blocks, count) = rounds(block).map_or((block..=block, 1), |l| (l.blocks.clone(), l.rounds));
        let first = order.len();
        for round in 0..count {
            for block in blocks.clone() {
                if round == 0 {
                    firsts.push(order.len());
                }
                order.push((block, round));
            }
        }
        if count > 1 {
            repeated.push(first..order.len());
        }
        block = blocks.end() + 1;
    }
    let way = |from: usize, round: usize, to: usize| {
        let Some(Loop { blocks, rounds }) = rounds(from).filter(|l| l.blocks.contains(&to)) else {
            return firsts[to];
        };
        let is_back = from == *blocks.end() && to == *blocks.start();
        let round = if is_back { (round + 1) % rounds } else { round };
        firsts[to] + round * (blocks.end() + 1 - blocks.start())
    };
    let repeat = |&(block, round): &(usize, usize)| {
        let plan = &unit.blocks[block];
        PlannedBlock {
            instructions: plan.instructions.clone(),
            next: plan.next.map(|to| way(block, round, to)),
            inside: plan.inside.map(|to| way(block, round, to)),
            ..*plan
        }
    };
    unit.blocks = order.iter().map(repeat).collect();
    unit.rounds = repeated;
}

/// If code at `address`, that other units have, closes a small loop of `instructions`, behind which it stands: where
/// it ends. That loop is then translated as a whole: compilers begin many in the middle.
pub fn closing(world: &mut impl World, instructions: &[Instruction], mut address: u64) -> Option<u64> {
    for ahead in 1..LOOP {
        let mut buffer = [0; MAX_LENGTH];
        let readable = world.read(address, &mut buffer);
        let instruction = decode(&buffer[..readable], address).ok()?;
        match instruction.control {
            Control::Next => {}
            Control::Branch { target, .. } => {
                if let Some(first) = position(instructions, target) {
                    let is_small = instructions.len() - first + ahead <= LOOP;
                    return is_small.then(|| instruction.next());
                }
            }
            _ => return None,
        }
        address = instruction.next();
    }
    None
}

/// Whether a branch to `target`, the last of some instructions, closes a loop of theirs or is in a small one.
pub fn is_of_loop(world: &mut impl World, instructions: &[Instruction], target: u64) -> bool {
    let [Some(first), Some(last)] = [instructions.first(), instructions.last()] else { return false };
    let code = first.address..last.next();
    position(instructions, target).is_some()
        || may_close(world, code.clone()) && closing(world, instructions, code.end).is_some()
}

/// Whether some bytes behind `code` could be a short branch back into it: what does not need to be looked at by
/// [`closing`] is told apart quickly.
fn may_close(world: &mut impl World, code: Range<u64>) -> bool {
    const BRANCHES: Range<u8> = 0x70..0x80;
    let mut address = code.end;
    while address < code.end + FURTHEST {
        let mut buffer = [0; MAX_LENGTH];
        let readable = world.read(address, &mut buffer);
        let is_back = |pair: &[u8], at: u64| {
            BRANCHES.contains(&pair[0])
                && code.contains(&(at + 2).wrapping_add_signed((pair[1] as i8).into()))
        };
        if buffer[..readable].windows(2).zip(address..).any(|(pair, at)| is_back(pair, at)) {
            return true;
        }
        if readable < MAX_LENGTH {
            return false;
        }
        address += MAX_LENGTH as u64 - 1;
    }
    false
}

fn find(unit: &Unit, limit: usize) -> Vec<Loop> {
    let mut room = limit.saturating_sub(unit.instructions.len());
    let mut loops = Vec::new();
    for last in 0..unit.blocks.len() {
        let Some(blocks) = innermost(unit, last) else { continue };
        let size: usize = blocks.clone().map(|block| unit.blocks[block].instructions.len()).sum();
        let rounds = (ROUNDS / size).min(room / size + 1).min(MOST);
        if size <= LOOP && rounds > 1 {
            room -= (rounds - 1) * size;
            loops.push(Loop { blocks, rounds });
        }
    }
    loops
}

/// The blocks of the loop that block `last` closes, if it does and there is neither another in it nor anything
/// that takes long.
fn innermost(unit: &Unit, last: usize) -> Option<RangeInclusive<usize>> {
    let start = unit.blocks[last].inside.filter(|&start| start <= last)?;
    let is_plain = |block: usize| match unit.last(block).control {
        Control::Next | Control::Jump { .. } => block != last,
        Control::Branch { .. } => true,
        _ => false,
    };
    let goes_on = |block: usize| block == last || unit.blocks[block].inside.is_none_or(|to| to > block);
    let blocks = start..=last;
    blocks.clone().all(|block| is_plain(block) && goes_on(block)).then_some(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Mode;
    use crate::placing::{Passage, Placing};
    use crate::unit::{Extent, World, place_counters, plan};
    use alloc::vec;
    use timewise_isa::{FlagSet, MAX_LENGTH};

    /// Code from address 0 on; what others have of it begins at the address given.
    struct Code(&'static [u8], Option<u64>);

    impl World for Code {
        fn read(&mut self, address: u64, buffer: &mut [u8; MAX_LENGTH]) -> usize {
            let rest = self.0.get(address as usize..).unwrap_or_default();
            let length = rest.len().min(MAX_LENGTH);
            buffer[..length].copy_from_slice(&rest[..length]);
            length
        }

        fn known(&self, address: u64) -> Option<FlagSet> {
            self.1.filter(|&known| known == address).map(|_| FlagSet::ALL)
        }

        fn mode(&self) -> Mode {
            Mode::Count
        }

        fn is_settled(&self, _: u64) -> bool {
            true
        }

        fn may_change(&self, _: u64) -> bool {
            false
        }
    }

    /// Of each block: its first instruction's address, and the blocks that it leads to.
    fn shape(unit: &Unit) -> Vec<(u64, Option<usize>, Option<usize>)> {
        let address = |block: &PlannedBlock| unit.instructions[block.instructions.start].address;
        unit.blocks.iter().map(|block| (address(block), block.next, block.inside)).collect()
    }

    /// `xor eax, eax`; a loop of three blocks, the second of which is left out at times; `ret`.
    const SKIPPING: &[u8] = &[
        0x31, 0xc0, // xor eax, eax
        0xff, 0xc0, // 2: inc eax
        0xa8, 0x01, // test al, 1
        0x74, 0x02, // je 10
        0xff, 0xc1, // inc ecx
        0x39, 0xf8, // 10: cmp eax, edi
        0x75, 0xf4, // jne 2
        0xc3, // 14: ret
    ];

    #[test]
    fn rounds_lead_to_the_next_and_the_last_to_the_first() {
        let unit = plan(&mut Code(SKIPPING, None), 0, 96, Extent::Branches).unwrap();
        let mut expected = alloc::vec![(0, Some(1), None)];
        for round in 0..5 {
            let first = 1 + 3 * round;
            let after = if round == 4 { 1 } else { first + 3 };
            expected.push((2, Some(first + 1), Some(first + 2)));
            expected.push((8, Some(first + 2), None));
            expected.push((10, Some(16), Some(after)));
        }
        expected.push((14, None, None));
        // Six instructions: five rounds of them are the most that thirty-two hold.
        assert_eq!(shape(&unit), expected);
        let turned: Vec<usize> = (0..unit.blocks.len()).filter(|&block| unit.is_turned(block)).collect();
        assert_eq!(turned, [3, 6, 9, 12]);
    }

    #[test]
    fn a_unit_ends_at_a_branch_unless_that_is_of_a_small_loop() {
        let unit = |code: &'static [u8]| plan(&mut Code(code, None), 0, 96, Extent::Loops).unwrap();
        // All of the loop, and what follows it up to a branch.
        assert_eq!(
            shape(&unit(SKIPPING)),
            shape(&plan(&mut Code(SKIPPING, None), 0, 96, Extent::Branches).unwrap())
        );
        // 0: dec eax; jne 0; 4: inc ecx; je 8; ret
        const LOOP: &[u8] = &[0xff, 0xc8, 0x75, 0xfc, 0xff, 0xc1, 0x74, 0x00, 0xc3];
        assert_eq!(shape(&unit(LOOP)).last(), Some(&(4, None, None)));
        // 0: test al, 1; je 6; inc eax; 6: cmp eax, edi; jne 12; ret
        const STRAIGHT: &[u8] = &[0xa8, 0x01, 0x74, 0x02, 0xff, 0xc0, 0x39, 0xf8, 0x75, 0x02, 0xc3];
        assert_eq!(shape(&unit(STRAIGHT)), [(0, None, None)]);
    }

    #[test]
    fn a_loop_that_is_gone_through_once_leaves_at_its_end() {
        let unit = |code: &'static [u8]| plan(&mut Code(code, None), 0, 96, Extent::Branch).unwrap();
        // 0: inc eax; 2: cmp eax, edi; jne 2; ret
        const WITHIN: &[u8] = &[0xff, 0xc0, 0x39, 0xf8, 0x75, 0xfc, 0xc3];
        assert_eq!(shape(&unit(WITHIN)), [(0, None, None)]);
        assert_eq!(unit(WITHIN).instructions.len(), 3);
        // 0: inc eax; jmp 0
        assert_eq!(shape(&unit(&[0xff, 0xc0, 0xeb, 0xfc])), [(0, None, None)]);
        // 0: dec eax; loop 0; ret
        assert_eq!(shape(&unit(&[0xff, 0xc8, 0xe2, 0xfc, 0xc3])), [(0, Some(1), None), (4, None, None)]);
    }

    #[test]
    fn a_branch_back_is_seen_before_anything_is_decoded() {
        // `jne 0`, so many bytes behind the first four.
        let may_close = |bytes: usize| {
            let code = [&vec![0x90; 4 + bytes], &[0x75, (-6 - bytes as i64) as u8][..]].concat();
            super::may_close(&mut Code(code.leak(), None), 0..4)
        };
        assert!([0, 1, 12, 13, 14, 15, 60, 79].into_iter().all(may_close));
        assert!(![100, 120].into_iter().any(may_close), "of a large loop");
    }

    #[test]
    fn one_round_in_a_row_is_counted_and_needs_no_detour() {
        // 0: inc eax; cmp eax, edi; jne 0; ret
        let mut unit =
            plan(&mut Code(&[0xff, 0xc0, 0x39, 0xf8, 0x75, 0xfa, 0xc3], None), 0, 96, Extent::Branches)
                .unwrap();
        place_counters(&mut unit, &mut Placing::default(), 0, false);
        assert_eq!(unit.blocks.len(), 8 + 1);
        let counted = |block: usize| unit.blocks[block].inside_way.counted;
        let rounds: Vec<usize> = (0..8).filter(|&block| counted(block)).collect();
        assert_eq!(rounds.len(), 1, "of the ways from round to round: {rounds:?}");
        assert!(unit.is_turned(rounds[0]), "the one that is counted is fallen through");
    }

    /// A loop that is left at two places, both of which lead to one: each would be a way between its rounds.
    #[test]
    fn of_a_loop_with_two_ways_out_one_round_in_a_row_is_counted() {
        // 0: cmp [rax], ecx; je 11; add rax, 8; cmp rax, rdx; jne 0; 13: ret
        const SEARCH: &[u8] =
            &[0x39, 0x08, 0x74, 0x09, 0x48, 0x83, 0xc0, 0x08, 0x48, 0x39, 0xd0, 0x75, 0xf3, 0xc3];
        let mut unit = plan(&mut Code(SEARCH, None), 0, 96, Extent::Branches).unwrap();
        place_counters(&mut unit, &mut Placing::default(), 0, false);
        let rounds = 32 / 5;
        assert_eq!((unit.blocks.len(), unit.rounds.len()), (2 * rounds + 1, 1));
        assert_eq!(unit.rounds[0], 0..2 * rounds);
        let is_counted =
            |way: Option<usize>, passage: Passage| way.is_some_and(|to| to < 2 * rounds) && passage.counted;
        let within = unit.blocks.iter().flat_map(|block| {
            [is_counted(block.next, block.next_way), is_counted(block.inside, block.inside_way)]
        });
        assert_eq!(within.filter(|&counted| counted).count(), 1);
    }

    #[test]
    fn the_limit_holds_for_all_rounds_together() {
        let unit = plan(&mut Code(SKIPPING, None), 0, 8 + 6, Extent::Branches).unwrap();
        assert_eq!(unit.blocks.len(), 1 + 3 * 2 + 1);
        let unit = plan(&mut Code(SKIPPING, None), 0, 8 + 5, Extent::Branches).unwrap();
        assert_eq!(unit.blocks.len(), 1 + 3 + 1);
    }

    #[test]
    fn what_calls_or_contains_a_loop_is_not_repeated() {
        // 0: call 0; dec eax; jne 0
        let calling = plan(
            &mut Code(&[0xe8, 0xfb, 0xff, 0xff, 0xff, 0xff, 0xc8, 0x75, 0xf7], None),
            0,
            96,
            Extent::Branches,
        )
        .unwrap();
        assert_eq!(calling.blocks.len(), 1);
        // 0: inc ecx; 2: dec eax; jne 2; dec edx; jne 0; ret
        const OUTER: &[u8] = &[0xff, 0xc1, 0xff, 0xc8, 0x75, 0xfc, 0xff, 0xca, 0x75, 0xf6, 0xc3];
        let nested = plan(&mut Code(OUTER, None), 0, 96, Extent::Branches).unwrap();
        let inner = shape(&nested).iter().filter(|block| block.0 == 2).count();
        assert_eq!((inner, nested.blocks.len()), (8, 1 + 8 + 1 + 1));
    }

    #[test]
    fn a_loop_that_was_begun_in_the_middle_is_translated_whole() {
        // 0: inc eax; 2: cmp eax, edi; jne 0; 6: ret. Control came to 2 first.
        const LOOP: &[u8] = &[0xff, 0xc0, 0x39, 0xf8, 0x75, 0xfa, 0xc3];
        let unit = plan(&mut Code(LOOP, Some(2)), 0, 96, Extent::Branches).unwrap();
        assert_eq!((unit.instructions.len(), unit.blocks.len()), (4, 8 + 1));
        // 0: inc eax; 2: cmp eax, edi; jne 2: what stands there does not come back.
        const OTHER: &[u8] = &[0xff, 0xc0, 0x39, 0xf8, 0x75, 0xfc, 0xc3];
        assert_eq!(plan(&mut Code(OTHER, Some(2)), 0, 96, Extent::Branches).unwrap().instructions.len(), 1);
    }
}
