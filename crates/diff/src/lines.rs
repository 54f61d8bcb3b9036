//! Which source line of one profile is which of another: lines move when code is put in above them, so lines
//! are paired by the instructions that were made from them, as far as these agree with each other.

use crate::chain::{self, Link};
use crate::moves::{ModuleFile, Moves};
use crate::pairing::Pairing;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;
use timewise_flow::Analysis;
use timewise_flow::lines::SourceLine;
use timewise_flow::{InstructionId, RoutineId};
use timewise_profile::ModuleId;

/// A source line as compiled into a module.
pub type ModuleLine = (ModuleId, SourceLine);

/// What an instruction in common counts, what an equal number does beside it, and what it does that a line lies where the
/// functions around it say: more than one instruction, which other compilers' code has in common by chance.
const OF_CODE: u64 = 4;
const OF_NUMBER: u64 = 1;
const OF_PLACE: u64 = 6;

/// Of lines that are not where the others of their file are, the share of the smaller one's instructions whose partners
/// must lie in the other.
const ENOUGH: f64 = 0.5;

/// The lines of an analysis, and which of them each instruction belongs to.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// In order of module, file and number.
    pub all: Vec<ModuleLine>,
    /// Position in `all` of each instruction's line, by instruction; `None` where no line is known.
    pub of: Vec<Option<u32>>,
}

impl Lines {
    /// The lines of everything that was executed.
    pub fn new(analysis: &Analysis) -> Lines {
        let (all, of) = analysis.lines();
        Lines { all, of }
    }

    /// Of which routines and of which modules any line is known.
    fn known(&self, analysis: &Analysis) -> Known {
        let [routines, modules] = [analysis.routines.len(), analysis.profile.modules.len()];
        let mut known = Known { routines: vec![false; routines], modules: vec![false; modules] };
        for (id, _) in (0..).map(InstructionId).zip(&self.of).filter(|(_, line)| line.is_some()) {
            let owner = analysis.owner[analysis.block_of(id).index()];
            known.routines[owner.index()] = true;
            known.modules[analysis.code.place(id).module.index()] = true;
        }
        known
    }

    /// Takes out the lines of routines that a test names.
    fn take_out(&mut self, analysis: &Analysis, is_out: impl Fn(RoutineId) -> bool) {
        for (id, line) in (0..).map(InstructionId).zip(&mut self.of) {
            *line = line.filter(|_| !is_out(analysis.owner[analysis.block_of(id).index()]));
        }
        let mut numbers = vec![None; self.all.len()];
        self.of.iter().flatten().for_each(|&line| numbers[line as usize] = Some(0));
        (0..).zip(numbers.iter_mut().flatten()).for_each(|(number, of)| *of = number);
        let kept = self.all.iter().zip(&numbers).filter(|(_, number)| number.is_some());
        self.all = kept.map(|(line, _)| *line).collect();
        self.of.iter_mut().for_each(|line| *line = line.and_then(|line| numbers[line as usize]));
    }

    /// The lines of each file of each module.
    fn files(&self) -> Vec<Range<u32>> {
        let mut files: Vec<Range<u32>> = Vec::new();
        for file in self.all.chunk_by(|a, b| (a.0, a.1.file) == (b.0, b.1.file)) {
            let start = files.last().map_or(0, |before| before.end);
            files.push(start..start + file.len() as u32);
        }
        files
    }

    /// The file of some lines of one.
    fn file(&self, of: &Range<u32>) -> ModuleFile {
        let (module, line) = self.all[of.start as usize];
        (module, line.file)
    }

    fn number(&self, at: u32) -> u32 {
        self.all[at as usize].1.line
    }

    /// The line with a number, of some of one file.
    fn numbered(&self, of: &Range<u32>, number: u32) -> Option<u32> {
        let lines = self.all.get(of.start as usize..of.end as usize)?;
        lines.binary_search_by_key(&number, |line| line.1.line).ok().map(|at| of.start + at as u32)
    }
}

/// What lines are known of.
struct Known {
    routines: Vec<bool>,
    modules: Vec<bool>,
}

/// The lines of two analyses, but those of code of which the other side has none: of a routine with a partner without
/// lines, or without a partner in a module whose partner has none, as that of a stripped build. Those are neither gone nor
/// new.
pub fn of_both(base: &Analysis, test: &Analysis, modules: &Pairing, routines: &Pairing) -> (Lines, Lines) {
    let (mut ours, mut theirs) = (Lines::new(base), Lines::new(test));
    let (of_base, of_test) = (ours.known(base), theirs.known(test));
    let is_out = |other: &Known, partners: [Option<u32>; 2]| match partners {
        [Some(routine), _] => !other.routines[routine as usize],
        [None, Some(module)] => !other.modules[module as usize],
        [None, None] => false,
    };
    let module = |analysis: &Analysis, routine: RoutineId| analysis.routines[routine.index()].place.module.0;
    ours.take_out(base, |routine| {
        let partners = [routines.of_base(routine.0), modules.of_base(module(base, routine))];
        is_out(&of_test, partners)
    });
    theirs.take_out(test, |routine| {
        let partners = [routines.of_test(routine.0), modules.of_test(module(test, routine))];
        is_out(&of_base, partners)
    });
    (ours, theirs)
}

/// Pairs the lines of two analyses whose instructions are paired. Lines of a file mostly keep their order, and those that
/// nothing was put in above their numbers: of each two files that belong together, the lines that have most in common
/// without a change of order are partners, where it counts, too, that a line moved as far as the functions before and behind
/// it; then those between two partners that moved as far as both. Of the rest, whose code was moved, those are that have
/// most of their code in common.
pub fn pair(base: &Lines, test: &Lines, instructions: &Pairing, moves: &Moves) -> Pairing {
    let common = common(base, test, instructions);
    let mut pairing = Pairing::new(base.all.len(), test.all.len());
    for (ours, theirs, mut links) in files(base, test, &common, moves) {
        links.iter_mut().filter(|link| is_same((base, test), link)).for_each(|link| link.weight += OF_NUMBER);
        let kept = chain::heaviest(with_places((base, &ours), (test, &theirs), moves, links));
        kept.iter().for_each(|&(base, test)| pairing.pair(base, test));
        let before = [None].into_iter().chain(kept.iter().copied().map(Some));
        let after = kept.iter().copied().map(Some).chain([None]);
        for (before, after) in before.zip(after) {
            moved_alike((base, &ours, before), (test, &theirs, after), &mut pairing);
        }
    }
    let (ours, theirs) = (sizes(base), sizes(test));
    let share =
        |&((a, b), both): &(_, u32)| f64::from(both) / f64::from(ours[a as usize].min(theirs[b as usize]));
    let mut rest: Vec<((u32, u32), u32)> = common.into_iter().filter(|row| share(row) >= ENOUGH).collect();
    rest.sort_unstable_by_key(|(lines, both)| (Reverse(*both), *lines));
    rest.into_iter().for_each(|((base, test), _)| pairing.pair(base, test));
    pairing
}

/// How many instructions of a line of BASE have their partners in one of TEST.
fn common(base: &Lines, test: &Lines, instructions: &Pairing) -> HashMap<(u32, u32), u32> {
    let mut common = HashMap::new();
    for (id, line) in base.of.iter().enumerate() {
        let partner = instructions.of_base(id as u32).and_then(|partner| test.of[partner as usize]);
        if let (Some(ours), Some(theirs)) = (line, partner) {
            *common.entry((*ours, theirs)).or_default() += 1;
        }
    }
    common
}

/// Which file of BASE, as compiled into a module, is which of TEST: those that have most code in common first, and of the
/// rest those of one path. As the lines of each, with those that have code in common.
fn files(
    base: &Lines,
    test: &Lines,
    common: &HashMap<(u32, u32), u32>,
    moves: &Moves,
) -> Vec<(Range<u32>, Range<u32>, Vec<Link>)> {
    let (ours, theirs) = (base.files(), test.files());
    let of = |files: &[Range<u32>], line: u32| files.partition_point(|lines| lines.end <= line);
    let mut links: HashMap<(usize, usize), Vec<Link>> = HashMap::new();
    for (&(base, test), &both) in common {
        let link = Link { base, test, weight: OF_CODE * u64::from(both) };
        links.entry((of(&ours, base), of(&theirs, test))).or_default().push(link);
    }
    let weight = |links: &[Link]| links.iter().map(|link| link.weight).sum::<u64>();
    let mut links: Vec<_> = links.into_iter().collect();
    links.sort_by_cached_key(|(files, links)| (Reverse(weight(links)), *files));
    let mut pairing = Pairing::new(ours.len(), theirs.len());
    let mut paired = Vec::new();
    for ((one, other), links) in links {
        if pairing.is_free(one as u32, other as u32) {
            pairing.pair(one as u32, other as u32);
            paired.push((ours[one].clone(), theirs[other].clone(), links));
        }
    }
    // Of those without any code in common, those of one path.
    let by_file: HashMap<ModuleFile, usize> =
        theirs.iter().enumerate().map(|(at, lines)| (test.file(lines), at)).collect();
    for (one, lines) in ours.iter().enumerate() {
        let other = moves.of_path(base.file(lines)).and_then(|file| by_file.get(&file));
        if let Some(&other) = other.filter(|other| pairing.is_free(one as u32, **other as u32)) {
            pairing.pair(one as u32, other as u32);
            paired.push((lines.clone(), theirs[other].clone(), Vec::new()));
        }
    }
    paired
}

/// Links of lines of two files, with those that lie where the functions around them say.
fn with_places(
    (base, ours): (&Lines, &Range<u32>),
    (test, theirs): (&Lines, &Range<u32>),
    moves: &Moves,
    mut links: Vec<Link>,
) -> Vec<Link> {
    let files = (base.file(ours), test.file(theirs));
    let in_place = |line: u32| {
        let number = i64::from(base.number(line)) + moves.of(files, base.number(line))?;
        Some((line, test.numbered(theirs, u32::try_from(number).ok()?)?))
    };
    let weight = if moves.are_told(files) { OF_PLACE } else { OF_NUMBER };
    let mut in_place: HashMap<u32, u32> = ours.clone().filter_map(in_place).collect();
    for link in &mut links {
        if in_place.get(&link.base) == Some(&link.test) {
            link.weight += weight;
            in_place.remove(&link.base);
        }
    }
    links.extend(in_place.into_iter().map(|(base, test)| Link { base, test, weight }));
    links
}

/// Whether two lines have the same number.
fn is_same((base, test): (&Lines, &Lines), link: &Link) -> bool {
    base.number(link.base) == test.number(link.test)
}

/// Pairs the lines of two files between two pairs that moved by as many lines, or beyond the first or last of them, by as
/// many as that moved.
fn moved_alike(
    (base, ours, before): (&Lines, &Range<u32>, Option<(u32, u32)>),
    (test, theirs, after): (&Lines, &Range<u32>, Option<(u32, u32)>),
    pairing: &mut Pairing,
) {
    let moved = |(ours, theirs): (u32, u32)| i64::from(test.number(theirs)) - i64::from(base.number(ours));
    let by = match (before.map(moved), after.map(moved)) {
        (Some(before), Some(after)) if before != after => return,
        (Some(by), _) | (None, Some(by)) => by,
        (None, None) => return,
    };
    let (ours_from, theirs_from) = before.map_or((ours.start, theirs.start), |(a, b)| (a + 1, b + 1));
    let (ours_to, theirs_to) = after.unwrap_or((ours.end, theirs.end));
    for ours in ours_from..ours_to {
        let number = u32::try_from(i64::from(base.number(ours)) + by).ok();
        if let Some(theirs) = number.and_then(|number| test.numbered(&(theirs_from..theirs_to), number)) {
            pairing.pair(ours, theirs);
        }
    }
}

/// Instructions of each line.
fn sizes(lines: &Lines) -> Vec<u32> {
    let mut sizes = vec![0; lines.all.len()];
    lines.of.iter().flatten().for_each(|&line| sizes[line as usize] += 1);
    sizes
}
