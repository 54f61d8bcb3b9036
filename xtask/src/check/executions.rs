//! What the counting command wrote: executions of every instruction, by module and link-time address.

use super::segments::Place;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::path::Path;

/// How a warning begins.
const WARNING: &str = "warning: ";

/// What is known of an instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// How often it was executed.
    pub times: i64,
    /// Its code.
    pub code: Vec<u8>,
}

impl Executed {
    /// Whether it repeats by a prefix: one execution may be many iterations.
    pub fn repeats(&self) -> bool {
        let prefix = |byte: &u8| matches!(byte, 0x66 | 0x67 | 0xf2 | 0xf3 | 0x40..=0x4f);
        let operation = self.code.iter().find(|byte| !prefix(byte));
        let repeated =
            self.code.iter().take_while(|byte| prefix(byte)).any(|byte| matches!(byte, 0xf2 | 0xf3));
        repeated && operation.is_some_and(|byte| matches!(byte, 0x6c..=0x6f | 0xa4..=0xa7 | 0xaa..=0xaf))
    }

    /// Whether it enters the kernel.
    pub fn is_system_call(&self) -> bool {
        self.code.ends_with(&[0x0f, 0x05])
    }
}

/// Reads what was written for one process; code without a file is left out.
///
/// # Errors
/// If the file is not as expected, or has more than one process.
pub fn read(file: &Path) -> Result<BTreeMap<Place, Executed>> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let mut all: BTreeMap<Place, Executed> = BTreeMap::new();
    let mut process = None;
    ensure!(imbalance(&text)? == 0, "{}: flow into and out of blocks differs", file.display());
    for line in instructions(&text) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [pid, offset, code, times, path] = fields[..] else {
            anyhow::bail!("{}: not five fields: {line}", file.display());
        };
        ensure!(*process.get_or_insert(pid.to_string()) == pid, "a program of more than one process");
        if !path.starts_with('/') {
            continue;
        }
        let place = (path.to_string(), u64::from_str_radix(offset, 16)?);
        let executed = all.entry(place).or_default();
        executed.times += times.parse::<i64>()?;
        executed.code = bytes(code)?;
    }
    Ok(all)
}

/// By how much flow into and out of blocks differs: executions whose place is not known for certain.
///
/// # Errors
/// If the text is not what the counting command writes.
pub fn imbalance(text: &str) -> Result<u64> {
    let number = text.lines().next().and_then(|line| line.strip_prefix("imbalance "));
    number.context("counts without their imbalance")?.parse().context("imbalance is no number")
}

/// What the counting command warns of.
pub fn warnings(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.strip_prefix(WARNING))
}

/// The lines of instructions.
fn instructions(text: &str) -> impl Iterator<Item = &str> {
    text.lines().skip(1).filter(|line| !line.starts_with(WARNING))
}

/// The sum of all executions, of all processes and of code without a file, too.
///
/// # Errors
/// If the text is not what the counting command writes.
pub fn total(text: &str) -> Result<u64> {
    let times = |line: &str| line.split('\t').nth(3).and_then(|times| times.parse::<u64>().ok());
    let all = instructions(text).map(|line| times(line).context("a line without executions"));
    ensure!(!text.is_empty(), "no counts");
    all.sum()
}

fn bytes(code: &str) -> Result<Vec<u8>> {
    let pair = |at: usize| code.get(at..at + 2).context("half a byte of code");
    (0..code.len()).step_by(2).map(|at| Ok(u8::from_str_radix(pair(at)?, 16)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(bytes: &[u8]) -> Executed {
        Executed { times: 1, code: bytes.to_vec() }
    }

    #[test]
    fn string_operations_with_a_prefix_repeat_and_others_do_not() {
        assert!(code(&[0xf3, 0x48, 0xab]).repeats());
        assert!(code(&[0xf2, 0xae]).repeats());
        assert!(!code(&[0x48, 0xab]).repeats());
        assert!(!code(&[0xf3, 0x0f, 0x1e, 0xfa]).repeats());
        assert!(!code(&[0xf3, 0xc3]).repeats());
    }
}
