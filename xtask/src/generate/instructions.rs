//! The core model's table: for every encoding and each processor that LLVM has a scheduling model of, the row
//! of µops, latency and ports.

use super::encodings::examples;
use super::pressure::uses;
use super::scheduling::{disassemble, rows};
use anyhow::Result;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use timewise_isa::encoding_name;

/// A scheduling model: LLVM's name of the processor, its ports without the prefix that all have, and groups
/// of them that do not stand for each other.
struct Model {
    name: &'static str,
    prefix: &'static str,
    ports: &'static [&'static str],
    groups: &'static [u32],
}

/// For loads 2, 3 and 11; for stores' addresses 7 and 8, data 4 and 9. Of Zen 4, units whose pressure repeats
/// that of the address ports are left out. Of Zen 1, the multiplier is, which one port alone leads to.
const MODELS: [Model; 3] = [
    Model {
        name: "sapphirerapids",
        prefix: "SPRPort",
        ports: &["00", "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11"],
        groups: &[0b0100_0110_0011, 0b1000_0000_1100, 0b0001_1000_0000, 0b0010_0001_0000],
    },
    Model {
        name: "znver4",
        prefix: "Zn4",
        ports: &[
            "AGU0", "AGU1", "AGU2", "ALU0", "ALU1", "ALU2", "ALU3", "BRU1", "FP0", "FP1", "FP2", "FP3",
            "FP45.0", "FP45.1",
        ],
        groups: &[0b111, 0b1111_1000, 0b1111_0000_0000, 0b11_0000_0000_0000],
    },
    Model {
        name: "znver1",
        prefix: "Zn",
        ports: &["AGU0", "AGU1", "ALU0", "ALU1", "ALU2", "ALU3", "Divider", "FPU0", "FPU1", "FPU2", "FPU3"],
        groups: &[0b11, 0b11_1100, 0b100_0000, 0b111_1000_0000],
    },
];

const HEAD: &str = "\
# µops, latencies and ports of x86-64 instructions, one row for each distinct behaviour.
# Made by `cargo xtask generate instructions` from the scheduling models of LLVM 19, which is under the
# Apache License 2.0 with LLVM Exceptions (https://llvm.org/LICENSE.txt). Do not edit: what was measured
# otherwise stands in the records of processors.
#
# model NAME PORT…                 a model and its ports, the first being bit 0
# row NUMBER LATENCY UOPS SET:CYCLES…   latency in cycles, µops, and sets of ports (hexadecimal) with cycles
# NAME REGISTER MEMORY …           an encoding: rows of its forms without and with a memory operand, for each
#                                  model in turn; - where the model or the form is missing
";

/// Writes the table.
///
/// # Errors
/// If LLVM's tools are missing or their answers cannot be read.
pub fn generate(root: &Path) -> Result<()> {
    let examples = examples();
    let code: Vec<Vec<u8>> = examples.values().cloned().collect();
    let texts = disassemble(&code)?;
    let known: Vec<&str> = texts.iter().flatten().map(String::as_str).collect();
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut heads = String::new();
    let mut columns = Vec::new();
    for model in &MODELS {
        let _ = writeln!(heads, "model {} {}", model.name, model.ports.join(" "));
        let rows = rows(model.name, &known)?;
        let ports: Vec<String> = model.ports.iter().map(|port| format!("{}{port}", model.prefix)).collect();
        let mut column: BTreeMap<(u16, bool), usize> = BTreeMap::new();
        for (key, text) in examples.keys().zip(&texts) {
            let Some(row) = text.as_ref().and_then(|text| rows.get(text)) else { continue };
            let mut line = format!("{} {}", row.latency, row.uops);
            for (set, cycles) in uses(&ports, model.groups, &row.pressure) {
                let _ = write!(line, " {set:x}:{cycles}");
            }
            let next = numbers.len();
            column.insert(*key, *numbers.entry(line).or_insert(next));
        }
        println!("{}: {} of {} forms", model.name, column.len(), examples.len());
        columns.push(column);
    }
    let mut lines: Vec<(usize, String)> = numbers.into_iter().map(|(line, number)| (number, line)).collect();
    lines.sort_unstable();
    let mut table = format!("{HEAD}{heads}");
    for (number, line) in &lines {
        let _ = writeln!(table, "row {number} {line}");
    }
    let mut named: Vec<(String, u16)> = examples
        .keys()
        .filter_map(|(encoding, _)| Some((encoding_name(*encoding)?.to_string(), *encoding)))
        .collect();
    named.sort_unstable();
    named.dedup();
    for (name, encoding) in named {
        let cells = columns.iter().flat_map(|column| [false, true].map(|m| column.get(&(encoding, m))));
        let cells: Vec<String> = cells.map(|row| row.map_or("-".into(), ToString::to_string)).collect();
        if cells.iter().any(|cell| cell != "-") {
            let _ = writeln!(table, "{name} {}", cells.join(" "));
        }
    }
    std::fs::write(root.join("crates/core-model/data/instructions.txt"), table)?;
    Ok(())
}
