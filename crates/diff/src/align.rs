//! Which instruction of a function is which of the same function in another build: a global alignment of the
//! two sequences, without addresses.
//!
//! What both sequences begin and end with is the same. Between, the alignment with the highest score is found
//! (Needleman and Wunsch 1970): equal instructions count more than those that differ in registers or
//! constants, and beginnings of blocks are drawn to each other. Long sequences are first cut at runs of
//! instructions that occur once on each side (as patience diff does with lines), because the table grows with
//! the product of the lengths. Where there is no such run, only alignments within a band around the straight way
//! from corner to corner are looked at, so that the table grows with one length. Blocks that moved, and instructions
//! that moved within a block, are found last: an alignment cannot cross itself.

use crate::pairing::Pairing;
use std::collections::HashMap;
use timewise_isa::Shape;

/// An instruction to be aligned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    /// What it is.
    pub shape: Shape,
    /// Whether a block begins with it.
    pub begins_block: bool,
}

/// The largest table of scores, in cells of a byte.
const MOST_CELLS: usize = 4 << 20;

/// The largest table of a band, in cells of a byte, unless that made it narrower than [`NARROWEST`].
const BAND_CELLS: usize = 64 << 20;

/// How many cells of a row a band has at least: what is put in or taken out in one place may be half as long.
const NARROWEST: usize = 128;

/// Instructions of a run that may occur once only by their order.
const RUN: usize = 4;

/// A moved block of fewer instructions may be equal by chance.
const SHORTEST_MOVED: usize = 3;

/// Which instructions are the same.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Alignment {
    /// Positions in `base` and in `test` of instructions that are the same, each in one pair at most. Those that did
    /// not move come in order, moved ones after them.
    pub pairs: Vec<(usize, usize)>,
    /// Whether it reached the border of a band, so that there may be more pairs beyond it.
    pub is_narrowed: bool,
}

/// Aligns two sequences.
pub fn align(base: &[Token], test: &[Token]) -> Alignment {
    let mut alignment = Alignment::default();
    between(base, test, (0, 0), &mut alignment);
    moved(base, test, &mut alignment.pairs);
    moved_within(base, test, &mut alignment.pairs);
    alignment
}

/// Aligns two parts that begin at the positions `at` of the whole.
fn between(base: &[Token], test: &[Token], at: (usize, usize), alignment: &mut Alignment) {
    let same = |(ours, theirs): &(&Token, &Token)| ours.shape == theirs.shape;
    let before = base.iter().zip(test).take_while(same).count();
    alignment.pairs.extend((0..before).map(|n| (at.0 + n, at.1 + n)));
    let (base, test) = (&base[before..], &test[before..]);
    let after = base.iter().rev().zip(test.iter().rev()).take_while(same).count();
    let (ours, theirs) = (&base[..base.len() - after], &test[..test.len() - after]);
    let at = (at.0 + before, at.1 + before);
    let fits = ours.len().saturating_mul(theirs.len()) <= MOST_CELLS;
    let anchors = if fits { Vec::new() } else { anchors(ours, theirs) };
    if anchors.is_empty() {
        let band = Band::new(ours.len(), theirs.len(), if fits { MOST_CELLS } else { BAND_CELLS });
        let found = best(ours, theirs, band);
        alignment.pairs.extend(found.pairs.into_iter().map(|(a, b)| (at.0 + a, at.1 + b)));
        alignment.is_narrowed |= found.is_narrowed;
    } else {
        let mut from = (0, 0);
        for to in anchors.into_iter().chain([(ours.len(), theirs.len())]) {
            between(&ours[from.0..to.0], &theirs[from.1..to.1], (at.0 + from.0, at.1 + from.1), alignment);
            from = to;
        }
    }
    let end = (at.0 + ours.len(), at.1 + theirs.len());
    alignment.pairs.extend((0..after).map(|n| (end.0 + n, end.1 + n)));
}

/// Scores of an aligned pair. Two that differ in their operands must not be worth more than one that is equal.
const EQUAL: u32 = 8;
const SIMILAR: u32 = 3;
const BOTH_BEGIN: u32 = 1;

fn score(ours: &Token, theirs: &Token) -> u32 {
    let same = match () {
        () if ours.shape == theirs.shape => EQUAL,
        () if ours.shape.loose == theirs.shape.loose => SIMILAR,
        () => return 0,
    };
    if ours.begins_block && theirs.begins_block { same + BOTH_BEGIN } else { same }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Pair,
    SkipOurs,
    SkipTheirs,
}

/// The cells of a table that are looked at: as many in each row, around the way from corner to corner.
#[derive(Clone, Copy)]
struct Band {
    rows: usize,
    columns: usize,
    width: usize,
}

impl Band {
    /// The widest of so many cells; all of the table if that is no more.
    fn new(rows: usize, columns: usize, cells: usize) -> Band {
        // The way goes on by so many columns in a row.
        let steps = columns.div_ceil(rows.max(1));
        let width = (cells / rows.max(1)).max(NARROWEST).max(2 * steps).min(columns);
        Band { rows, columns, width }
    }

    /// The first column of a row, and the one after its last.
    fn of(self, row: usize) -> (usize, usize) {
        let middle = row * self.columns / self.rows;
        let start = middle.saturating_sub(self.width / 2).min(self.columns - self.width);
        (start, start + self.width)
    }

    /// Whether a cell is at a border that is none of the table's.
    fn is_border(self, row: usize, column: usize) -> bool {
        let (start, end) = self.of(row);
        (column <= start && start > 0) || (column + 1 >= end && end < self.columns)
    }
}

/// The alignment with the highest score within a band.
fn best(base: &[Token], test: &[Token], band: Band) -> Alignment {
    let ways = ways(base, test, band);
    let mut alignment = Alignment::default();
    let (mut row, mut column) = (base.len(), test.len());
    while row > 0 && column > 0 {
        alignment.is_narrowed |= band.is_border(row - 1, column - 1);
        let (start, end) = band.of(row - 1);
        let way = match column - 1 {
            before if before < start => Way::SkipOurs,
            after if after >= end => Way::SkipTheirs,
            within => ways[(row - 1) * band.width + within - start],
        };
        match way {
            Way::Pair => {
                (row, column) = (row - 1, column - 1);
                alignment.pairs.push((row, column));
            }
            Way::SkipOurs => row -= 1,
            Way::SkipTheirs => column -= 1,
        }
    }
    alignment.pairs.reverse();
    alignment
}

/// The best way to each cell of a band.
fn ways(base: &[Token], test: &[Token], band: Band) -> Vec<Way> {
    let mut ways = Vec::with_capacity(base.len() * band.width);
    // Best score of all before an instruction of ours and one of theirs; a row for one of ours.
    let mut scores = vec![0u32; test.len() + 1];
    let mut last_end = 0;
    for (row, ours) in base.iter().enumerate() {
        let (start, end) = band.of(row);
        // Beyond the band of the row above, theirs are skipped there.
        let beyond = scores[last_end];
        scores[last_end..=end].fill(beyond);
        last_end = end;
        let mut diagonal = scores[start];
        for (column, theirs) in (start..end).zip(&test[start..end]) {
            let (left, above) = (scores[column], scores[column + 1]);
            let pair = match score(ours, theirs) {
                0 => 0,
                score => diagonal + score,
            };
            let skip = above.max(left);
            let (score, way) = match () {
                () if pair > 0 && pair >= skip => (pair, Way::Pair),
                () if above >= left => (skip, Way::SkipOurs),
                () => (skip, Way::SkipTheirs),
            };
            scores[column + 1] = score;
            ways.push(way);
            diagonal = above;
        }
    }
    ways
}

/// Positions where equal runs begin that occur once on each side, as many as stand in the same order.
fn anchors(base: &[Token], test: &[Token]) -> Vec<(usize, usize)> {
    let theirs = single_runs(test);
    let mut common: Vec<(usize, usize)> =
        single_runs(base).into_iter().filter_map(|(run, at)| Some((at, *theirs.get(&run)?))).collect();
    common.sort_unstable();
    longest_increasing(&common)
}

fn single_runs(tokens: &[Token]) -> HashMap<[Shape; RUN], usize> {
    let mut seen: HashMap<[Shape; RUN], (usize, bool)> = HashMap::new();
    for (at, run) in tokens.windows(RUN).enumerate() {
        let run = std::array::from_fn(|n| run[n].shape);
        seen.entry(run).and_modify(|(_, single)| *single = false).or_insert((at, true));
    }
    seen.into_iter().filter(|(_, (_, single))| *single).map(|(run, (at, _))| (run, at)).collect()
}

/// The longest part of `pairs`, sorted by their first, whose seconds increase.
fn longest_increasing(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // The last pair of the best part of each length, and the pair before each.
    let mut last: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, pair) in pairs.iter().enumerate() {
        let length = last.partition_point(|&other| pairs[other].1 < pair.1);
        before.push(length.checked_sub(1).map(|shorter| last[shorter]));
        if length == last.len() { last.push(at) } else { last[length] = at }
    }
    let mut part: Vec<(usize, usize)> =
        std::iter::successors(last.last().copied(), |&at| before[at]).map(|at| pairs[at]).collect();
    part.reverse();
    part
}

/// Adds the instructions of whole blocks that are in no pair and of which there is one on each side.
fn moved(base: &[Token], test: &[Token], pairs: &mut Vec<(usize, usize)>) {
    let (mut ours, mut theirs) = (vec![true; base.len()], vec![true; test.len()]);
    for (a, b) in &*pairs {
        (ours[*a], theirs[*b]) = (false, false);
    }
    let theirs = free_blocks(test, &theirs);
    let mut found: Vec<(usize, usize, usize)> = Vec::new();
    for (block, at) in free_blocks(base, &ours) {
        if let (Some(at), Some(Some(to))) = (at, theirs.get(&block)) {
            found.push((at, *to, block.len()));
        }
    }
    found.sort_unstable();
    for (from, to, length) in found {
        pairs.extend((0..length).map(|n| (from + n, to + n)));
    }
}

/// Adds instructions that stand elsewhere in a block of which others are in pairs, as compilers schedule them: taken for
/// one that is gone and one that is new, what each took would count as a change of counts. They are the same if as many of
/// their kind are left on both sides, of equal ones or of those that differ in operands.
fn moved_within(base: &[Token], test: &[Token], pairs: &mut Vec<(usize, usize)>) {
    let (ours, theirs) = (blocks(base), blocks(test));
    let mut common: HashMap<(usize, usize), u32> = HashMap::new();
    for (a, b) in &*pairs {
        *common.entry((ours[*a], theirs[*b])).or_default() += 1;
    }
    let mut partners = Pairing::new(base.len(), test.len());
    let compared = common.into_iter().map(|((ours, theirs), both)| (both.into(), ours as u32, theirs as u32));
    partners.best_first(compared.collect());
    let mut moved = Pairing::new(base.len(), test.len());
    pairs.iter().for_each(|&(a, b)| moved.pair(a as u32, b as u32));
    let begin = pairs.len();
    let kinds: [fn(&Token) -> Kind; 2] =
        [|token| (token.shape.loose, Some(token.shape.exact)), |token| (token.shape.loose, None)];
    for kind in kinds {
        // A block of TEST goes by its partner in BASE.
        let groups = moved.groups(
            |at| Some((ours[at as usize] as u32, kind(&base[at as usize]))),
            |at| Some((partners.of_test(theirs[at as usize] as u32)?, kind(&test[at as usize]))),
        );
        for (ours, theirs) in groups.into_iter().filter(|(ours, theirs)| ours.len() == theirs.len()) {
            for (ours, theirs) in ours.into_iter().zip(theirs) {
                moved.pair(ours, theirs);
                pairs.push((ours as usize, theirs as usize));
            }
        }
    }
    pairs[begin..].sort_unstable();
}

/// What an instruction is, with its operands or without.
type Kind = (u64, Option<u64>);

/// Where the block of each instruction begins.
fn blocks(tokens: &[Token]) -> Vec<usize> {
    let mut begin = 0;
    let of = |(at, token): (usize, &Token)| {
        begin = if token.begins_block { at } else { begin };
        begin
    };
    tokens.iter().enumerate().map(of).collect()
}

/// Blocks of which no instruction is in a pair, and where each begins; nowhere if there are several.
fn free_blocks(tokens: &[Token], free: &[bool]) -> HashMap<Vec<Shape>, Option<usize>> {
    let mut blocks: HashMap<Vec<Shape>, Option<usize>> = HashMap::new();
    let mut at = 0;
    for block in tokens.chunk_by(|_, next| !next.begins_block) {
        if block.len() >= SHORTEST_MOVED && free[at..at + block.len()].iter().all(|&free| free) {
            let shapes = block.iter().map(|token| token.shape).collect();
            blocks.entry(shapes).and_modify(|at| *at = None).or_insert(Some(at));
        }
        at += block.len();
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A letter is an instruction, lower and upper case differ in operands; `|` begins a block.
    fn tokens(text: &str) -> Vec<Token> {
        let mut tokens = Vec::new();
        let mut begins_block = true;
        for letter in text.bytes() {
            if letter == b'|' {
                begins_block = true;
                continue;
            }
            let shape = Shape { loose: letter.to_ascii_lowercase().into(), exact: letter.into() };
            tokens.push(Token { shape, begins_block });
            begins_block = false;
        }
        tokens
    }

    fn shown(base: &str, test: &str) -> String {
        let (plain, other) = (base.replace('|', ""), test.replace('|', ""));
        let pairs = align(&tokens(base), &tokens(test)).pairs;
        let text = |(a, b): &(usize, usize)| format!("{}{}", &plain[*a..=*a], &other[*b..=*b]);
        pairs.iter().map(text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_was_put_in_or_taken_out_has_no_partner() {
        assert_eq!(shown("abcdef", "abxycdef"), "aa bb cc dd ee ff");
        assert_eq!(shown("abcdef", "adef"), "aa dd ee ff");
        assert_eq!(shown("abc", ""), "");
        assert_eq!(shown("abc", "xyz"), "");
    }

    #[test]
    fn equal_instructions_go_before_similar_ones() {
        assert_eq!(shown("xaby", "zAaBbw"), "aa bb");
        assert_eq!(shown("xaby", "xABy"), "xx aA bB yy");
    }

    #[test]
    fn beginnings_of_blocks_decide_between_equals() {
        let pairs = align(&tokens("x|ay"), &tokens("za|aw")).pairs;
        assert_eq!(pairs, [(1, 2)]);
    }

    #[test]
    fn blocks_that_moved_are_found() {
        assert_eq!(shown("s|abcd|efghi|t", "s|efghi|abcd|t"), "ss ee ff gg hh ii tt aa bb cc dd");
        assert_eq!(shown("s|ab|efghi|t", "s|efghi|ab|t"), "ss ee ff gg hh ii tt", "too short to tell");
    }

    #[test]
    fn instructions_that_moved_within_a_block_are_found() {
        assert_eq!(shown("s|abcdef|t", "s|bcdeaf|t"), "ss bb cc dd ee ff tt aa");
        assert_eq!(shown("s|abcdef|t", "s|bcdeAf|t"), "ss bb cc dd ee ff tt aA");
        assert_eq!(shown("s|abcdef|t", "s|bcdeAaf|t"), "ss bb cc dd ee ff tt aa");
        assert_eq!(shown("s|abcdef|t", "s|bcdeAAf|t"), "ss bb cc dd ee ff tt", "which is it?");
        assert_eq!(shown("s|abcdef|gh|t", "s|bcdef|gha|t"), "ss bb cc dd ee ff gg hh tt", "another block");
    }

    #[test]
    fn long_sequences_are_cut_at_what_is_unique() {
        let token = |n: u64| Token { shape: Shape { loose: n, exact: n }, begins_block: n.is_multiple_of(7) };
        let base: Vec<Token> = (0..5000).map(|n| token(n * 31 % 4999)).collect();
        let mut test = base.clone();
        test.splice(2500..2500, (0..10).map(|n| token(10_000 + n)));
        test[0] = token(20_000);
        test[5009] = token(20_001);
        let pairs = align(&base, &test).pairs;
        let want: Vec<(usize, usize)> = (1..4999).map(|n| (n, if n < 2500 { n } else { n + 10 })).collect();
        assert_eq!(pairs, want);
    }

    #[test]
    fn the_longest_increasing_part_is_kept() {
        let pairs = [(0, 5), (1, 0), (2, 1), (3, 9), (4, 2)];
        assert_eq!(longest_increasing(&pairs), [(1, 0), (2, 1), (4, 2)]);
    }

    /// Four instructions in turn, so that nothing is unique.
    fn repeated(length: usize) -> Vec<Token> {
        let token = |n: usize| Token {
            shape: Shape { loose: n as u64 % 4, exact: n as u64 % 4 },
            begins_block: n == 0,
        };
        (0..length).map(token).collect()
    }

    #[test]
    fn long_sequences_without_anything_unique_are_aligned_in_a_band() {
        let base = repeated(20_000);
        let mut test = base.clone();
        for at in [19_000, 1000] {
            let new = Token { shape: Shape { loose: 9, exact: 9 }, begins_block: false };
            test.splice(at..at, [new, new]);
        }
        let found = align(&base, &test);
        assert_eq!(found.pairs.len(), base.len());
        assert!(!found.is_narrowed && found.pairs.is_sorted());
    }

    #[test]
    fn what_a_band_does_not_hold_is_told() {
        let (base, rows) = (repeated(4000), 4000);
        let mut test = repeated(3000);
        let new = Token { shape: Shape { loose: 9, exact: 9 }, begins_block: false };
        test.splice(0..0, std::iter::repeat_n(new, 1000));
        let found = best(&base, &test, Band::new(rows, rows, NARROWEST * rows));
        assert!(found.is_narrowed);
        let whole = best(&base, &test, Band::new(rows, rows, rows * rows));
        assert_eq!((whole.pairs.len(), whole.is_narrowed), (3000, false));
    }
}
