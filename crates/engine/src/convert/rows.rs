//! The processes of a run: images become rows, one for each process, and a common one by executable for
//! what comes after very many processes.

use super::calls::{self, Cost};
use super::flow::{self, Flow};
use super::pieces::{PieceId, Pieces};
use crate::harvest::Image;
use std::collections::HashMap;

/// What one process image executed.
#[derive(Debug)]
pub struct ImageFlow {
    /// Offset of its record.
    pub record: u64,
    /// Its threads' ids, and the instructions that each executed.
    pub threads: Vec<(u32, u64)>,
    /// Flow between pieces.
    pub flows: Vec<Flow>,
    /// What calls cost.
    pub costs: Vec<Cost>,
    /// Calls of which that is not known in full.
    pub lost_calls: u64,
    /// Threads of which nobody knows where they stopped.
    pub unknown_ends: u32,
    /// By how much the flow fails to balance beyond that: 0 unless something went wrong.
    pub imbalance: u64,
}

impl ImageFlow {
    /// Instructions that it executed, at most.
    pub fn executed(&self, pieces: &Pieces) -> u128 {
        // An instruction takes a byte at least.
        let bytes = |to: PieceId| u128::from(pieces.get(to).length);
        let flowed = self.flows.iter().map(|flow| u128::from(flow.count) * flow.to.map_or(1, bytes));
        let told = self.threads.iter().map(|thread| u128::from(thread.1));
        flowed.sum::<u128>().max(told.sum())
    }

    /// Forgets all of it, because it cannot be true.
    pub fn disown(&mut self) {
        self.flows.clear();
        self.costs.clear();
        self.threads.iter_mut().for_each(|thread| thread.1 = 0);
        self.imbalance = self.imbalance.max(1);
    }
}

/// A process, or several.
#[derive(Debug, Default)]
pub struct Row {
    /// Process id; 0 for several.
    pub pid: u32,
    /// The process that forked it.
    pub parent: Option<usize>,
    /// Path of its executable.
    pub executable: Vec<u8>,
    /// Its threads' ids, and the instructions that each executed.
    pub threads: Vec<(u32, u64)>,
    /// Flow between pieces.
    pub flows: Vec<Flow>,
    /// What calls cost.
    pub costs: Vec<Cost>,
    /// Calls of which that is not known in full.
    pub lost_calls: u64,
    /// Threads of which nobody knows where they stopped.
    pub unknown_ends: u32,
    /// Flows when they were last added up.
    merged: usize,
}

/// All processes.
#[derive(Debug, Default)]
pub struct Rows {
    /// In the order of their start.
    pub all: Vec<Row>,
    /// Rows of single processes that there may be.
    limit: usize,
    /// Row and process id of each image.
    by_record: HashMap<u64, (usize, u32)>,
    /// Path of what each image executed.
    pub executables: HashMap<u64, Vec<u8>>,
    common: HashMap<Vec<u8>, usize>,
    /// Processes without a row of their own.
    pub beyond_limit: u64,
}

impl Rows {
    /// No rows yet; at most `limit` single processes (at least one).
    pub fn new(limit: usize) -> Rows {
        Rows { limit: limit.max(1), ..Rows::default() }
    }

    /// Finds a row for an image. The one that it descends from must have been admitted before.
    pub fn admit(&mut self, image: &Image) {
        let row = self.row_of(image.parent, image.pid, image.executable());
        self.by_record.insert(image.record, (row, image.pid));
        self.executables.insert(image.record, self.all[row].executable.clone());
    }

    /// Adds what an admitted image executed: its row, and which of the row's threads its first one is, and
    /// whether all others are the same.
    pub fn add(&mut self, mut image: ImageFlow) -> Option<(usize, usize, bool)> {
        let &(number, _) = self.by_record.get(&image.record)?;
        let row = &mut self.all[number];
        row.unknown_ends += image.unknown_ends;
        row.flows.append(&mut image.flows);
        row.costs.append(&mut image.costs);
        row.lost_calls = row.lost_calls.saturating_add(image.lost_calls);
        if row.pid != 0 {
            let first = row.threads.len();
            row.threads.append(&mut image.threads);
            return Some((number, first, false));
        }
        let instructions = image.threads.iter().fold(0, |sum: u64, thread| sum.saturating_add(thread.1));
        match row.threads.first_mut() {
            Some(all) => all.1 = all.1.saturating_add(instructions),
            None => row.threads.push((0, instructions)),
        }
        // Added up whenever they have doubled, so that memory and time stay in proportion.
        if row.flows.len() > 2 * row.merged + 1024 {
            flow::merge(&mut row.flows);
            calls::merge(&mut row.costs);
            row.merged = row.flows.len();
        }
        Some((number, 0, true))
    }

    fn row_of(&mut self, parent: u64, pid: u32, executable: Option<&[u8]>) -> usize {
        let before = self.by_record.get(&parent).copied();
        let parent = before.map(|(row, _)| row);
        // A process stays the same through `execve`.
        let same = before.is_some_and(|(_, before)| before == pid) && executable.is_some();
        if let Some(row) = parent.filter(|&row| same && self.all[row].pid != 0) {
            self.all[row].executable = executable.unwrap_or_default().to_vec();
            return row;
        }
        let inherited = || parent.map(|row| self.all[row].executable.clone());
        let executable = executable.map(<[u8]>::to_vec).or_else(inherited).unwrap_or_default();
        let number = self.all.len();
        let single = number - self.common.len() < self.limit;
        if !single {
            self.beyond_limit += u64::from(!same);
            if let Some(&common) = self.common.get(&executable) {
                return common;
            }
            self.common.insert(executable.clone(), number);
        }
        let pid = if single { pid } else { 0 };
        self.all.push(Row { pid, parent, executable, ..Row::default() });
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_stays_one_through_exec_and_late_ones_share_rows() {
        let mut rows = Rows::new(2);
        for (record, parent, pid, executable) in [
            (1, 0, 100, Some("/sh")),
            (2, 1, 101, None),
            (3, 2, 101, Some("/ls")),
            (4, 1, 102, None),
            (5, 4, 102, Some("/ls")),
            (6, 1, 103, None),
        ] {
            let row = rows.row_of(parent, pid, executable.map(str::as_bytes));
            rows.by_record.insert(record, (row, pid));
            rows.add(ImageFlow {
                record,
                threads: vec![(pid, 10)],
                flows: Vec::new(),
                costs: Vec::new(),
                lost_calls: 0,
                unknown_ends: 0,
                imbalance: 0,
            });
        }
        let got: Vec<_> = rows.all.iter().map(|r| (r.pid, r.parent, r.executable.as_slice())).collect();
        let want: [(u32, Option<usize>, &[u8]); 4] =
            [(100, None, b"/sh"), (101, Some(0), b"/ls"), (0, Some(0), b"/sh"), (0, Some(2), b"/ls")];
        assert_eq!(got, want);
        assert_eq!(rows.all[1].threads, [(101, 10), (101, 10)]);
        assert_eq!(rows.all[2].threads, [(0, 20)], "two that were forked late");
        assert_eq!(rows.beyond_limit, 2, "processes, not programs");
    }
}
