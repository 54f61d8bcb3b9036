//! Rows of paths through functions.

use super::{compact, compact_option, cycles};
use crate::labels;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use timewise_flow::lines::{SourceLine, line_at};
use timewise_flow::told::{Coverage, Told};
use timewise_flow::{Analysis, Cost, RoutineId};
use timewise_profile::{BlockId, PathCount};

/// A path that was taken.
#[derive(Clone, Default, Debug, Serialize)]
pub struct PathRow {
    /// Path of the module.
    pub module: String,
    /// Name of the function.
    pub function: String,
    /// How often it was taken.
    pub executions: u64,
    /// It was not counted: `executions` is how often it was taken at most.
    pub is_bound: bool,
    /// It begins where control entered the function, else with a round of a loop or behind one.
    pub entered: bool,
    /// It ends where control left the function, else with a round of a loop or before one.
    pub left: bool,
    /// Instructions of the path, without callees.
    pub instructions: u64,
    /// Share of all instructions.
    #[serde(serialize_with = "compact")]
    pub share: f64,
    /// Share of the instructions of its function.
    #[serde(serialize_with = "compact")]
    pub share_of_function: f64,
    /// Cycles on it, if a block costs on each path what it costs on average; null without samples.
    #[serde(serialize_with = "compact_option")]
    pub cycles_estimated: Option<f64>,
    /// Source file of its first instruction, if known.
    pub file: Option<String>,
    /// Lines of its blocks' first instructions in that file, in order, with spaces between them.
    pub lines: String,
    /// Link-time addresses of its blocks in order, likewise.
    pub offsets: String,
}

impl PathRow {
    /// Cycles per instruction on it, estimated likewise.
    pub fn cpi(&self) -> Option<f64> {
        let instructions = self.executions as f64 * self.instructions as f64;
        self.cycles_estimated.map(|cycles| cycles / instructions.max(1.0))
    }

    /// What makes it this path and no other of its function.
    fn parts(&self) -> impl Iterator<Item = &str> {
        let ends = [self.entered.then_some("entered"), self.left.then_some("left")];
        ends.into_iter().flatten().chain(self.offsets.split(' '))
    }

    /// The path as `table.c:95 98 103`, or as the offsets of its blocks; of a long one, how it begins and ends.
    pub fn title(&self) -> String {
        const SHOWN: usize = 8;
        let (begin, all) = match &self.file {
            Some(file) => (format!("{}:", labels::file_name(file)), &self.lines),
            None => (format!("{}+", labels::file_name(&self.module)), &self.offsets),
        };
        let parts: Vec<&str> = all.split(' ').collect();
        match parts.len() > SHOWN {
            true => {
                let (head, tail) = (&parts[..SHOWN / 2], &parts[parts.len() - SHOWN / 2 + 1..]);
                format!("{begin}{} … {}", head.join(" "), tail.join(" "))
            }
            false => begin + &parts.join(" "),
        }
    }
}

/// Titles of paths. Of those that would read alike, each says what it has and not all of them have: that it begins
/// where control entered the function, that it ends where control left it, blocks.
pub fn titles(rows: &[PathRow]) -> Vec<String> {
    let mut alike: HashMap<(&str, String), Vec<&PathRow>> = HashMap::new();
    for row in rows {
        alike.entry((&row.function, row.title())).or_default().push(row);
    }
    let shared: HashMap<_, HashSet<&str>> =
        alike.into_iter().map(|(key, group)| (key, shared(&group))).collect();
    let title = |row: &PathRow| {
        let title = row.title();
        let shared = &shared[&(row.function.as_str(), title.clone())];
        let own: Vec<&str> = row.parts().filter(|part| !shared.contains(part)).collect();
        match own.len() {
            0 => title,
            1..=SHOWN_APART => format!("{title} [{}]", own.join(",")),
            _ => format!("{title} [{},…]", own[..SHOWN_APART].join(",")),
        }
    };
    rows.iter().map(title).collect()
}

/// What makes each of some paths that it is and all of them have.
fn shared<'a>(group: &[&'a PathRow]) -> HashSet<&'a str> {
    let mut shared: Option<HashSet<&str>> = None;
    for row in group {
        let parts: HashSet<&str> = row.parts().collect();
        match &mut shared {
            Some(shared) => shared.retain(|part| parts.contains(part)),
            None => shared = Some(parts),
        }
    }
    shared.unwrap_or_default()
}

/// Blocks that a title says not all paths have that read alike.
const SHOWN_APART: usize = 3;

/// A function of which some instructions are on paths that are not told apart.
#[derive(Clone, Debug, Serialize)]
pub struct UntoldRow {
    /// Path of the module.
    pub module: String,
    /// Name of the function.
    pub function: String,
    /// How many instructions those are.
    pub instructions: u64,
    /// Their share of all instructions.
    #[serde(serialize_with = "compact")]
    pub share: f64,
    /// Their share of the instructions of the function.
    #[serde(serialize_with = "compact")]
    pub share_of_function: f64,
}

/// All functions of which some instructions are on paths that are not told apart, those with most of them first;
/// none where no paths were counted.
pub fn untold(analysis: &Analysis) -> Vec<UntoldRow> {
    if analysis.profile.paths.is_empty() {
        return Vec::new();
    }
    let told = Coverage::new(analysis).by_function();
    let all = Told::sum(&told).all();
    let row = |(number, of): (RoutineId, &Told)| UntoldRow {
        module: labels::module_path(analysis.profile, analysis.routines[number.index()].place.module),
        function: analysis.name_of(number),
        instructions: of.untold as u64,
        share: of.untold / all,
        share_of_function: of.untold / of.all(),
    };
    let numbered = (0..).map(RoutineId).zip(&told).filter(|(_, of)| of.untold > 0.0);
    let mut rows: Vec<UntoldRow> = numbered.map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.instructions));
    rows
}

/// All paths that were taken, those first that most instructions were executed on.
pub fn paths(analysis: &Analysis) -> Vec<PathRow> {
    let costs = analysis.by_block();
    let length = |&block: &BlockId| u64::from(analysis.code.blocks[block.index()].length);
    let instructions = |path: &PathCount| path.blocks.iter().map(length).sum::<u64>();
    let executed = |path: &PathCount| path.executions as f64 * instructions(path) as f64;
    let told = Coverage::new(analysis).by_function();
    let all = Told::sum(&told).all();
    let mut order: Vec<&PathCount> = analysis.profile.paths.iter().collect();
    order.sort_by(|a, b| executed(b).total_cmp(&executed(a)));
    let row = |path: &PathCount| {
        let owner = analysis.owner[path.blocks[0].index()];
        let first = analysis.code.blocks[path.blocks[0].index()].place;
        let line = line_at(analysis.profile, first);
        PathRow {
            module: labels::module_path(analysis.profile, first.module),
            function: analysis.name_of(owner),
            executions: path.executions,
            is_bound: path.is_bound,
            entered: path.entered,
            left: path.left,
            instructions: instructions(path),
            share: executed(path) / all.max(1.0),
            share_of_function: executed(path) / told[owner.index()].all().max(1.0),
            cycles_estimated: estimate(analysis, path, &costs),
            file: line.map(|line| labels::file_path(analysis.profile, line.file).to_string()),
            lines: line.map_or_else(String::new, |line| lines(analysis, path, line)),
            offsets: join(
                path.blocks
                    .iter()
                    .map(|block| format!("{:#x}", analysis.code.blocks[block.index()].place.offset.0)),
            ),
        }
    };
    order.into_iter().map(row).collect()
}

/// The lines of a path's blocks that are in the file of the first, each once where several blocks are of it.
fn lines(analysis: &Analysis, path: &PathCount, first: SourceLine) -> String {
    let line = |block: &BlockId| line_at(analysis.profile, analysis.code.blocks[block.index()].place);
    let mut lines: Vec<u32> = path
        .blocks
        .iter()
        .filter_map(line)
        .filter(|line| line.file == first.file)
        .map(|line| line.line)
        .collect();
    lines.dedup();
    join(lines.into_iter().map(|line| line.to_string()))
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(" ")
}

fn estimate(analysis: &Analysis, path: &PathCount, costs: &[Cost]) -> Option<f64> {
    let of_block = |block: &BlockId| {
        let executions = analysis.code.blocks[block.index()].executions;
        let all = cycles(analysis, &costs[block.index()])?;
        Some(if executions == 0 { 0.0 } else { all / executions as f64 })
    };
    let each: Option<f64> = path.blocks.iter().map(of_block).sum();
    each.map(|each| each * path.executions as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(function: &str, lines: &str, offsets: &str, entered: bool) -> PathRow {
        PathRow {
            module: "/bin/program".into(),
            function: function.into(),
            executions: 1,
            is_bound: false,
            entered,
            left: false,
            instructions: 1,
            share: 0.0,
            share_of_function: 0.0,
            cycles_estimated: None,
            file: Some("/src/table.c".into()),
            lines: lines.into(),
            offsets: offsets.into(),
        }
    }

    #[test]
    fn paths_that_read_alike_say_what_tells_them_apart() {
        let rows = [
            row("f", "95 98", "0x1 0x2 0x3 0x9", false),
            row("f", "95 98", "0x1 0x3 0x9", false),
            row("f", "95 98", "0x1 0x3 0x9", true),
            row("f", "95 98", "0x1 0x3 0x4 0x5 0x6 0x7 0x9", false),
            row("f", "95 99", "0x1 0x8", false),
            row("g", "95 98", "0x11", false),
        ];
        let alike = [
            "table.c:95 98 [0x2]",
            "table.c:95 98",
            "table.c:95 98 [entered]",
            "table.c:95 98 [0x4,0x5,0x6,…]",
        ];
        assert_eq!(titles(&rows)[..4], alike);
        assert_eq!(titles(&rows)[4..], ["table.c:95 99", "table.c:95 98"]);
    }
}
