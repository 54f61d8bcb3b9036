//! The instruction that is at an early stage of the pipeline, as AMD's IBS, Arm's SPE, IBM's RIS and
//! interrupts sample (paper A, section 2.1, paper B, section 2).

use std::collections::VecDeque;

use timewise_trace::Record;

use super::{Policy, blame};
use crate::{Parts, Stacks};

/// Where an instruction is tagged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The oldest instruction that is not dispatched.
    Dispatch,
    /// The oldest instruction that is not fetched; also where a program is resumed after an interrupt,
    /// once what was fetched before has been executed.
    Fetch,
}

/// Blames the instruction that is at a stage in the sampled cycle, with the events that it will have been
/// subject to when it commits.
#[derive(Debug, Clone)]
pub struct Tagged {
    stage: Stage,
    /// Tagged instructions by sequence number, with how many samples each has.
    tags: VecDeque<(u64, u64)>,
}

impl Tagged {
    /// Tags instructions at such a stage.
    pub fn new(stage: Stage) -> Self {
        Self { stage, tags: VecDeque::new() }
    }

    fn tag(&mut self, sequence: u64, samples: u64) {
        // A flush moves the stage back, so what is tagged then may be older than the last.
        let place = self.tags.iter().rposition(|&(tagged, _)| tagged <= sequence);
        match place {
            Some(index) if self.tags[index].0 == sequence => self.tags[index].1 += samples,
            _ => self.tags.insert(place.map_or(0, |index| index + 1), (sequence, samples)),
        }
    }

    fn settle(&mut self, record: &Record, stacks: &mut Stacks) {
        for entry in record.commits() {
            while let Some(&(sequence, samples)) = self.tags.front() {
                if sequence > record.sequence(entry) {
                    break;
                }
                if sequence == record.sequence(entry) {
                    blame(entry, None, Parts::cycles(samples), stacks);
                }
                self.tags.pop_front();
            }
        }
    }
}

impl Policy for Tagged {
    #[inline]
    fn step(&mut self, record: &Record, samples: u64, stacks: &mut Stacks) {
        if samples > 0 {
            let sequence = match self.stage {
                Stage::Dispatch => record.dispatch(),
                Stage::Fetch => record.fetch(),
            };
            self.tag(sequence, samples);
        }
        if !self.tags.is_empty() {
            self.settle(record, stacks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Stage, Tagged};

    #[test]
    fn tags_are_kept_in_program_order() {
        let mut tagged = Tagged::new(Stage::Dispatch);
        for (sequence, samples) in [(5, 1), (9, 1), (3, 1), (9, 2), (5, 4), (7, 1)] {
            tagged.tag(sequence, samples);
        }
        assert_eq!(tagged.tags, [(3, 1), (5, 5), (7, 1), (9, 3)]);
    }
}
