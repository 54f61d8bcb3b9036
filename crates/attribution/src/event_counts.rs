//! How often instructions were executed and events occurred, and whether that tells what they cost (paper B, section 5.3).

use timewise_trace::{Committed, Psv, Record, Worker};

use crate::Stacks;
use crate::by_instruction::ByInstruction;

/// A worker that counts, for each static instruction, executions, and those that were subject to each event.
#[derive(Debug, Clone, Default)]
pub struct EventCounts {
    committed: Committed,
    /// By instruction: executions.
    executed: ByInstruction<u64>,
    /// By instruction and event.
    of: ByInstruction<[u64; 9]>,
    /// Executions with no event, with one, with several together.
    executions: [u64; 3],
}

impl EventCounts {
    /// Executions of an instruction.
    pub fn executed(&self, instruction: u32) -> u64 {
        self.executed.get(instruction).copied().unwrap_or_default()
    }

    /// Executions of an instruction that were subject to an event, one of the nine.
    pub fn count(&self, instruction: u32, event: Psv) -> u64 {
        let counts = self.of.get(instruction).copied().unwrap_or_default();
        Psv::ALL.events().zip(counts).find(|(known, _)| *known == event).map_or(0, |(_, count)| count)
    }

    /// Executions of all instructions that were subject to an event, one of the nine.
    pub fn all(&self, event: Psv) -> u64 {
        self.of.iter().map(|(instruction, _)| self.count(instruction, event)).sum()
    }

    /// The same with instructions numbered anew, several of them by one number if need be. Counts of those that have no
    /// new number are left out by instruction.
    pub fn renumbered(&self, number: impl Fn(u32) -> Option<u32>) -> Self {
        let mut counts = Self { executions: self.executions, ..Self::default() };
        for (instruction, executed) in self.executed.iter().filter(|(_, executed)| **executed > 0) {
            if let Some(instruction) = number(instruction) {
                *counts.executed.at(instruction) += executed;
            }
        }
        for (instruction, of) in self.of.iter().filter(|(_, of)| of.iter().any(|&count| count > 0)) {
            if let Some(instruction) = number(instruction) {
                add(counts.of.at(instruction), of);
            }
        }
        counts
    }

    /// Adds what was counted of another core, with instructions of the same numbers.
    pub fn merge(&mut self, other: &Self) {
        other.executed.iter().for_each(|(number, executed)| *self.executed.at(number) += executed);
        other.of.iter().for_each(|(number, of)| add(self.of.at(number), of));
        self.executions.iter_mut().zip(&other.executions).for_each(|(sum, more)| *sum += more);
    }

    /// Of the executions that were subject to an event, the part that was subject to several.
    pub fn combined(&self) -> f64 {
        let [_, one, several] = self.executions;
        if one + several == 0 { 0.0 } else { several as f64 / (one + several) as f64 }
    }

    /// Pearson's coefficient, over all static instructions that were subject to the event, of how often
    /// they were and of the cycles in the components of their stacks that have it (paper B, figure B.7).
    /// None with fewer than three such instructions, or if either does not vary.
    pub fn correlation(&self, event: Psv, reference: &Stacks) -> Option<f64> {
        let pairs = self.of.iter().filter_map(|(instruction, _)| {
            let count = self.count(instruction, event);
            let cycles: f64 = reference
                .stack(instruction)
                .iter()
                .filter(|(component, _)| component.events().contains(event))
                .map(|(_, parts)| parts.as_cycles())
                .sum();
            (count > 0).then_some((count as f64, cycles))
        });
        pearson(&pairs.collect::<Vec<_>>())
    }

    fn count_in(&mut self, record: &Record) {
        for entry in self.committed.of(record) {
            self.executions[entry.events.count().min(2) as usize] += 1;
            *self.executed.at(entry.instruction) += 1;
            if !entry.events.is_base() {
                let counts = self.of.at(entry.instruction).iter_mut();
                counts
                    .zip(Psv::ALL.events())
                    .for_each(|(count, event)| *count += u64::from(entry.events.contains(event)));
            }
        }
    }
}

impl Worker<Record> for EventCounts {
    fn take(&mut self, part: &[Record]) {
        part.iter().for_each(|record| self.count_in(record));
    }
}

fn add(counts: &mut [u64; 9], more: &[u64; 9]) {
    counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
}

fn pearson(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < 3 {
        return None;
    }
    let count = pairs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for pair in pairs {
        let (dx, dy) = (pair.0 - x, pair.1 - y);
        xx += dx * dx;
        yy += dy * dy;
        xy += dx * dy;
    }
    (xx > 0.0 && yy > 0.0).then(|| xy / (xx * yy).sqrt())
}

#[cfg(test)]
mod tests {
    use timewise_trace::{Psv, Record, Worker};

    use super::{EventCounts, pearson};
    use crate::{Component, Parts, Stacks};

    #[test]
    fn coefficients_are_those_of_textbooks() {
        assert_eq!(pearson(&[(1.0, 2.0), (2.0, 4.0), (3.0, 6.0)]), Some(1.0));
        assert_eq!(pearson(&[(1.0, 6.0), (2.0, 4.0), (3.0, 2.0)]), Some(-1.0));
        assert_eq!(pearson(&[(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)]), None);
        // Anscombe's first set: 0.816.
        let x = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let y = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
        let pairs: Vec<_> = x.into_iter().zip(y).collect();
        assert!((pearson(&pairs).unwrap() - 0.81642).abs() < 1e-5);
    }

    #[test]
    fn events_are_counted_by_execution() {
        let mut counts = EventCounts::default();
        let mut stacks = Stacks::default();
        let mut sequence = 0;
        for instruction in 0..3 {
            for _ in 0..=instruction {
                let mut record = Record {
                    cycle: sequence,
                    oldest: sequence,
                    repeat: 1,
                    in_flight: 1,
                    ..Record::default()
                };
                (record.valid, record.committing) = (1, 1);
                record.entries[0].instruction = instruction;
                record.entries[0].events =
                    if instruction == 2 { Psv::ST_L1 | Psv::ST_TLB } else { Psv::ST_L1 };
                counts.take(&[record]);
                sequence += 1;
            }
            stacks.add(
                instruction,
                Component::of_events(Psv::ST_L1),
                Parts::cycles(10 * u64::from(instruction)),
            );
        }
        assert_eq!(
            (counts.count(2, Psv::ST_L1), counts.count(2, Psv::ST_TLB), counts.count(0, Psv::ST_TLB)),
            (3, 3, 0)
        );
        assert_eq!((counts.executed(0), counts.executed(2), counts.executions.iter().sum()), (1, 3, 6));
        assert_eq!(counts.combined(), 0.5);
        assert!((counts.correlation(Psv::ST_L1, &stacks).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(counts.correlation(Psv::ST_TLB, &stacks), None);
        let mut twice = counts.renumbered(|instruction| instruction.checked_sub(1).map(|number| number / 2));
        assert_eq!((twice.count(0, Psv::ST_L1), twice.executed(0), twice.combined()), (5, 5, 0.5));
        twice.merge(&counts);
        assert_eq!(
            (twice.count(2, Psv::ST_L1), twice.all(Psv::ST_L1), twice.executions.iter().sum()),
            (3, 11, 12)
        );
    }
}
