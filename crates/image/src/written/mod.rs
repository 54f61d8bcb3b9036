//! Code that a program wrote at run time, as whoever wrote it announced it: in a perf map (`/tmp/perf-PID.map`)
//! or a jitdump (`jit-PID.dump`).
//!
//! Both are written by programs that may do so wrongly or not to the end. What can be read counts, what makes no
//! sense is left out, and time and memory stay in proportion to the file.

mod jitdump;
mod perf_map;

use crate::names::LONGEST;
use crate::regular_file;
use std::collections::BTreeMap;
use std::io::{self, BufReader};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// A function that was written at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFunction {
    /// Where it was.
    pub addresses: Range<u64>,
    /// As its writer calls it.
    pub name: String,
    /// Where the code of source lines begins, in order.
    pub lines: Vec<WrittenLine>,
}

/// Code of one source line, up to the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenLine {
    /// First instruction, from the start of the function, wherever that is moved to.
    pub offset: u64,
    /// Source file, which many lines share.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
}

/// Functions that do not overlap. Where several stood at one address in turn, the last one.
#[derive(Clone, Debug, Default)]
pub struct WrittenCode {
    by_start: BTreeMap<u64, WrittenFunction>,
}

impl WrittenCode {
    /// What a perf map says: a line for each function.
    ///
    /// # Errors
    /// The system's, if the file cannot be read.
    pub fn of_perf_map(path: &Path) -> io::Result<WrittenCode> {
        let mut code = WrittenCode::default();
        perf_map::read(BufReader::new(regular_file(path)?), |function| code.add(function))?;
        Ok(code)
    }

    /// What a jitdump says.
    ///
    /// # Errors
    /// The system's, or `InvalidData` if it is no jitdump of a machine like this.
    pub fn of_jitdump(path: &Path) -> io::Result<WrittenCode> {
        let mut code = WrittenCode::default();
        let mut changes = jitdump::Changes::read(BufReader::new(regular_file(path)?))?;
        while let Some(change) = changes.next()? {
            match change {
                jitdump::Change::Load(function) => code.add(function),
                jitdump::Change::Move { from, to } => code.shift(from, to),
            }
        }
        Ok(code)
    }

    /// The function at an address.
    pub fn at(&self, address: u64) -> Option<&WrittenFunction> {
        let (_, function) = self.by_start.range(..=address).next_back()?;
        function.addresses.contains(&address).then_some(function)
    }

    fn add(&mut self, function: WrittenFunction) {
        let Range { start, end } = function.addresses;
        if start >= end {
            return;
        }
        while let Some((&at, _)) =
            self.by_start.range(..end).next_back().filter(|(_, f)| f.addresses.end > start)
        {
            self.by_start.remove(&at);
        }
        self.by_start.insert(start, function);
    }

    fn shift(&mut self, from: u64, to: u64) {
        let Some(mut function) = self.by_start.remove(&from) else { return };
        let moved = |address: u64| address.wrapping_sub(from).wrapping_add(to);
        function.addresses = moved(function.addresses.start)..moved(function.addresses.end);
        self.add(function);
    }
}

/// A name from bytes that should be UTF-8, of bounded length.
fn name_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(start: u64, end: u64, name: &str) -> WrittenFunction {
        WrittenFunction { addresses: start..end, name: name.into(), lines: Vec::new() }
    }

    #[test]
    fn the_last_one_at_an_address_counts() {
        let mut code = WrittenCode::default();
        for (start, end, name) in [(10, 20, "a"), (20, 30, "b"), (40, 50, "c"), (15, 25, "d"), (5, 5, "none")]
        {
            code.add(function(start, end, name));
        }
        let name = |code: &WrittenCode, address| code.at(address).map(|f| f.name.clone());
        let found = [10, 15, 24, 25, 40, 50].map(|address| name(&code, address));
        let expected = [None, Some("d"), Some("d"), None, Some("c"), None];
        assert_eq!(found, expected.map(|name| name.map(str::to_string)));
        code.shift(40, 20);
        assert_eq!((name(&code, 20), name(&code, 15), name(&code, 40)), (Some("c".into()), None, None));
    }
}
