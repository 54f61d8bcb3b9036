//! Execution ports: in each cycle each takes one µop.

/// Cycles ahead for which ports are booked; beyond, ports are always free.
const HORIZON: u64 = 1 << 14;

/// What is known to be full of a set of ports: no cycle in the span has one free.
#[derive(Clone, Copy, Debug, Default)]
struct Full {
    begin: u64,
    end: u64,
}

/// The ports of a core.
#[derive(Debug)]
pub struct Ports {
    /// Of each cycle in a ring, which ports are taken.
    taken: Vec<u32>,
    /// The first cycle that may still be asked for.
    low: u64,
    /// For each set of ports.
    full: Vec<Full>,
    /// µops that each port has taken: of several free ones, the one with the fewest is chosen.
    load: [u32; 32],
}

impl Ports {
    /// Free ports; `sets` is how many sets of ports are told apart.
    pub fn new(sets: usize) -> Ports {
        let taken = vec![0; HORIZON as usize];
        Ports { taken, low: 0, full: vec![Full::default(); sets], load: [0; 32] }
    }

    /// Forgets what was booked before this cycle: nobody asks for it any more.
    #[inline]
    pub fn forget(&mut self, before: u64) {
        if before <= self.low {
            return;
        }
        if before - self.low >= HORIZON {
            self.taken.fill(0);
        } else {
            for cycle in self.low..before {
                self.taken[(cycle % HORIZON) as usize] = 0;
            }
        }
        self.low = before;
    }

    /// Books a port of the set, which has this number, from the first cycle on from `ready` in which one is free
    /// for so many `cycles`; gives that cycle.
    #[inline]
    pub fn take(&mut self, number: usize, set: u32, ready: u64, cycles: u64) -> u64 {
        let full = self.full[number];
        let mut at = if (full.begin..full.end).contains(&ready) { full.end } else { ready };
        let begin = at;
        let end = self.low + HORIZON;
        let free = loop {
            if at + cycles > end {
                return at;
            }
            let free = set & !self.taken[(at % HORIZON) as usize];
            if free != 0 {
                let free = if cycles == 1 { free } else { self.long(free, at, cycles) };
                if free != 0 {
                    break free;
                }
            }
            at += 1;
        };
        if cycles == 1 && at > begin {
            let full = &mut self.full[number];
            *full = match begin == full.end {
                true => Full { end: at, ..*full },
                false => Full { begin, end: at },
            };
        }
        let port = self.least_loaded(free);
        self.load[port as usize] += 1;
        if self.load[port as usize] == 1 << 16 {
            self.load.iter_mut().for_each(|load| *load /= 2);
        }
        for cycle in at..at + cycles {
            self.taken[(cycle % HORIZON) as usize] |= 1 << port;
        }
        at
    }

    /// Those of the ports that stay free.
    fn long(&self, free: u32, at: u64, cycles: u64) -> u32 {
        (at..at + cycles).fold(free, |free, cycle| free & !self.taken[(cycle % HORIZON) as usize])
    }

    #[inline]
    fn least_loaded(&self, set: u32) -> u32 {
        let mut best = set.trailing_zeros();
        let mut rest = set & (set - 1);
        while rest != 0 {
            let port = rest.trailing_zeros();
            if self.load[port as usize] < self.load[best as usize] {
                best = port;
            }
            rest &= rest - 1;
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::Ports;

    #[test]
    fn each_port_takes_one_a_cycle() {
        let mut ports = Ports::new(2);
        let got: Vec<u64> = (0..5).map(|_| ports.take(0, 0b11, 10, 1)).collect();
        assert_eq!(got, [10, 10, 11, 11, 12]);
        assert_eq!(ports.take(1, 0b100, 10, 1), 10, "another port is free");
    }

    #[test]
    fn a_gap_is_used_by_who_is_ready_for_it() {
        let mut ports = Ports::new(1);
        assert_eq!(ports.take(0, 1, 20, 1), 20);
        assert_eq!(ports.take(0, 1, 5, 1), 5);
        assert_eq!(ports.take(0, 1, 5, 1), 6);
        assert_eq!(ports.take(0, 1, 20, 1), 21);
    }

    #[test]
    fn a_divider_is_busy() {
        let mut ports = Ports::new(1);
        assert_eq!([0; 3].map(|_| ports.take(0, 1, 0, 5)), [0, 5, 10]);
    }

    #[test]
    fn flexible_work_leaves_the_crowded_port_alone() {
        let mut ports = Ports::new(2);
        for cycle in 0..100 {
            ports.forget(cycle);
            assert_eq!(ports.take(0, 0b01, cycle, 1), cycle);
            assert_eq!(ports.take(1, 0b11, cycle, 1), cycle);
        }
    }
}
