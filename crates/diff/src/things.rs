//! What rows of a comparison are of, and which row an instruction of either side belongs to.

use crate::comparison::Comparison;
use crate::lines::{Lines, ModuleLine};
use crate::loops::innermost;
use crate::pairing::Both;
use timewise_flow::{Analysis, InstructionId, LoopId, RoutineId};

/// How large the parts are into which code is divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grain {
    /// A function.
    Function,
    /// A loop.
    Loop,
    /// An instruction.
    Instruction,
    /// A source line.
    Line,
}

impl Grain {
    /// What one part is called.
    pub fn name(self) -> &'static str {
        match self {
            Grain::Function => "function",
            Grain::Loop => "loop",
            Grain::Instruction => "instruction",
            Grain::Line => "line",
        }
    }
}

/// What a row is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Thing {
    /// A function, without its callees.
    Function(RoutineId),
    /// A loop, without inner loops and callees.
    Loop(LoopId),
    /// An instruction.
    Instruction(InstructionId),
    /// A source line.
    Line(ModuleLine),
}

impl Thing {
    /// The function that it is or is in; `None` for a line, which may be in several.
    pub fn function(self, analysis: &Analysis) -> Option<RoutineId> {
        match self {
            Thing::Function(id) => Some(id),
            Thing::Loop(id) => Some(analysis.forest.loops[id.index()].routine),
            Thing::Instruction(id) => Some(owner(analysis, id)),
            Thing::Line(_) => None,
        }
    }
}

/// Rows of one grain.
pub(crate) struct Rows {
    /// What each is.
    pub things: Vec<Both<Thing>>,
    /// Those of BASE.
    pub base: RowsOf,
    /// Those of TEST.
    pub test: RowsOf,
}

/// The rows that one side has.
pub(crate) struct RowsOf {
    /// That of each instruction.
    pub instructions: Vec<Option<usize>>,
    /// That of each routine's samples on code that was not counted; none unless rows are of functions.
    routines: Vec<usize>,
}

impl RowsOf {
    /// All instructions of an analysis in one row.
    pub fn one(analysis: &Analysis) -> RowsOf {
        RowsOf { instructions: vec![Some(0); analysis.code.instructions.len()], routines: Vec::new() }
    }

    /// The row of a routine's samples on code that was not counted.
    pub fn of_stray(&self, routine: RoutineId) -> Option<usize> {
        self.routines.get(routine.index()).copied()
    }
}

impl Rows {
    /// A row for each thing of either or both sides.
    pub fn new(comparison: &Comparison, grain: Grain) -> Rows {
        let matching = &comparison.matching;
        let pairing = match grain {
            Grain::Function => &matching.routines,
            Grain::Loop => &matching.loops,
            Grain::Instruction => &matching.instructions,
            Grain::Line => &matching.lines,
        };
        let thing = |lines: &Lines, at: u32| match grain {
            Grain::Function => Thing::Function(RoutineId(at)),
            Grain::Loop => Thing::Loop(LoopId(at)),
            Grain::Instruction => Thing::Instruction(InstructionId(at)),
            Grain::Line => Thing::Line(lines.all[at as usize]),
        };
        let rows_of = |analysis: &Analysis, lines: &Lines, rows: Vec<usize>| {
            let at = |id: InstructionId| match grain {
                Grain::Function => Some(owner(analysis, id).0),
                Grain::Loop => innermost(analysis, id).map(|id| id.0),
                Grain::Instruction => Some(id.0),
                Grain::Line => lines.of[id.index()],
            };
            let all = (0..analysis.code.instructions.len() as u32).map(InstructionId);
            let instructions = all.map(|id| at(id).map(|at| rows[at as usize])).collect();
            RowsOf { instructions, routines: if grain == Grain::Function { rows } else { Vec::new() } }
        };
        let (ours, theirs) = (&matching.base_lines, &matching.test_lines);
        let (base, test) = pairing.rows();
        let things =
            pairing.all().into_iter().map(|both| both.map(|at| thing(ours, at), |at| thing(theirs, at)));
        Rows {
            things: things.collect(),
            base: rows_of(comparison.base, ours, base),
            test: rows_of(comparison.test, theirs, test),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.things.len()
    }
}

/// The routine that holds an instruction.
fn owner(analysis: &Analysis, id: InstructionId) -> RoutineId {
    analysis.owner[analysis.block_of(id).index()]
}
