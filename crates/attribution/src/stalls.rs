//! Stalls that no event explains: how long instructions without events hold up commit (paper B,
//! section 3).

use timewise_trace::{Record, Worker};

/// A worker that measures how long instructions that were subject to no event wait at the head of the
/// reorder buffer.
#[derive(Debug, Clone)]
pub struct Unexplained {
    waited: u64,
    /// How many stalls were of each length; the last place has the longer ones too.
    lengths: Vec<u64>,
}

impl Default for Unexplained {
    fn default() -> Self {
        Self { waited: 0, lengths: vec![0; 4096] }
    }
}

impl Unexplained {
    /// How many stalls there were.
    pub fn stalls(&self) -> u64 {
        self.lengths.iter().sum()
    }

    /// The length, in cycles, that no more than `1 - part` of the stalls exceed; none without stalls.
    pub fn quantile(&self, part: f64) -> Option<u64> {
        let stalls = self.stalls();
        let rank = (part.clamp(0.0, 1.0) * stalls as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        let found = self.lengths.iter().position(|count| {
            below += count;
            below >= rank
        });
        found.map(|length| length as u64)
    }
}

impl Worker<Record> for Unexplained {
    fn take(&mut self, part: &[Record]) {
        for record in part {
            match record.commits() {
                [] if record.exception().is_some() => self.waited = 0,
                [] => self.waited += if record.is_empty() { 0 } else { u64::from(record.repeat) },
                [oldest, ..] => {
                    if self.waited > 0 && oldest.events.is_base() {
                        let longest = self.lengths.len() - 1;
                        self.lengths
                            [usize::try_from(self.waited).map_or(longest, |waited| waited.min(longest))] += 1;
                    }
                    self.waited = 0;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use timewise_trace::{Psv, Record, Worker};

    use super::Unexplained;

    #[test]
    fn stalls_with_events_are_explained() {
        let mut unexplained = Unexplained::default();
        for (waited, events) in [(4, Psv::BASE), (2, Psv::BASE), (300, Psv::ST_LLC), (6, Psv::BASE)] {
            let stall = Record { repeat: waited, in_flight: 1, valid: 1, ..Record::default() };
            let mut commit = Record { repeat: 1, committing: 1, ..stall };
            commit.entries[0].events = events;
            unexplained.take(&[stall, commit, commit]);
        }
        assert_eq!(unexplained.stalls(), 3);
        assert_eq!([0.0, 0.5, 0.99].map(|part| unexplained.quantile(part)), [Some(2), Some(4), Some(6)]);
        assert_eq!(Unexplained::default().quantile(0.5), None);
    }
}
