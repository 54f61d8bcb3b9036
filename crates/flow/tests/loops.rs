//! Loops as a programmer sees them, from the edges of a profile.

use timewise_flow::sketch::sketch;
use timewise_flow::{Analysis, Loop};

/// The loops of a function `f` whose blocks are the letters in `edges`: `from to count`, separated by
/// commas, `-` for outside. Each loop as `header{blocks} depth invocations iterations`.
fn loops(edges: &str) -> Vec<String> {
    let mut letters: Vec<&str> = edges.split([' ', ',']).filter(|word| is_block(word)).collect();
    letters.sort_unstable();
    letters.dedup();
    let mut facts = String::from("function f at 0x1000 size 0x1000\n");
    for letter in letters {
        facts += &format!("block {letter} runs {}\n", arrivals(edges, letter));
    }
    for edge in edges.split(',') {
        let [from, to, count] = edge.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{edge}") };
        let kind = if from == "-" { "call" } else { "branch" };
        facts += &format!("edge {from} -> {to} {kind} {count}\n");
    }
    let profile = sketch(&facts).unwrap();
    let analysis = Analysis::new(&profile, None);
    analysis.forest.loops.iter().map(shown).collect()
}

fn is_block(word: &str) -> bool {
    word.len() == 1 && word.as_bytes()[0].is_ascii_uppercase()
}

fn arrivals(edges: &str, block: &str) -> u64 {
    let words = edges.split(',').map(|edge| edge.split_whitespace().collect::<Vec<_>>());
    words.filter(|words| words[1] == block).map(|words| words[2].parse::<u64>().unwrap()).sum()
}

fn shown(one: &Loop) -> String {
    let letter = |block: &timewise_profile::BlockId| (b'A' + block.0 as u8) as char;
    let blocks: String = one.blocks.iter().map(letter).collect();
    let mark = if one.irreducible { " irreducible" } else { "" };
    let Loop { depth, invocations, iterations, .. } = one;
    format!("{}{{{blocks}}} {depth} {invocations} {iterations}{mark}", letter(&one.header))
}

/// Figure 6 of the OptiWISE paper: five back edges to A are three loops.
#[test]
fn figure_6() {
    let edges = "- A 10, A B 1250, B A 1000, B C 50, C A 30, C D 20, D A 20, \
                 B E 200, E A 150, E F 50, F A 40, F - 10";
    assert_eq!(loops(edges), ["A{ABCDEF} 1 10 100", "A{ABE} 2 100 250", "A{AB} 3 250 1250"],);
}

#[test]
fn a_loop_within_a_loop() {
    let edges = "- A 1, A B 10, B C 10, C C 90, C D 10, D B 9, D E 1, E - 1";
    let got = loops(&edges.replace("A B 10", "A B 1"));
    assert_eq!(got, ["B{BCD} 1 1 10", "C{C} 2 10 100"]);
}

#[test]
fn a_cycle_entered_in_two_places_is_one_irreducible_loop() {
    let edges = "- A 10, A B 6, A C 4, B C 50, C B 44, C D 10, D - 10";
    assert_eq!(loops(edges), ["C{BC} 1 10 54 irreducible"]);
}

/// Duff's device with copies of 5 to 8 steps, 10 of each, unrolled four times: two rounds each.
#[test]
fn entries_all_around_a_loop_begin_no_round_more() {
    let edges = "- S 40, S A 10, S B 10, S C 10, S D 10, A B 50, B C 60, C D 70, D A 40, D E 40, E - 40";
    assert_eq!(loops(edges), ["D{ABCD} 1 40 80 irreducible"]);
}

/// Nobody came to the busier entry that came in at the other.
#[test]
fn each_entry_begins_a_round_that_comes_to_the_header_or_not() {
    let edges = "- A 100, A B 90, A C 10, B C 1, B D 90, C B 1, C D 10, D - 100";
    assert_eq!(loops(edges), ["B{BC} 1 100 100 irreducible"]);
}

/// The entry that is executed most is so by a loop of its own, whose rounds are not those around it.
#[test]
fn a_loop_inside_an_irreducible_one_that_begins_at_an_entry() {
    let edges = "- A 10, A B 5, A C 5, B B 900, B C 20, C B 15, C D 5, C E 5, D - 5, E - 5";
    assert_eq!(loops(edges), ["C{BC} 1 10 25 irreducible", "B{B} 2 20 920"]);
}

#[test]
fn a_natural_loop_inside_an_irreducible_one() {
    let edges = "- A 2, A B 1, A C 1, B C 9, C D 10, D D 90, D B 8, D E 2, E - 2";
    assert_eq!(loops(edges), ["C{BCD} 1 2 10 irreducible", "D{D} 2 10 100"]);
}

#[test]
fn an_irreducible_loop_inside_a_natural_one() {
    let edges = "- A 1, A B 5, A C 5, B C 20, C B 15, C D 10, D A 9, D E 1, E - 1";
    assert_eq!(loops(edges), ["A{ABCD} 1 1 10", "C{BC} 2 10 25 irreducible"]);
}

#[test]
fn straight_code_has_none() {
    assert!(loops("- A 5, A B 3, A C 2, B D 3, C D 2, D - 5").is_empty());
}

/// Calls inside a loop keep it one loop, and recursion makes none.
#[test]
fn calls_stay_within_the_loop_and_recursion_is_none() {
    let profile = sketch(
        "function f at 0x1000 size 0x100
         function g at 0x2000 size 0x100
         block head at 0x1000 runs 100 code 90 e8fa0f0000
         block latch at 0x1006 runs 100 code 75f8
         block out at 0x1008 runs 1 code c3
         block callee at 0x2000 runs 300 code e8fbffffff
         block back at 0x2005 runs 300 code c3
         edge - -> head external 1
         edge head -> callee call 100
         edge callee -> callee call 200
         edge back -> back return 200
         edge back -> latch return 100
         edge latch -> head branch 99
         edge latch -> out fallthrough 1",
    )
    .unwrap();
    let analysis = Analysis::new(&profile, None);
    let found: Vec<(u64, u64, usize)> =
        analysis.forest.loops.iter().map(|one| (one.invocations, one.iterations, one.blocks.len())).collect();
    assert_eq!(found, [(1, 100, 2)]);
    let calls: Vec<u64> = analysis.graphs.iter().map(|graph| graph.calls).collect();
    assert_eq!(calls, [1, 300]);
}

/// A small generator with a fixed seed: which graphs are tested never changes.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}

/// Whatever the graph: any two loops are nested or disjoint, a parent holds its children, every cycle
/// is covered, and no loop begins fewer rounds than it is entered, nor more than its header was executed
/// unless it was entered as often.
#[test]
fn loops_of_random_graphs_form_a_forest_that_covers_all_cycles() {
    let mut random = Random(1);
    for _ in 0..2000 {
        let size = 2 + random.below(8);
        let mut facts = String::from("function f at 0x1000 size 0x1000\n");
        (0..size).for_each(|block| facts += &format!("block {block} runs 5\n"));
        facts += "edge - -> 0 call 1\n";
        let mut edges = vec![(0, 1)];
        (0..2 * size).for_each(|_| edges.push((random.below(size), random.below(size))));
        let mut executions = vec![0; size as usize];
        executions[0] += 1;
        for (from, to) in &edges {
            let count = 1 + random.below(50);
            executions[*to as usize] += count;
            facts += &format!("edge {from} -> {to} branch {count}\n");
        }
        let profile = sketch(&facts).unwrap();
        let analysis = Analysis::new(&profile, None);
        let all = &analysis.forest.loops;
        for one in all {
            assert!(one.iterations >= one.invocations, "{facts}");
            let executed = executions[one.header.index()];
            assert!(one.iterations <= executed.max(one.invocations), "{facts}");
            if let Some(parent) = one.parent {
                let around = &all[parent.index()];
                assert!(one.blocks.iter().all(|block| around.blocks.contains(block)), "{facts}");
                assert_eq!(one.depth, around.depth + 1);
            }
            for other in all {
                let shared = one.blocks.iter().filter(|block| other.blocks.contains(block)).count();
                let smaller = one.blocks.len().min(other.blocks.len());
                assert!(shared == 0 || shared == smaller, "{facts}");
            }
        }
        for block in 0..size {
            let covered = analysis.forest.innermost[block as usize].is_some();
            assert_eq!(covered, on_a_cycle(&edges, block), "block {block} of\n{facts}");
        }
    }
}

/// Whether a way leads from `block` back to it.
fn on_a_cycle(edges: &[(u64, u64)], block: u64) -> bool {
    let (mut seen, mut open) = (vec![], vec![block]);
    while let Some(from) = open.pop() {
        for &(_, to) in edges.iter().filter(|edge| edge.0 == from) {
            if to == block {
                return true;
            }
            if !seen.contains(&to) {
                seen.push(to);
                open.push(to);
            }
        }
    }
    false
}
