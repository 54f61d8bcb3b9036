//! The whole analysis of a profile, and costs of any grouping of its instructions.

use crate::attribute::{Attributed, Policy, attribute};
use crate::code::{Code, InstructionId};
use crate::cost::{Cost, Estimate, Ruler};
use crate::frames::Frames;
use crate::graph::{Graph, graphs};
use crate::lines::{SourceLine, line_at, rows_of_instructions};
use crate::loops::{Forest, LoopId};
use crate::modelled::{Modelled, ModelledCost};
use crate::origin;
use crate::parallel::both;
use crate::place_name;
use crate::quality::Quality;
use crate::routine::{FunctionMap, Routine, RoutineId, routines};
use crate::samples::Samples;
use crate::strays::Owners;
use crate::totals::Totals;
use crate::work::lengths_of_turns;
use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;
use timewise_profile::{BlockId, FunctionId, Line, ModuleId, ModuleKind, Place, Profile};

/// Everything that follows from a profile.
#[derive(Clone, Debug)]
pub struct Analysis<'p> {
    /// What was measured.
    pub profile: &'p Profile,
    /// Which instruction samples are charged to.
    pub policy: Policy,
    /// Executed code with counts.
    pub code: Code,
    /// Functions that were executed or sampled.
    pub routines: Vec<Routine>,
    /// The routine of each block.
    pub owner: Vec<RoutineId>,
    /// Dynamic control flow of each routine.
    pub graphs: Vec<Graph>,
    /// Loops of all routines.
    pub forest: Forest,
    /// Samples where they fell.
    pub samples: Samples,
    /// Who had called where samples fell.
    pub frames: Frames,
    /// Samples where they are charged.
    pub attributed: Attributed,
    /// Turns costs into estimates.
    pub ruler: Ruler,
    /// How far all this can be trusted.
    pub quality: Quality,
    /// What a modelled core spent on the same code, if it was simulated.
    pub modelled: Option<Modelled>,
    stray_owner: Vec<RoutineId>,
    totals: OnceLock<Totals>,
}

impl<'p> Analysis<'p> {
    /// Analyses a profile. `policy` defaults to what suits the clock of its samples.
    pub fn new(profile: &'p Profile, policy: Option<Policy>) -> Analysis<'p> {
        let code = Code::new(profile);
        let map = FunctionMap::new(profile);
        let (samples, (routines, owner, graphs, forest)) = both(
            || Samples::new(profile, &code),
            || {
                let (routines, owner) = routines(&code, &map);
                let graphs = graphs(&code, &routines, &owner);
                let forest = Forest::new(&graphs, code.blocks.len());
                (routines, owner, graphs, forest)
            },
        );
        let quality = Quality::new(profile, &code, &samples);
        let mut owners = Owners::new(profile, &code, &map, routines, &owner);
        let stray_owner = samples.stray.keys().map(|place| owners.at(*place)).collect();
        let symbol = |place| map.at(place).map(|id| profile.functions[id.index()].symbol.as_str());
        let is_start = |place| symbol(place).is_some_and(origin::is_start);
        let frames = Frames::new(profile, &code, &samples, |place| owners.at(place), is_start);
        let routines = owners.into_routines();
        let policy = policy.unwrap_or(Policy::suited_to(quality.clock.as_ref()));
        let attributed = attribute(&code, &samples, &frames, policy);
        let by_lengths = || lengths_of_turns(profile).map_or(Estimate::ONE, Estimate::exactly);
        let work = quality.turns.map_or_else(by_lengths, |turns| turns.factor.times(turns.lengths));
        let ruler = Ruler { work, ..Ruler::new(&samples, quality.clock.as_ref()) };
        let modelled = Modelled::new(profile, &code);
        Analysis {
            profile,
            policy,
            code,
            routines,
            owner,
            graphs,
            forest,
            samples,
            frames,
            attributed,
            ruler,
            quality,
            modelled,
            stray_owner,
            totals: OnceLock::new(),
        }
    }

    /// Costs with callees, which are made when they are first asked for.
    pub fn totals(&self) -> &Totals {
        self.totals.get_or_init(|| Totals::new(self))
    }

    /// Cost of each executed instruction, by id.
    pub fn by_instruction(&self) -> Vec<Cost> {
        self.group(self.code.instructions.len(), |id, add| add(id.index()))
    }

    /// Cost of each block, by id.
    pub fn by_block(&self) -> Vec<Cost> {
        self.group(self.code.blocks.len(), |id, add| add(self.block_of(id).index()))
    }

    /// Cost of each routine by itself, without callees; samples on code that was not counted included.
    pub fn by_routine(&self) -> Vec<Cost> {
        let owner = |id| self.owner[self.block_of(id).index()];
        let mut costs = self.group(self.routines.len(), |id, add| add(owner(id).index()));
        for (weight, routine) in self.samples.stray.values().zip(&self.stray_owner) {
            costs[routine.index()].weight += *weight;
        }
        costs
    }

    /// Cost of each loop's own blocks: those in no inner loop. Callees are left out.
    pub fn by_loop_self(&self) -> Vec<Cost> {
        self.group(self.forest.loops.len(), |id, add| {
            if let Some(innermost) = self.forest.innermost[self.block_of(id).index()] {
                add(innermost.index());
            }
        })
    }

    /// Cost of all of each loop's blocks, inner loops included. Callees are left out.
    pub fn by_loop_total(&self) -> Vec<Cost> {
        self.group(self.forest.loops.len(), |id, add| {
            self.forest.around(self.block_of(id)).for_each(|around| add(around.index()));
        })
    }

    /// Cost of each source line and module that ran, in order; code without a line is left out.
    pub fn by_line(&self) -> Vec<(ModuleId, SourceLine, Cost)> {
        let (lines, of) = self.lines();
        let costs =
            self.group(lines.len(), |id, add| of[id.index()].into_iter().for_each(|at| add(at as usize)));
        let mut all: BTreeMap<(ModuleId, SourceLine), Cost> = lines.into_iter().zip(costs).collect();
        for (place, weight) in &self.samples.stray {
            if let Some(line) = line_at(self.profile, *place) {
                all.entry((place.module, line)).or_default().weight += *weight;
            }
        }
        all.into_iter().map(|((module, line), cost)| (module, line, cost)).collect()
    }

    /// Modelled cost of each source line and module that ran, likewise.
    pub fn modelled_by_line(&self) -> Vec<(ModuleId, SourceLine, ModelledCost)> {
        let (lines, of) = self.lines();
        let costs = self.modelled_by(lines.len(), |id| of[id.index()].map(|at| at as usize));
        lines.into_iter().zip(costs).map(|((module, line), cost)| (module, line, cost)).collect()
    }

    /// Source lines and modules that ran, in order, and which of them each instruction belongs to.
    pub fn lines(&self) -> (Vec<(ModuleId, SourceLine)>, Vec<Option<u32>>) {
        let rows = rows_of_instructions(self.profile, &self.code);
        let line = |row: u32| {
            let Line { place, file, line } = self.profile.lines[row as usize];
            file.map(|file| (place.module, SourceLine { file, line }))
        };
        let mut used: Vec<u32> = rows.iter().copied().flatten().collect();
        used.sort_unstable();
        used.dedup();
        used.sort_by_key(|&row| line(row));
        let mut distinct: Vec<(ModuleId, SourceLine)> = Vec::new();
        let mut at = vec![0u32; self.profile.lines.len()];
        for row in used {
            let Some(line) = line(row) else { continue };
            if distinct.last() != Some(&line) {
                distinct.push(line);
            }
            at[row as usize] = distinct.len() as u32 - 1;
        }
        let of = rows.into_iter().map(|row| row.map(|row| at[row as usize])).collect();
        (distinct, of)
    }

    /// Cost of everything that was sampled in user mode.
    pub fn whole(&self) -> Cost {
        let instructions = self.code.instructions_executed();
        Cost { weight: self.samples.user, split_variance: 0.0, instructions }
    }

    /// Whether code at `place` that has no counts was not executed in the counting run. Of code that the
    /// program wrote at run time that is not known: it may have stood elsewhere.
    pub fn was_surely_not_executed(&self, place: Place) -> bool {
        self.profile.modules[place.module.index()].kind != ModuleKind::Jit
    }

    /// The function that a routine stands for.
    pub fn function_of(&self, routine: RoutineId) -> Option<FunctionId> {
        self.routines[routine.index()].function
    }

    /// How often a routine was called.
    pub fn calls_of(&self, routine: RoutineId) -> u64 {
        self.graphs.get(routine.index()).map_or(0, |graph| graph.calls)
    }

    /// For each loop, whether it or a loop inside it calls functions, whose cost is not among its own.
    pub fn loops_that_call(&self) -> Vec<bool> {
        let mut calls = vec![false; self.forest.loops.len()];
        for block in (0..self.code.blocks.len() as u32).map(BlockId) {
            if self.code.ends_in_call(block) {
                self.forest.around(block).for_each(|around| calls[around.index()] = true);
            }
        }
        calls
    }

    /// A routine's name: its function's, or one made from the module's name and the offset.
    pub fn name_of(&self, routine: RoutineId) -> String {
        let routine = &self.routines[routine.index()];
        match routine.function {
            Some(function) => self.profile.functions[function.index()].name.clone(),
            None => {
                // Code that the program rewrote stands at the same offset each time; the first is 0.
                let version = routine.place.version.0;
                let version = if version > 0 { format!("#{version}") } else { String::new() };
                place_name::offset(self.profile, routine.place) + &version
            }
        }
    }

    /// Samples on code that was not counted: place, routine and weight, in order.
    pub fn strays(&self) -> impl Iterator<Item = (Place, RoutineId, crate::samples::Weight)> {
        let strays = self.samples.stray.iter().zip(&self.stray_owner);
        strays.map(|((place, weight), routine)| (*place, *routine, *weight))
    }

    /// First and last line of a loop's code in the file of its header.
    pub fn lines_of_loop(&self, id: LoopId) -> Option<(SourceLine, SourceLine)> {
        let one = &self.forest.loops[id.index()];
        let lines_of = |block: &BlockId| {
            let instructions = self.code.blocks[block.index()].instructions();
            instructions.filter_map(|id| line_at(self.profile, self.code.place(id)))
        };
        let first = std::iter::once(&one.header).chain(&one.blocks).flat_map(lines_of).next()?;
        let same_file = one.blocks.iter().flat_map(lines_of).filter(|line| line.file == first.file);
        let (low, high) = same_file.fold((first, first), |(low, high), line| (low.min(line), high.max(line)));
        Some((low, high))
    }

    /// The block that holds an instruction.
    pub fn block_of(&self, id: InstructionId) -> BlockId {
        self.code.instructions[id.index()].block
    }

    /// Sums up costs of `size` groups; `groups` calls its argument with each group of an instruction.
    fn group(&self, size: usize, groups: impl Fn(InstructionId, &mut dyn FnMut(usize))) -> Vec<Cost> {
        let mut costs = vec![Cost::default(); size];
        for index in 0..self.code.instructions.len() {
            let id = InstructionId(index as u32);
            groups(id, &mut |group| {
                costs[group].weight += self.attributed.at[index];
                costs[group].instructions += self.code.executions(id);
            });
        }
        for split in &self.attributed.splits {
            let mut within: HashMap<usize, f64> = HashMap::new();
            for part in &split.parts {
                groups(part.instruction, &mut |group| *within.entry(group).or_default() += part.variance);
            }
            for (group, variance) in within {
                costs[group].split_variance += split.variance_of(variance);
            }
        }
        costs
    }
}
