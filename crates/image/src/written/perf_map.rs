//! Perf maps: a line `START SIZE NAME` for each function, the numbers in hexadecimal.

use super::{WrittenFunction, name_of};
use crate::names::LONGEST;
use std::io::{self, BufRead, Read};

/// What may stand before the name.
const NUMBERS: usize = 64;

/// Gives each function in turn. Lines that are none are passed over.
pub fn read(mut file: impl BufRead, mut each: impl FnMut(WrittenFunction)) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let longest = (NUMBERS + LONGEST) as u64;
        if file.by_ref().take(longest).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.last() != Some(&b'\n') && line.len() as u64 == longest {
            file.skip_until(b'\n')?;
        }
        if let Some(function) = parse(line.trim_ascii_end()) {
            each(function);
        }
    }
}

fn parse(line: &[u8]) -> Option<WrittenFunction> {
    let mut fields = line.splitn(3, |&byte| byte == b' ');
    let mut number = || {
        let text = str::from_utf8(fields.next()?).ok()?;
        u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
    };
    let (start, size) = (number()?, number()?);
    let name = name_of(fields.next()?);
    (!name.is_empty()).then(|| WrittenFunction {
        addresses: start..start.saturating_add(size),
        name,
        lines: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_functions_or_nothing() {
        let long = format!("30 1 {}\n", "n".repeat(3 * LONGEST));
        let text = format!("10 8 JS:*f a.js:1:2\nnonsense\n\n10 8\n0x20 0x4 g\n{long}40 zz h\n50 2 last");
        let mut found = Vec::new();
        read(text.as_bytes(), |function| found.push(function)).unwrap();
        let names: Vec<_> =
            found.iter().map(|f| (f.addresses.start, f.addresses.end, f.name.len())).collect();
        assert_eq!(names, [(0x10, 0x18, 14), (0x20, 0x24, 1), (0x30, 0x31, LONGEST), (0x50, 0x52, 4)]);
    }
}
