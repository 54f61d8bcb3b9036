//! Loads that a core knows, from before, to be of what a store in flight has.

/// How often a load found its data in a store before that is foreseen. Of 48 loops of 8 to 96 rounds of a store and a load
/// by other registers, one after another on a Zen 4, the first 15 rounds of each took as long as through the store queue.
const LEARNT: u8 = 15;

/// The loads that found their data in stores most lately.
#[derive(Debug)]
pub struct Foreseen {
    /// Addresses of the instructions, with how often each did: the latest first.
    loads: Vec<(u64, u8)>,
    room: usize,
}

impl Foreseen {
    /// There is room for so many.
    pub fn new(room: usize) -> Foreseen {
        Foreseen { loads: Vec::with_capacity(room), room }
    }

    /// Notes that the load at this address found its data in a store, and tells whether that was foreseen.
    pub fn note(&mut self, address: u64) -> bool {
        if self.room == 0 {
            return false;
        }
        let place = self.loads.iter().position(|load| load.0 == address).unwrap_or_else(|| {
            self.loads.truncate(self.room - 1);
            self.loads.push((address, 0));
            self.loads.len() - 1
        });
        self.loads[..=place].rotate_right(1);
        let times = &mut self.loads[0].1;
        let foreseen = *times == LEARNT;
        *times = (*times + 1).min(LEARNT);
        foreseen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_again_is_foreseen_while_there_is_room() {
        let mut foreseen = Foreseen::new(2);
        let first = |foreseen: &mut Foreseen, address| {
            (0..30).position(|_| foreseen.note(address)).map(|times| times as u8)
        };
        assert_eq!([1, 2].map(|address| first(&mut foreseen, address)), [Some(LEARNT); 2]);
        assert!(foreseen.note(1) && foreseen.note(2), "both are known");
        assert!(!foreseen.note(3));
        assert!(foreseen.note(2) && !foreseen.note(1), "the one that was longest ago has gone");
        assert_eq!(first(&mut Foreseen::new(0), 1), None);
    }
}
