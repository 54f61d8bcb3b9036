//! The instructions of the functions: their text, what they cost, and how they belong together.

use super::columns::{Costs, Strings};
use super::functions::Order;
use crate::branch;
use crate::code_text::CodeText;
use crate::jumps::jumps;
use crate::rows::{LoopRow, Totalled};
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};
use timewise_flow::code::ExecutedBlock;
use timewise_flow::lines::{SourceLine, line_at};
use timewise_flow::{Analysis, Cost, InstructionId, RoutineId};
use timewise_isa::Control;
use timewise_profile::{BlockId, FileId, Offset, Place};

/// The code of the costliest functions, up to so many instructions, is in the page: it is to open within
/// seconds. `timewise annotate` shows the others.
const MOST_INSTRUCTIONS: usize = 400_000;

/// Instructions as columns, function by function, and what there is to say of some of them.
#[derive(Default, Serialize)]
pub struct Code {
    /// Position of each function's first instruction, and one behind the last.
    start: Vec<u32>,
    /// From the instruction before; of a function's first one, from the function's own offset.
    delta: Vec<i64>,
    text: Vec<u32>,
    blocks: Blocks,
    lines: Lines,
    costs: Sampled,
    jumps: Jumps,
    /// How often a conditional branch was taken.
    taken: Marks,
    /// The function that it calls.
    calls: Marks,
    /// The row of a loop that begins here.
    loops: Marks,
    /// Source files by their position in `lines.file`.
    #[serde(skip)]
    pub files: Vec<FileId>,
    /// Source lines of each function, in the order of files and lines.
    #[serde(skip)]
    pub lines_of: Vec<BTreeSet<SourceLine>>,
}

/// Something said of the instructions at these positions.
#[derive(Default, Serialize)]
struct Marks {
    at: Vec<u32>,
    what: Vec<u32>,
}

/// Where blocks begin.
#[derive(Default, Serialize)]
struct Blocks {
    at: Vec<u32>,
    executions: Vec<u64>,
    /// 1 if code that was not executed lies before it.
    gap: Vec<u8>,
}

/// Where source lines begin; null where none is known.
#[derive(Default, Serialize)]
struct Lines {
    at: Vec<u32>,
    file: Vec<Option<u32>>,
    line: Vec<Option<u32>>,
}

/// Costs of the instructions that were sampled.
#[derive(Default, Serialize)]
struct Sampled {
    at: Vec<u32>,
    #[serde(flatten)]
    cost: Costs,
}

/// Jumps within a function, as arrows in lanes.
#[derive(Default, Serialize)]
struct Jumps {
    at: Vec<u32>,
    to: Vec<u32>,
    lane: Vec<u32>,
}

/// Where instructions stand in [`Code`].
pub struct Positions(Vec<Option<u32>>);

impl Positions {
    /// The position of an instruction; `None` if it was left out.
    pub fn of(&self, id: InstructionId) -> Option<u32> {
        self.0[id.index()]
    }

    /// The position of a block's first instruction.
    pub fn of_block(&self, analysis: &Analysis, block: BlockId) -> Option<u32> {
        let block = &analysis.code.blocks[block.index()];
        if block.length == 0 { None } else { self.of(block.first) }
    }
}

impl Code {
    /// The code of the functions in `order`, and where each instruction stands.
    pub fn new(
        analysis: &Analysis,
        order: &Order,
        loops: &[Totalled<LoopRow>],
        strings: &mut Strings,
    ) -> (Code, Positions) {
        let mut writer = Writer {
            analysis,
            order,
            strings,
            text: CodeText::new(analysis),
            costs: analysis.by_instruction(),
            loops_at: loops_at(analysis, loops),
            files: HashMap::new(),
            positions: vec![None; analysis.code.instructions.len()],
            code: Code::default(),
        };
        for row in &order.rows {
            writer.function(row.of.routine);
        }
        writer.code.start.push(writer.next());
        (writer.code, Positions(writer.positions))
    }
}

/// The rows of the loops that begin at each block, outer ones first.
fn loops_at(analysis: &Analysis, rows: &[Totalled<LoopRow>]) -> HashMap<BlockId, Vec<u32>> {
    let mut at: HashMap<BlockId, Vec<u32>> = HashMap::new();
    for (index, row) in rows.iter().enumerate() {
        at.entry(analysis.forest.loops[row.of.id.index()].header).or_default().push(index as u32);
    }
    for together in at.values_mut() {
        together.sort_by_key(|&index| rows[index as usize].of.depth);
    }
    at
}

struct Writer<'a> {
    analysis: &'a Analysis<'a>,
    order: &'a Order,
    strings: &'a mut Strings,
    text: CodeText<'a>,
    costs: Vec<Cost>,
    loops_at: HashMap<BlockId, Vec<u32>>,
    files: HashMap<FileId, u32>,
    positions: Vec<Option<u32>>,
    code: Code,
}

impl Writer<'_> {
    fn next(&self) -> u32 {
        self.code.delta.len() as u32
    }

    fn function(&mut self, id: RoutineId) {
        self.code.start.push(self.next());
        self.code.lines_of.push(BTreeSet::new());
        let analysis = self.analysis;
        let routine = &analysis.routines[id.index()];
        let executed = |block: &BlockId| &analysis.code.blocks[block.index()];
        let length: usize = routine.blocks.iter().map(|block| executed(block).length as usize).sum();
        if self.code.delta.len() + length > MOST_INSTRUCTIONS {
            return;
        }
        let mut before = routine.place.offset;
        let mut last_end = None;
        let mut last_line = None;
        for block in &routine.blocks {
            let one = executed(block);
            self.block(*block, one, last_end.is_some_and(|end| end != one.place.offset));
            last_end = Some(one.end);
            for id in one.instructions() {
                let place = analysis.code.place(id);
                let line = line_at(analysis.profile, place);
                if line != last_line {
                    self.line(line);
                    last_line = line;
                }
                self.instruction(id, place, before);
                before = place.offset;
            }
        }
        for jump in jumps(analysis, id) {
            if let (Some(at), Some(to)) = (self.positions[jump.from.index()], self.positions[jump.to.index()])
            {
                let jumps = &mut self.code.jumps;
                jumps.at.push(at);
                jumps.to.push(to);
                jumps.lane.push(jump.lane);
            }
        }
    }

    fn block(&mut self, id: BlockId, block: &ExecutedBlock, has_gap: bool) {
        let at = self.next();
        for row in self.loops_at.get(&id).into_iter().flatten() {
            self.code.loops.push(at, *row);
        }
        let blocks = &mut self.code.blocks;
        blocks.at.push(at);
        blocks.executions.push(block.executions);
        blocks.gap.push(has_gap.into());
    }

    /// The next instruction begins another source line.
    fn line(&mut self, line: Option<SourceLine>) {
        let at = self.next();
        if let (Some(line), Some(lines)) = (line, self.code.lines_of.last_mut()) {
            lines.insert(line);
        }
        let code = &mut self.code;
        let file = line.map(|line| {
            *self.files.entry(line.file).or_insert_with(|| {
                code.files.push(line.file);
                code.files.len() as u32 - 1
            })
        });
        code.lines.at.push(at);
        code.lines.file.push(file);
        code.lines.line.push(line.map(|line| line.line));
    }

    fn instruction(&mut self, id: InstructionId, place: Place, before: Offset) {
        let at = self.next();
        self.positions[id.index()] = Some(at);
        self.code.delta.push(place.offset.0.wrapping_sub(before.0) as i64);
        self.code.text.push(self.strings.add(&self.text.of(id)));
        let cost = &self.costs[id.index()];
        if cost.weight.samples > 0.0 {
            self.code.costs.at.push(at);
            self.code.costs.cost.push(self.analysis, cost);
        }
        let taken = branch::taken(self.analysis, id);
        if !taken.is_empty() {
            let taken = self.strings.add(&taken);
            self.code.taken.push(at, taken);
        }
        if let Control::Call { target } = self.analysis.code.instructions[id.index()].step.control {
            let target = Place { offset: Offset(target), ..place };
            if let Some(block) = self.analysis.code.block_at(target) {
                self.code.calls.push(at, self.order.of(self.analysis.owner[block.index()]));
            }
        }
    }
}

impl Marks {
    fn push(&mut self, at: u32, what: u32) {
        self.at.push(at);
        self.what.push(what);
    }
}
