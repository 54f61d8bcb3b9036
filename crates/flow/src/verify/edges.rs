//! Whether edges go where code leads.

use super::{Check, Kind};
use crate::code::Code;
use timewise_isa::Control;
use timewise_profile::{BlockId, EdgeCount, EdgeKind, Module, ModuleKind, Offset, Place, Profile};

/// Each edge goes where the last instruction of its block can lead, in the way that the edge says.
pub fn check(profile: &Profile, code: &Code) -> Check {
    let mut check = Check::new(Kind::Edges);
    for edge in &profile.edge_counts {
        check.checked += 1;
        if let Some(what) = misled(edge, profile, code) {
            let place = edge.from.or(edge.to).map(|block| code.blocks[block.index()].place);
            check.find(place, Some(edge.process), what);
        }
    }
    check
}

fn misled(edge: &EdgeCount, profile: &Profile, code: &Code) -> Option<String> {
    let (from, to) = match (edge.from, edge.to) {
        (None, None) => return Some("an edge from nowhere to nowhere".into()),
        (Some(_), Some(_)) if edge.kind == EdgeKind::External => {
            return Some("an external edge has a block on both sides".into());
        }
        (Some(from), to) => (from, to),
        (None, Some(_)) if edge.kind == EdgeKind::External => return None,
        (None, Some(_)) => return Some(format!("{} comes from nowhere", named(edge.kind))),
    };
    if edge.kind == EdgeKind::External {
        return None;
    }
    let Some(expected) = destination(code, from, edge.kind) else {
        return Some(format!("{} leaves a block that does not end so", named(edge.kind)));
    };
    let from = code.blocks[from.index()].place;
    let to = code.blocks[to?.index()].place;
    // Overwritten code goes on in what stands there now.
    let wanted = expected.filter(|_| edge.kind != EdgeKind::Fallthrough || from.version == to.version)?;
    otherwise(profile, from, to, wanted).map(|what| format!("{} {what}", named(edge.kind)))
}

/// That control went from one place to another, where its instruction leads to `wanted`; `None` if that is there.
pub fn otherwise(profile: &Profile, from: Place, to: Place, wanted: Offset) -> Option<String> {
    let module = |place: &Place| &profile.modules[place.module.index()];
    let is_there = match from.module == to.module {
        true => to.offset == wanted || may_be_in_pieces(module(&to), to.offset, wanted),
        // Mappings of code that was written at run time may lie side by side.
        false => [from, to].iter().any(|place| module(place).kind == ModuleKind::Jit),
    };
    let [led, leads] = [to.offset.0, wanted.0];
    (!is_there).then(|| format!("leads to {led:#x}, but its instruction to {leads:#x}"))
}

/// Whether code of a file may have been mapped in pieces, at other distances than in the file: a program does that as it
/// likes with what no linker made, as with images of Lisp. What a linker made mostly has a build id.
fn may_be_in_pieces(module: &Module, one: Offset, other: Offset) -> bool {
    const PAGE: u64 = 1 << 12;
    let is_linked = !module.build_id.is_empty() || module.kind != ModuleKind::File;
    !is_linked && one.0.wrapping_sub(other.0).is_multiple_of(PAGE)
}

/// Where an edge of this kind leads from the end of `block`: `Some(None)` where code does not tell, and `None` if
/// the block's last instruction makes no such edge.
fn destination(code: &Code, block: BlockId, kind: EdgeKind) -> Option<Option<Offset>> {
    let next = code.blocks[block.index()].end;
    let target = match (kind, code.control(block)?) {
        (
            EdgeKind::Fallthrough,
            Control::Next
            | Control::Branch { .. }
            | Control::CountBranch { .. }
            | Control::Transaction { .. },
        )
        | (EdgeKind::SystemCall, Control::SystemCall) => next,
        (EdgeKind::Jump, Control::Jump { target })
        | (
            EdgeKind::Branch,
            Control::Branch { target, .. }
            | Control::CountBranch { target }
            | Control::Transaction { target },
        )
        | (EdgeKind::Call, Control::Call { target }) => Offset(target),
        (EdgeKind::IndirectJump, Control::IndirectJump)
        | (EdgeKind::IndirectCall, Control::IndirectCall)
        | (EdgeKind::Return, Control::Return { .. }) => return Some(None),
        _ => return None,
    };
    Some(Some(target))
}

fn named(kind: EdgeKind) -> &'static str {
    match kind {
        EdgeKind::Fallthrough => "a fall-through",
        EdgeKind::Jump => "a jump",
        EdgeKind::Branch => "a branch",
        EdgeKind::IndirectJump => "an indirect jump",
        EdgeKind::Call => "a call",
        EdgeKind::IndirectCall => "an indirect call",
        EdgeKind::Return => "a return",
        EdgeKind::SystemCall => "a system call",
        EdgeKind::External => "an external edge",
    }
}
