//! A cache of lines (or of pages, as TLBs are), least recently used out first, that knows when each line comes.

/// A line: which it is, and from when on it is there.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// Its number, or [`NONE`].
    number: u64,
    /// When it was asked for.
    asked: u64,
    /// When it is there.
    ready: u64,
    /// It was written to.
    dirty: bool,
}

const NONE: u64 = u64::MAX;

/// What a cache knows of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// It is there.
    Present,
    /// It was asked for and comes in this cycle.
    Coming(u64),
    /// It is not there.
    Absent,
}

/// A set-associative cache.
#[derive(Debug)]
pub struct Cache {
    ways: usize,
    sets: u64,
    /// By how much a line's number is shifted before it is added to itself without carries to tell its set; so far that
    /// nothing is left if its set follows from its lowest bits alone.
    fold: u32,
    /// Each set's lines, the latest used first.
    lines: Vec<Line>,
}

impl Cache {
    /// A cache of so many sets and ways.
    pub fn new(sets: usize, ways: usize) -> Cache {
        let empty = Line { number: NONE, asked: 0, ready: 0, dirty: false };
        Cache { ways, sets: sets as u64, fold: u64::BITS - 1, lines: vec![empty; sets * ways] }
    }

    /// One of which the set of a line follows from the bits above the lowest, too.
    pub fn hashed(sets: usize, ways: usize) -> Cache {
        Cache { fold: sets.next_power_of_two().trailing_zeros().max(1), ..Cache::new(sets, ways) }
    }

    #[inline]
    fn set(&mut self, number: u64) -> &mut [Line] {
        let number = number ^ number >> self.fold;
        let set = match self.sets.is_power_of_two() {
            true => number & (self.sets - 1),
            false => number % self.sets,
        } as usize;
        &mut self.lines[set * self.ways..(set + 1) * self.ways]
    }

    /// Looks for a line at `cycle` and notes that it was used. A line that was asked for only after that cycle,
    /// by an instruction that is older but came to it later, is asked for now, and comes earlier by as much.
    #[inline]
    pub fn find(&mut self, number: u64, cycle: u64) -> Found {
        let set = self.set(number);
        if set[0].number != number {
            let Some(way) = set.iter().position(|line| line.number == number) else { return Found::Absent };
            set[..=way].rotate_right(1);
        }
        let line = &mut set[0];
        if cycle >= line.ready {
            return Found::Present;
        }
        if cycle < line.asked {
            line.ready -= line.asked - cycle;
            line.asked = cycle;
        }
        Found::Coming(line.ready)
    }

    /// Uses a line outside of time: it is there from now on. True if it was.
    pub fn touch(&mut self, number: u64) -> bool {
        let found = self.find(number, u64::MAX) == Found::Present;
        if !found {
            self.fill(number, 0, 0);
        }
        found
    }

    /// Whether a line is there or coming, without using it.
    pub fn holds(&mut self, number: u64) -> bool {
        self.set(number).iter().any(|line| line.number == number)
    }

    /// Puts a line in that was asked for at `asked` and comes at `ready`; gives the line that had to leave if it
    /// was written to.
    #[inline]
    pub fn fill(&mut self, number: u64, asked: u64, ready: u64) -> Option<u64> {
        let set = self.set(number);
        set.rotate_right(1);
        let out = std::mem::replace(&mut set[0], Line { number, asked, ready, dirty: false });
        out.dirty.then_some(out.number)
    }

    /// Throws a line out; false if it is not there.
    #[inline]
    pub fn drop(&mut self, number: u64) -> bool {
        let line = self.set(number).iter_mut().find(|line| line.number == number);
        line.map(|line| line.number = NONE).is_some()
    }

    /// Throws a line out; true if it was written to.
    pub fn evict(&mut self, number: u64) -> bool {
        let Some(line) = self.set(number).iter_mut().find(|line| line.number == number) else { return false };
        line.number = NONE;
        std::mem::take(&mut line.dirty)
    }

    /// Marks a line as written to; false if it is not there.
    #[inline]
    pub fn write(&mut self, number: u64) -> bool {
        let line = self.set(number).iter_mut().find(|line| line.number == number);
        line.map(|line| line.dirty = true).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::{Cache, Found};

    #[test]
    fn the_least_recently_used_leaves() {
        let mut cache = Cache::new(1, 2);
        cache.fill(1, 0, 0);
        cache.fill(2, 0, 0);
        assert_eq!(cache.find(1, 5), Found::Present);
        cache.fill(3, 5, 5);
        assert_eq!([1, 2, 3].map(|n| cache.find(n, 9)), [Found::Present, Found::Absent, Found::Present]);
    }

    #[test]
    fn lines_of_other_sets_do_not_disturb() {
        let mut cache = Cache::new(4, 1);
        (0..4).for_each(|n| assert!(cache.fill(n, 0, 0).is_none()));
        assert!((0..4).all(|n| cache.find(n, 1) == Found::Present));
    }

    /// Lines that are as far apart as there are sets, or as half of them, all have the same set or two of them.
    #[test]
    fn a_hash_spreads_strides_over_the_sets() {
        for stride in [8, 16] {
            let left = |mut cache: Cache| {
                (0..16).for_each(|n| _ = cache.fill(n * stride, 0, 0));
                (0..16).filter(|n| cache.holds(n * stride)).count()
            };
            assert_eq!([left(Cache::hashed(16, 1)), left(Cache::new(16, 1))], [16, 16 / stride as usize]);
        }
    }

    #[test]
    fn lines_come_when_they_come() {
        let mut cache = Cache::new(1, 1);
        cache.fill(7, 100, 180);
        assert_eq!(cache.find(7, 120), Found::Coming(180));
        assert_eq!(cache.find(7, 180), Found::Present);
    }

    #[test]
    fn a_younger_access_may_come_first() {
        let mut cache = Cache::new(1, 1);
        cache.fill(7, 1000, 1080);
        assert_eq!(cache.find(7, 200), Found::Coming(280));
        assert_eq!(cache.find(7, 1000), Found::Present);
    }

    #[test]
    fn what_was_written_is_told_when_it_leaves() {
        let mut cache = Cache::new(1, 1);
        assert!(!cache.write(1));
        cache.fill(1, 0, 0);
        assert!(cache.write(1));
        assert_eq!(cache.fill(2, 0, 0), Some(1));
        assert_eq!(cache.fill(3, 0, 0), None);
        cache.write(3);
        assert!(cache.evict(3) && !cache.evict(3));
        assert_eq!(cache.fill(4, 0, 0), None, "it has left before");
    }
}
