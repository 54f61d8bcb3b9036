//! What forked processes find out, for those that are forked after them.
//!
//! A process begins with all that was translated in the one that forked it, and what it translates itself is gone with
//! it: its siblings, which execute much the same, would each do that again. So whoever was forked reports every way that
//! it goes for the first time, on a board that the family shares, and a process that forks goes such ways ahead, as far
//! as two reports name them, since most of what one process does alone nobody does again. Nothing is executed by that, and
//! what was reported is believed as far as the process finds the same code there itself.

use crate::calls;
use crate::dispatch::block_at;
use crate::indirect;
use crate::kinds::Mode;
use crate::link::{self, Way};
use crate::state::{AddressHasher, Process};
use crate::stopwatch::timed;
use crate::sys::filter::is_confined;
use crate::sys::memory;
use crate::unit::MAX_INSTRUCTIONS;
use alloc::vec::Vec;
use core::hash::{BuildHasherDefault, Hasher};
use core::sync::atomic::{AtomicU64, Ordering};
use hashbrown::{HashMap, HashSet};
use timewise_abi::log::edge_kind;
use timewise_abi::thread::ThreadArea;
use timewise_abi::{Failure, IMAGE};
use timewise_isa::MAX_LENGTH;

/// Reports that the board holds; later ones take the place of the earliest.
const CAPACITY: usize = 1 << 14;

/// Where the board is, far behind the runtime's heap.
const PLACE: u64 = IMAGE + (2 << 40);

/// So many ways are gone ahead at once: to find where they begin, all are looked through.
const WORTH_IT: usize = 64;

/// And no more than these, so that a fork does not take long.
const MOST: usize = 4096;

/// Ways that one report names, until they are forgotten.
const MOST_ONCE: usize = 1 << 16;

/// Where a family of processes leaves its reports. All of them write to it, and a program may.
#[repr(C)]
struct Board {
    /// How many there were.
    posted: AtomicU64,
    reports: [Report; CAPACITY],
}

/// A way that a process went.
#[repr(C)]
struct Report {
    /// Which one it is, counted from 1, once it is whole.
    number: AtomicU64,
    /// First instruction of the block that was left.
    from: AtomicU64,
    /// First instruction of the one that was entered.
    to: AtomicU64,
    /// How that was left, and what stands there.
    code: AtomicU64,
}

/// What a report says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Lesson {
    from: u64,
    to: u64,
    /// An [`edge_kind`].
    kind: u16,
    /// Bytes of the block that was entered.
    length: u16,
    /// Their hash.
    hash: u32,
}

impl Lesson {
    fn code(self) -> u64 {
        u64::from(self.hash) | u64::from(self.length) << 32 | u64::from(self.kind) << 48
    }

    /// The name of the way.
    fn key(self) -> u64 {
        let mut hasher = AddressHasher::default();
        [self.from, self.to, self.code()].into_iter().for_each(|word| hasher.write_u64(word));
        hasher.finish()
    }
}

/// What a process knows of the reports of its family.
#[derive(Default)]
pub struct Lessons {
    board: Option<&'static Board>,
    /// Whether it was forked, so that others may come after it.
    reports: bool,
    /// How many reports it has looked at.
    read: u64,
    /// The [`Lesson::key`] of ways that one report named.
    once: HashSet<u64, BuildHasherDefault<AddressHasher>>,
    /// Ways that two named, and that are to be gone.
    twice: Vec<Lesson>,
}

impl Lessons {
    /// The process was forked.
    pub fn begin(&mut self) {
        self.reports = true;
    }

    /// Looks at the reports that came since.
    fn read_on(&mut self, board: &Board) {
        let posted = board.posted.load(Ordering::Acquire);
        self.read = self.read.max(posted.saturating_sub(CAPACITY as u64));
        while self.read < posted && self.twice.len() < MOST {
            let lesson = board.read(self.read);
            self.read += 1;
            let Some(lesson) = lesson else { continue };
            if self.once.len() >= MOST_ONCE {
                self.once.clear();
            }
            if !self.once.insert(lesson.key()) {
                self.twice.push(lesson);
            }
        }
    }
}

impl Board {
    /// A new one, that those whom the process forks share with it.
    fn put_up() -> Option<&'static Board> {
        memory::map_shared_at(PLACE, size_of::<Board>().next_multiple_of(4096) as u64).ok()?;
        // SAFETY: just mapped for good, and zero is none of any report.
        Some(unsafe { &*(PLACE as *const Board) })
    }

    /// Should another process write or read the same place meanwhile, as after a whole round, what is read is of both, and
    /// no way that anybody can go.
    fn post(&self, lesson: Lesson) {
        let number = self.posted.fetch_add(1, Ordering::AcqRel);
        let report = &self.reports[number as usize % CAPACITY];
        report.from.store(lesson.from, Ordering::Relaxed);
        report.to.store(lesson.to, Ordering::Relaxed);
        report.code.store(lesson.code(), Ordering::Relaxed);
        report.number.store(number + 1, Ordering::Release);
    }

    /// Report number `number`, counted from 0, if it is there and whole.
    fn read(&self, number: u64) -> Option<Lesson> {
        let report = &self.reports[number as usize % CAPACITY];
        let is_it = report.number.load(Ordering::Acquire) == number + 1;
        let code = report.code.load(Ordering::Relaxed);
        is_it.then(|| Lesson {
            from: report.from.load(Ordering::Relaxed),
            to: report.to.load(Ordering::Relaxed),
            kind: (code >> 48) as u16,
            length: (code >> 32) as u16,
            hash: code as u32,
        })
    }
}

/// The process, if it was forked, reports that it went from block `from` to block `to` for the first time, if that is
/// of a file.
pub fn report(process: &Process, from: u32, kind: u16, to: u32) {
    let Some(board) = process.lessons.board.filter(|_| process.lessons.reports) else { return };
    let [from, to] = [from, to].map(|block| &process.blocks[block as usize]);
    if is_way(kind) && from.mode == Mode::Count && process.space.is_settled(to.address) {
        let (length, hash) = (to.length, hash(to.code()));
        board.post(Lesson { from: from.address, to: to.address, kind, length, hash });
    }
}

/// Whether an edge of a kind is the program's own way, to be gone in any process.
fn is_way(kind: u16) -> bool {
    matches!(kind, edge_kind::FALLTHROUGH..=edge_kind::SYSTEM_CALL)
}

/// The process is about to fork, by a thread at the end of block `at`: goes the ways that its children reported.
pub fn learn(process: &mut Process, area: &mut ThreadArea, at: u32) {
    // A process that may not ask the kernel for memory, nor whether some is there, does without.
    if is_confined() {
        return;
    }
    process.mode = Mode::of(area);
    let lessons = &mut process.lessons;
    let Some(board) = lessons.board else {
        lessons.board = Board::put_up();
        return;
    };
    lessons.read_on(board);
    if lessons.twice.len() < WORTH_IT || process.mode != Mode::Count {
        return;
    }
    let lessons = core::mem::take(&mut lessons.twice);
    timed(process, |process| {
        let mut ends = Ends::default();
        for lesson in lessons {
            ends.read_on(process);
            // Without room for it, nothing more is learnt.
            let Ok(is_new) = go(process, &ends, lesson) else { return };
            if is_new {
                calls::relink(process, area, at);
            }
        }
    });
}

/// Goes a way ahead: links it, with what it leads to translated if need be. Whether it was new.
fn go(process: &mut Process, ends: &Ends, lesson: Lesson) -> Result<bool, Failure> {
    let Lesson { to, kind, .. } = lesson;
    let Some(from) = process.known_block(lesson.from) else { return Ok(false) };
    if process.known_block(to).is_none() && !(process.space.is_settled(to) && stands(lesson)) {
        return Ok(false);
    }
    let way = match kind {
        edge_kind::INDIRECT_JUMP | edge_kind::INDIRECT_CALL | edge_kind::RETURN => {
            let site = ends.sites.get(&from).copied();
            site.map(|site| (indirect::table_number(site), indirect::index_of(site, to)))
                .map(|(table, index)| Way::Indirect { table, index })
        }
        _ => {
            let exit = ends.exits.get(&(from, to)).copied();
            exit.filter(|&exit| !process.exits[exit as usize].linked).map(Way::Exit)
        }
    };
    let Some(way) = way else { return Ok(false) };
    let (block, led) = match block_at(process, to, Some(way)) {
        Ok(Some(found)) => found,
        Ok(None) | Err(Failure::Unsupported) => return Ok(false),
        Err(failure) => return Err(failure),
    };
    match way {
        Way::Exit(exit) => link::exit(process, exit, block, led)?,
        Way::Indirect { table, index } => link::indirect(process, (table, index), to, block, led)?,
    };
    Ok(true)
}

/// Whether the code that was reported stands in this process as well. It is a file's: a page of other memory may be one
/// that somebody waits for to be touched (`userfaultfd`).
fn stands(lesson: Lesson) -> bool {
    let mut code = [0; MAX_INSTRUCTIONS * MAX_LENGTH];
    let Some(code) = code.get_mut(..usize::from(lesson.length)) else { return false };
    memory::read(lesson.to, code) == code.len() && hash(code) == lesson.hash
}

fn hash(code: &[u8]) -> u32 {
    let mut hasher = AddressHasher::default();
    let (words, rest) = code.as_chunks::<8>();
    words.iter().for_each(|word| hasher.write_u64(u64::from_le_bytes(*word)));
    hasher.write(rest);
    hasher.finish() as u32
}

/// Where ways begin.
#[derive(Default)]
struct Ends {
    /// Exits by the block that they leave and where they lead.
    exits: HashMap<(u32, u64), u32, BuildHasherDefault<AddressHasher>>,
    /// Indirect branches by their block.
    sites: HashMap<u32, u32, BuildHasherDefault<AddressHasher>>,
    /// How many exits were looked at, and sites of each table.
    read: (usize, Vec<usize>),
}

impl Ends {
    /// Takes in those that are new.
    fn read_on(&mut self, process: &Process) {
        let (exits, sites) = &self.read;
        for (number, exit) in process.exits.iter().enumerate().skip(*exits) {
            if !exit.linked && is_way(exit.kind) {
                self.exits.insert((exit.from, exit.target), number as u32);
            }
        }
        self.sites.extend(process.sites.beyond(sites).map(|(number, site)| (site.from, number)));
        self.read = (process.exits.len(), process.sites.counts().collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::boxed::Box;

    fn lesson(from: u64) -> Lesson {
        Lesson { from, to: 0x2000, kind: edge_kind::CALL, length: 7, hash: 0xfedc_ba98 }
    }

    fn board() -> Box<Board> {
        // SAFETY: zero is none of any report.
        unsafe { Box::new_zeroed().assume_init() }
    }

    #[test]
    fn what_two_reports_name_is_learnt() {
        let board = board();
        let mut lessons = Lessons::default();
        board.post(lesson(1));
        board.post(lesson(2));
        lessons.read_on(&board);
        assert_eq!(lessons.twice, []);
        board.post(lesson(2));
        board.post(lesson(3));
        lessons.read_on(&board);
        assert_eq!(lessons.twice, [lesson(2)]);
    }

    #[test]
    fn reports_that_later_ones_took_the_place_of_are_gone() {
        let board = board();
        let mut lessons = Lessons::default();
        for number in 0..CAPACITY as u64 + 10 {
            board.post(lesson(number));
        }
        lessons.read_on(&board);
        assert_eq!(lessons.once.len(), CAPACITY);
        assert!(!lessons.once.contains(&lesson(9).key()));
        assert!(lessons.once.contains(&lesson(10).key()));
    }

    #[test]
    fn a_report_that_is_not_whole_is_none() {
        let board = board();
        board.posted.store(1, Ordering::Relaxed);
        assert_eq!(board.read(0), None);
    }
}
