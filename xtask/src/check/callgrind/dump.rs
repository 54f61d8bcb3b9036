//! Reading callgrind's dump: executions of every instruction, by module and link-time address.
//!
//! What lies outside a module's `.text` section (`.plt`, `.init`) has no module in the dump, only a run-time
//! address; where Valgrind mapped the modules stands in what it prints when it reads their symbols.

use crate::check::segments::Place;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::path::Path;

/// Executions in one dump. It must have been written with neither strings nor positions compressed, and the
/// log with the trace of symbol reading.
///
/// # Errors
/// If it is not such a dump.
pub fn read(file: &Path, log: &Path) -> Result<BTreeMap<Place, i64>> {
    let text = |path: &Path| {
        let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
        Ok::<String, anyhow::Error>(String::from_utf8_lossy(&bytes).into_owned())
    };
    let mapped = mapped(&text(log)?);
    let mut all = BTreeMap::new();
    for ((module, address), times) in parse(&text(file)?).with_context(|| file.display().to_string())? {
        let place = match mapped.iter().rev().find(|m| m.code.contains(&address)) {
            Some(known) if module == "???" => (known.path.clone(), address - known.bias),
            _ => (module, address),
        };
        *all.entry(place).or_default() += times;
    }
    Ok(all)
}

/// Where Valgrind mapped a module's code.
#[derive(Debug, PartialEq, Eq)]
struct Mapped {
    path: String,
    code: std::ops::Range<u64>,
    bias: u64,
}

fn mapped(log: &str) -> Vec<Mapped> {
    let (mut path, mut code) = ("", 0..0);
    let mut all = Vec::new();
    for line in log.lines() {
        // A prefix with the process id, then the text.
        let text = line.split_once("-- ").map_or(line, |(_, text)| text);
        let word = |n: usize| text.split_whitespace().nth(n).unwrap_or_default();
        let address = |n: usize| u64::from_str_radix(word(n).trim_start_matches("0x"), 16).unwrap_or(0);
        if let Some(name) = text.trim_start_matches('-').trim_start().strip_prefix("name = ") {
            path = name;
        } else if word(0) == "rx_map:" {
            code = address(2)..address(2) + word(4).parse::<u64>().unwrap_or(0);
        } else if text.trim_start().starts_with("acquiring .text bias") {
            all.push(Mapped { path: path.to_string(), code: code.clone(), bias: address(4) });
        }
    }
    all
}

fn parse(text: &str) -> Result<BTreeMap<Place, i64>> {
    ensure!(text.contains("\npositions: instr line\n"), "no instruction positions");
    ensure!(text.contains("\nevents: Ir\n"), "other events than instructions");
    let mut all = BTreeMap::new();
    let mut module = "";
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(object) = line.strip_prefix("ob=") {
            module = object;
        } else if line.starts_with("calls=") {
            // The next line is what the callee cost, which its own lines tell too.
            lines.next();
        } else if let Some(cost) = line.strip_prefix("0x") {
            let fields: Vec<&str> = cost.split(' ').collect();
            let [address, _, times] = fields[..] else { anyhow::bail!("not a cost line: {line}") };
            let place = (module.to_string(), u64::from_str_radix(address, 16)?);
            *all.entry(place).or_default() += times.parse::<i64>()?;
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_modules_are_mapped_is_read_from_the_trace() {
        let log = "--7-- ------ start ELF OBJECT ---\n--7-- ------ name = /bin/a\n\
                   --7-- rx_map:  avma 0x10a000   size 16384  foff 8192\n--7-- acquiring .text bias = 0x108000\n";
        let expected = Mapped { path: "/bin/a".to_string(), code: 0x10a000..0x10e000, bias: 0x108000 };
        assert_eq!(mapped(log), [expected]);
    }

    #[test]
    fn own_costs_are_summed_and_callees_costs_left_out() {
        let text = "version: 1\npositions: instr line\nevents: Ir\n\nob=/bin/a\nfn=f\n0x10 0 3\n0x12 5 3\n\
                    cob=/lib/b\ncfn=g\ncalls=3 0x40 0\n0x12 5 900\n\nob=/lib/b\nfn=g\n0x40 0 3\n\nob=/bin/a\n0x10 0 4\n";
        let all = parse(text).unwrap();
        assert_eq!(all.len(), 3);
        assert_eq!(all[&("/bin/a".to_string(), 0x10)], 7);
        assert_eq!(all[&("/bin/a".to_string(), 0x12)], 3);
        assert!(parse("positions: line\n").is_err());
    }
}
