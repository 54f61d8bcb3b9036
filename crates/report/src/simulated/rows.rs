//! One row for each function, loop, block, line or instruction that was executed, most cycles first.

use super::Simulated;
use crate::code_text::CodeText;
use crate::request::By;
use crate::site::{self, Site};
use timewise_attribution::Parts;
use timewise_flow::{InstructionId, LoopId, ModelledCost, RoutineId};
use timewise_profile::BlockId;

/// Something that a modelled core spent cycles on.
pub struct Row {
    /// What it is.
    pub site: Site,
    /// Its cycles, those of a function without its callees and of a loop without its inner loops.
    pub cost: ModelledCost,
    /// Which instruction it is, if it is one.
    pub instruction: Option<InstructionId>,
}

/// Also what a core needs no cycles for, as a `nop` that is fused with the instruction before it.
fn was_executed(cost: &ModelledCost) -> bool {
    cost.instructions > 0 || cost.cycles() > Parts::ZERO
}

/// Whether such things have cycle stacks of their own.
pub fn tells(by: By) -> bool {
    !matches!(by, By::Call | By::Branch | By::Path | By::Waiting | By::Kernel)
}

/// All rows of what was executed: all instructions and all cycles are in them, but for lines and loops those of code that
/// has none. Nothing for what has no stack of its own, such as calls.
pub fn rows<'a>(simulated: &Simulated<'a>, by: By) -> Option<Box<dyn Iterator<Item = Row> + 'a>> {
    let analysis = simulated.analysis;
    let costs = match by {
        By::Function => analysis.modelled_by_routine(),
        By::Loop => analysis.modelled_by_loop(),
        By::Block => analysis.modelled_by_block(),
        By::Instruction => analysis.modelled_by(analysis.code.instructions.len(), |id| Some(id.index())),
        By::Line => {
            let mut lines = analysis.modelled_by_line();
            lines.retain(|(_, _, cost)| was_executed(cost));
            lines.sort_by_key(|(module, line, cost)| (std::cmp::Reverse(cost.cycles()), *module, *line));
            return Some(Box::new(lines.into_iter().map(move |(module, line, cost)| Row {
                site: site::source_line(analysis, (module, line)),
                cost,
                instruction: None,
            })));
        }
        By::Call | By::Branch | By::Path | By::Waiting | By::Kernel => return None,
    };
    let mut order: Vec<usize> = (0..costs.len()).filter(|&at| was_executed(&costs[at])).collect();
    order.sort_by_key(|&at| (std::cmp::Reverse(costs[at].cycles()), at));
    let text = CodeText::new(analysis);
    Some(Box::new(order.into_iter().map(move |at| {
        let id = at as u32;
        let instruction = (by == By::Instruction).then_some(InstructionId(id));
        let site = match by {
            By::Loop => site::a_loop(analysis, LoopId(id)),
            By::Block => site::block(analysis, BlockId(id)),
            By::Instruction => site::instruction(&text, analysis, InstructionId(id)),
            _ => site::function(analysis, RoutineId(id)),
        };
        Row { site, cost: costs[at], instruction }
    })))
}
