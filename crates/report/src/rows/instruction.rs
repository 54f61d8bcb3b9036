//! Rows of instructions.

use super::ranking::costliest_first;
use super::{Costed, compact_option, counted, module_ranks};
use crate::code_text::CodeText;
use crate::labels;
use crate::simulated;
use serde::Serialize;
use timewise_flow::divided::{Divided, Whole};
use timewise_flow::lines::line_at;
use timewise_flow::{Analysis, Cost, InstructionId, RoutineId};
use timewise_profile::Place;

/// An instruction that was executed or sampled.
#[derive(Clone, Default, Debug, Serialize)]
pub struct InstructionRow {
    /// Path of the module.
    pub module: String,
    /// Link-time address within the module.
    pub offset: u64,
    /// Name of the function.
    pub function: String,
    /// Source file, if known.
    pub file: Option<String>,
    /// Source line, if known.
    pub line: Option<u32>,
    /// Intel syntax; empty for code that was sampled but not counted.
    pub text: String,
    /// How often it was executed; null where that was not counted.
    pub executions: Option<u64>,
    /// How often it was executed in what was simulated; null without a simulation, as are all that follow.
    pub modelled_executions: Option<u64>,
    /// Cycles of these executions on the modelled core.
    #[serde(serialize_with = "compact_option")]
    pub modelled_cycles: Option<f64>,
    /// What most of them were, in words.
    pub modelled_why: Option<String>,
    /// Its part of the cycles that were measured for its loop or block, divided as the model's cycles are; null
    /// without samples.
    #[serde(serialize_with = "compact_option")]
    pub divided_cycles: Option<f64>,
    /// What was divided: `loop`, or `block` where it is in no loop.
    pub divided_within: Option<&'static str>,
    /// Which one it is; `None` for code that was sampled but not counted.
    #[serde(skip)]
    pub id: Option<InstructionId>,
    /// Its function.
    #[serde(skip)]
    pub routine: RoutineId,
}

/// All instructions that were executed or sampled, costliest first.
pub fn instructions(analysis: &Analysis) -> impl ExactSizeIterator<Item = Costed<InstructionRow>> {
    let all = All::of(analysis);
    all.ranking().map(move |at| all.row(at))
}

/// Those of one function, likewise.
pub fn instructions_of(
    analysis: &Analysis,
    routine: RoutineId,
) -> impl Iterator<Item = Costed<InstructionRow>> {
    let all = All::of(analysis);
    let spots = all.spots.clone();
    all.ranking().filter(move |&at| spots.of(at).routine == routine).map(move |at| all.row(at))
}

/// What rows are made from.
struct All<'a> {
    spots: Spots<'a>,
    costs: Vec<Cost>,
    divided: Vec<Option<Divided>>,
    text: CodeText<'a>,
}

/// Counted instructions by their ids, then samples on code that was not counted.
#[derive(Clone)]
struct Spots<'a> {
    analysis: &'a Analysis<'a>,
    strays: Vec<(Place, RoutineId)>,
}

struct Spot {
    id: Option<InstructionId>,
    place: Place,
    routine: RoutineId,
}

impl Spots<'_> {
    fn of(&self, at: usize) -> Spot {
        let code = &self.analysis.code;
        match at.checked_sub(code.instructions.len()) {
            None => {
                let id = InstructionId(at as u32);
                let routine = self.analysis.owner[code.instructions[at].block.index()];
                Spot { id: Some(id), place: code.place(id), routine }
            }
            Some(stray) => {
                let (place, routine) = self.strays[stray];
                Spot { id: None, place, routine }
            }
        }
    }
}

impl<'a> All<'a> {
    fn of(analysis: &'a Analysis<'a>) -> All<'a> {
        let mut costs = analysis.by_instruction();
        costs.extend(analysis.strays().map(|(_, _, weight)| Cost { weight, ..Cost::default() }));
        let strays = analysis.strays().map(|(place, routine, _)| (place, routine)).collect();
        let (divided, text) = (analysis.divided(), CodeText::new(analysis));
        All { spots: Spots { analysis, strays }, costs, divided, text }
    }

    fn ranking(&self) -> impl ExactSizeIterator<Item = usize> + use<'a> {
        let (spots, modules) = (self.spots.clone(), module_ranks(self.spots.analysis.profile));
        let key = move |at: usize| {
            let place = spots.of(at).place;
            (modules[place.module.index()], place.offset)
        };
        costliest_first(&self.costs, key)
    }

    fn row(&self, at: usize) -> Costed<InstructionRow> {
        let (analysis, cost) = (self.spots.analysis, self.costs[at]);
        let Spot { id, place, routine } = self.spots.of(at);
        let profile = analysis.profile;
        let line = line_at(profile, place);
        let modelled = id.zip(analysis.modelled.as_ref());
        let divided = id.and_then(|id| self.divided[id.index()]);
        let is_known = id.is_some() || analysis.was_surely_not_executed(place);
        let of = InstructionRow {
            module: labels::module_path(profile, place.module),
            offset: place.offset.0,
            function: analysis.name_of(routine),
            file: line.map(|line| labels::file_path(profile, line.file).to_string()),
            line: line.map(|line| line.line),
            text: id.map_or(String::new(), |id| self.text.of(id)),
            executions: counted(analysis, cost.instructions).filter(|_| is_known),
            modelled_executions: modelled.map(|(id, modelled)| modelled.executions[id.index()]),
            modelled_cycles: modelled.map(|(id, modelled)| modelled.stacks.height(id.0).as_cycles()),
            modelled_why: modelled.map(|(id, modelled)| simulated::why(analysis, modelled, id)),
            divided_cycles: divided.map(|divided| divided.cycles),
            divided_within: divided.map(|divided| match divided.whole {
                Whole::Loop(_) => "loop",
                Whole::Block(_) => "block",
            }),
            id,
            routine,
        };
        Costed::new(analysis, of, cost)
    }
}
