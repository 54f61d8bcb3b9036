//! A link that lets one line pass every so many cycles: to memory, between caches.

/// How many lines ahead can be booked; who asks for later passes at once.
const HORIZON: u64 = 1 << 14;

/// Steps of time within a cycle, for links that need a fraction of a cycle for a line.
const STEPS: u64 = 16;

/// A link between two levels of the memory hierarchy.
#[derive(Debug)]
pub struct Link {
    /// Steps for a line.
    steps: u64,
    /// A bit for each passage, in a ring.
    taken: Vec<u64>,
    /// The first passage that may still be asked for.
    low: u64,
}

impl Link {
    /// A link on which a line takes so many cycles; 0 for one without limit.
    pub fn new(cycles_per_line: f64) -> Link {
        let steps = (cycles_per_line * STEPS as f64).round() as u64;
        Link { steps, taken: vec![0; (HORIZON / 64) as usize], low: 0 }
    }

    /// Forgets what was booked before this cycle: nobody asks for it any more.
    #[inline]
    pub fn forget(&mut self, before: u64) {
        if self.steps == 0 {
            return;
        }
        let low = before * STEPS / self.steps;
        // On a wrong path cycles are asked for that were forgotten before it was known to be one.
        if low / 64 <= self.low / 64 {
            return;
        }
        let words = (low / 64 - self.low / 64).min(HORIZON / 64);
        for word in 0..words {
            let at = (self.low / 64 + word) % (HORIZON / 64);
            self.taken[at as usize] = 0;
        }
        self.low = low / 64 * 64;
    }

    /// Books the first passage from `cycle` on and gives the cycle in which it begins.
    #[inline]
    pub fn pass(&mut self, cycle: u64) -> u64 {
        if self.steps == 0 {
            return cycle;
        }
        let first = (cycle * STEPS).div_ceil(self.steps).max(self.low);
        let end = self.low + HORIZON - 64;
        let mut passage = first;
        while passage < end {
            let word = &mut self.taken[(passage / 64 % (HORIZON / 64)) as usize];
            let bit = passage % 64;
            let free = u64::from((*word >> bit).trailing_ones());
            if bit + free < 64 {
                passage += free;
                *word |= 1 << (passage % 64);
                return (passage * self.steps / STEPS).max(cycle);
            }
            passage += 64 - bit;
        }
        cycle
    }
}

#[cfg(test)]
mod tests {
    use super::Link;

    #[test]
    fn lines_queue_up() {
        let mut link = Link::new(4.0);
        assert_eq!([link.pass(100), link.pass(100), link.pass(100)], [100, 104, 108]);
        assert_eq!(link.pass(50), 52, "a gap before what is booked is used");
        assert_eq!(link.pass(102), 112);
    }

    #[test]
    fn fractions_of_a_cycle() {
        let mut link = Link::new(0.5);
        assert_eq!([link.pass(8), link.pass(8), link.pass(8)], [8, 8, 9]);
    }

    #[test]
    fn what_is_forgotten_does_not_come_back() {
        let mut link = Link::new(1.0);
        link.forget(1000);
        assert_eq!(link.pass(1100), 1100);
        link.forget(900);
        assert_eq!(link.pass(1100), 1101, "what is booked stays booked");
    }

    #[test]
    fn what_is_long_past_is_forgotten() {
        let mut link = Link::new(1.0);
        for cycle in (0..100_000).step_by(10) {
            link.forget(cycle);
            assert_eq!([link.pass(cycle), link.pass(cycle)], [cycle, cycle + 1]);
        }
    }
}
