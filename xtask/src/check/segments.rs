//! From offsets in mapped files to link-time addresses, by the program headers.
//!
//! `timewise-image` does the same, and what counting places by it is checked here: so that a fault there
//! cannot hide itself, this is written anew, and shares no code with it on purpose.

use anyhow::{Context, Result};
use std::collections::HashMap;
use std::path::Path;

/// An instruction: path of its module and its link-time address there.
pub type Place = (String, u64);

/// Modules by path, each read once.
#[derive(Default)]
pub struct Places(HashMap<String, Segments>);

impl Places {
    /// The place of what stands at `offset` in the file at `path`.
    ///
    /// # Errors
    /// If that is not a 64-bit ELF file.
    pub fn of(&mut self, path: &str, offset: u64) -> Result<Place> {
        if !self.0.contains_key(path) {
            self.0.insert(path.to_string(), Segments::of(Path::new(path))?);
        }
        Ok((path.to_string(), self.0[path].address(offset)))
    }
}

/// The loaded segments of an ELF file: offset in the file, length, link-time address.
struct Segments(Vec<(u64, u64, u64)>);

impl Segments {
    fn of(path: &Path) -> Result<Segments> {
        let file = std::fs::read(path).with_context(|| path.display().to_string())?;
        Segments::parse(&file).with_context(|| format!("{}: not a 64-bit ELF file", path.display()))
    }

    fn parse(file: &[u8]) -> Option<Segments> {
        const LOADED: u64 = 1;
        let number = |at: usize, length: usize| {
            let field = file.get(at..at + length)?;
            Some(field.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
        };
        file.starts_with(b"\x7fELF\x02").then_some(())?;
        let (table, count) = (number(32, 8)? as usize, number(56, 2)? as usize);
        let mut segments = Vec::new();
        for at in (0..count).map(|n| table + 56 * n) {
            if number(at, 4)? == LOADED {
                segments.push((number(at + 8, 8)?, number(at + 32, 8)?, number(at + 16, 8)?));
            }
        }
        Some(Segments(segments))
    }

    /// The link-time address of what stands at `offset` in the file.
    fn address(&self, offset: u64) -> u64 {
        let within = self.0.iter().find(|(start, length, _)| (*start..start + length).contains(&offset));
        within.map_or(offset, |(start, _, address)| offset - start + address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_programs_segments_hold_its_code() {
        let path = std::env::current_exe().unwrap();
        let segments = Segments::of(&path).unwrap();
        assert!(segments.0.len() >= 2);
        let (offset, _, address) = segments.0[1];
        assert_eq!(segments.address(offset + 3), address + 3);
        assert!(Segments::parse(b"#!/bin/sh").is_none());
    }
}
