//! The source lines that functions were made from.

use super::code::Code;
use crate::annotate::{Source, SourceText};
use crate::labels;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use timewise_flow::Analysis;
use timewise_profile::FileId;

/// Lines around those that have code are shown with them.
const CONTEXT: u32 = 3;

/// Code that lies further apart is shown in parts.
const WIDEST_GAP: u32 = 40;

/// Parts of a source file.
#[derive(Serialize)]
pub struct SourceFile {
    path: String,
    /// It was changed after the run, so that its lines may be others and are not shown.
    changed: bool,
    /// First line and text of each part; none if the file cannot be read.
    parts: Vec<(u32, Vec<String>)>,
}

/// The source files of `code`, in the order in which it names them.
pub fn sources(analysis: &Analysis, code: &Code, source: Source) -> Vec<SourceFile> {
    let mut wanted: BTreeMap<FileId, BTreeSet<u32>> = BTreeMap::new();
    for lines in &code.lines_of {
        let mut last = None;
        for line in lines {
            let numbers = wanted.entry(line.file).or_default();
            let near = last.filter(|&(file, number)| {
                file == line.file && line.line.saturating_sub(number) <= WIDEST_GAP
            });
            let first = near.map_or(line.line.saturating_sub(CONTEXT).max(1), |(_, number)| number);
            numbers.extend(first..=line.line.saturating_add(CONTEXT));
            last = Some((line.file, line.line));
        }
    }
    code.files.iter().map(|&file| read(analysis, file, wanted.get(&file), source)).collect()
}

fn read(analysis: &Analysis, file: FileId, wanted: Option<&BTreeSet<u32>>, source: Source) -> SourceFile {
    let path = labels::file_path(analysis.profile, file);
    let mut out = SourceFile { path: path.to_string(), changed: false, parts: Vec::new() };
    let mut last = None;
    for &number in wanted.into_iter().flatten() {
        match source(path, number) {
            SourceText::Line(text) => {
                let follows = last.is_some_and(|last| last + 1 == number);
                match out.parts.last_mut().filter(|_| follows) {
                    Some((_, lines)) => lines.push(text),
                    None => out.parts.push((number, vec![text])),
                }
                last = Some(number);
            }
            SourceText::Changed => {
                out.changed = true;
                break;
            }
            // The file may end before the context does.
            SourceText::Unknown => {}
        }
    }
    out
}
