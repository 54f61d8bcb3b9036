//! What LLVM's scheduling model of a processor says of instructions, by way of `llvm-mc` and `llvm-mca`.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::process::{Command, Stdio};

/// Where Debian puts the tools of the version that is asked for.
const TOOLS: &str = "/usr/lib/llvm-19/bin";

/// What the disassembler writes for a byte of a branch's target.
const OPEN: &str = "A";

/// One instruction's row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// µops as the model counts them.
    pub uops: u64,
    /// Cycles from operands to result.
    pub latency: u64,
    /// Cycles that it keeps each resource busy, on average over those that it may choose from.
    pub pressure: BTreeMap<String, f64>,
}

/// Assembly text of each instruction that LLVM decodes to the same bytes.
pub fn disassemble(code: &[Vec<u8>]) -> Result<Vec<Option<String>>> {
    let hex = |bytes: &Vec<u8>| bytes.iter().map(|byte| format!("0x{byte:02x}")).collect::<Vec<_>>();
    let input: Vec<String> = code.iter().map(|bytes| hex(bytes).join(" ")).collect();
    let arguments = ["-disassemble", "-triple=x86_64", "-output-asm-variant=1", "--show-encoding"];
    let text = pipe("llvm-mc", &arguments, &input.join("\n"))?;
    let mut by_bytes = HashMap::new();
    for line in text.lines() {
        let Some((instruction, encoding)) = line.split_once("# encoding: [") else { continue };
        let bytes = encoding.trim_end_matches(']').replace(',', " ");
        let text = instruction.trim().replace('\t', " ");
        // The assembler wants a name as a branch's target, of which the disassembler leaves the bytes open.
        let text = match text.split_once(' ') {
            Some((mnemonic, _)) if bytes.contains(OPEN) => format!("{mnemonic} target"),
            _ => text,
        };
        by_bytes.insert(bytes, text);
    }
    let found = code.iter().zip(&input).map(|(bytes, text)| {
        let open = |count: usize| {
            let known = hex(bytes).into_iter().take(bytes.len().checked_sub(count)?);
            by_bytes.get(&known.chain(vec![OPEN.to_string(); count]).collect::<Vec<_>>().join(" "))
        };
        by_bytes.get(text).or_else(|| open(1)).or_else(|| open(4)).cloned()
    });
    Ok(found.collect())
}

/// The rows of instructions, by text.
pub fn rows(processor: &str, instructions: &[&str]) -> Result<HashMap<String, Row>> {
    let input = format!(".intel_syntax noprefix\n{}\n", instructions.join("\n"));
    let processor = format!("-mcpu={processor}");
    let arguments = [
        "-mtriple=x86_64",
        &processor,
        "-output-asm-variant=1",
        "-iterations=1",
        "-instruction-tables",
        "-skip-unsupported-instructions=any",
        "-json",
    ];
    let answer: Value = serde_json::from_str(&pipe("llvm-mca", &arguments, &input)?).context("llvm-mca")?;
    let region = &answer["CodeRegions"][0];
    let resources = answer["TargetInfo"]["Resources"].as_array().context("llvm-mca names no resources")?;
    let texts = region["Instructions"].as_array().context("llvm-mca lists no instructions")?;
    let mut rows: Vec<Option<Row>> = vec![None; texts.len()];
    let number = |value: &Value| value.as_u64().context("a number is missing");
    for info in region["InstructionInfoView"]["InstructionList"].as_array().into_iter().flatten() {
        let row = Row {
            uops: number(&info["NumMicroOpcodes"])?,
            latency: number(&info["Latency"])?,
            pressure: BTreeMap::new(),
        };
        rows[number(&info["Instruction"])? as usize] = Some(row);
    }
    for usage in region["ResourcePressureView"]["ResourcePressureInfo"].as_array().into_iter().flatten() {
        // The last index is the sum of all.
        let at = number(&usage["InstructionIndex"])? as usize;
        let Some(Some(row)) = rows.get_mut(at) else { continue };
        let name = resources[number(&usage["ResourceIndex"])? as usize].as_str().context("a name")?;
        // Units of a group are numbered behind a NUL.
        let name = name.replace('\0', "");
        row.pressure.insert(name, usage["ResourceUsage"].as_f64().context("a number")?);
    }
    let texts = texts.iter().map(|text| text.as_str().unwrap_or_default().replace('\t', " "));
    Ok(texts.zip(rows).filter_map(|(text, row)| Some((text, row?))).collect())
}

/// Runs a tool, with `input` on its standard input; what it says of instructions that it cannot read is not
/// of interest.
fn pipe(tool: &str, arguments: &[&str], input: &str) -> Result<String> {
    let path = format!("{TOOLS}/{tool}");
    let mut child = Command::new(&path)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("{path} (Debian package llvm-19)"))?;
    let mut stdin = child.stdin.take().context("no pipe")?;
    let input = input.to_string();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output()?;
    writer.join().expect("the writer does not panic")?;
    ensure!(!output.stdout.is_empty(), "{tool} says nothing");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
