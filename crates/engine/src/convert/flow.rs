//! Flow of control between the pieces of a process, and its simplification: what came in from outside
//! at the very instruction where something had left never left.

use super::pieces::{PieceId, Pieces};
use std::collections::{BTreeMap, HashMap};
use timewise_abi::NONE;
use timewise_abi::log::{EdgeRecord, edge_kind};
use timewise_isa::{Control, boundaries};
use timewise_profile::{EdgeKind, Offset, Place};

/// Control going from one piece to another some times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Where from, and how many of its instructions had been executed; `None` from outside.
    pub from: Option<(PieceId, u16)>,
    /// Where to; `None` if control left.
    pub to: Option<PieceId>,
    /// In which way.
    pub kind: EdgeKind,
    /// How often; not 0.
    pub count: u64,
}

impl Flow {
    /// That of an edge between blocks, which are pieces, that was taken some times.
    pub fn of(edge: &EdgeRecord, count: i64, piece: impl Fn(u32) -> PieceId) -> Flow {
        Flow {
            from: (edge.from != NONE).then(|| (piece(edge.from), edge.executed)),
            to: (edge.to != NONE).then(|| piece(edge.to)),
            kind: kind(edge.kind),
            count: count as u64,
        }
    }

    /// That of a thread that stopped for good after some instructions of a piece.
    pub fn end(at: (PieceId, u16)) -> Flow {
        Flow { from: Some(at), to: None, kind: EdgeKind::External, count: 1 }
    }

    /// Whether it leaves its piece before the end.
    pub fn early(&self, pieces: &Pieces) -> Option<(PieceId, u16)> {
        self.from.filter(|&(piece, executed)| executed < pieces.get(piece).instructions)
    }

    /// Whether it leaves a piece before its first instruction and comes back to that piece: a way round
    /// through outside, and none through the program.
    pub fn stays(&self) -> bool {
        self.from.is_some_and(|(from, executed)| executed == 0 && self.to == Some(from))
    }
}

/// The model's word for a kind of edge.
fn kind(kind: u16) -> EdgeKind {
    match kind {
        edge_kind::JUMP => EdgeKind::Jump,
        edge_kind::BRANCH => EdgeKind::Branch,
        edge_kind::INDIRECT_JUMP => EdgeKind::IndirectJump,
        edge_kind::CALL => EdgeKind::Call,
        edge_kind::INDIRECT_CALL => EdgeKind::IndirectCall,
        edge_kind::RETURN => EdgeKind::Return,
        edge_kind::SYSTEM_CALL => EdgeKind::SystemCall,
        edge_kind::EXTERNAL => EdgeKind::External,
        // Overwritten code goes on in what stands there now, as if nothing had happened.
        _ => EdgeKind::Fallthrough,
    }
}

/// Adds them up, without what only seems to come from outside or to leave.
pub fn simplify(pieces: &Pieces, flows: &mut Vec<Flow>) {
    merge(flows);
    rejoin(pieces, flows);
    take_back(pieces, flows);
    merge(flows);
}

/// Adds up flows of equal ends and kind, and leaves out those that never were.
pub fn merge(flows: &mut Vec<Flow>) {
    flows.retain(|flow| flow.count > 0);
    flows.sort_unstable_by_key(|flow| (flow.from, flow.to, flow.kind));
    flows.dedup_by(|next, sum| {
        let equal = (next.from, next.to, next.kind) == (sum.from, sum.to, sum.kind);
        if equal {
            sum.count = sum.count.saturating_add(next.count);
        }
        equal
    });
}

/// Joins what left to outside with what came from outside at the next instruction: a signal was handled
/// there, and the code went on as if nothing had happened. Blocks are then not split at the places where
/// signals arrived by chance. (A thread that ends right before the first instruction of another thread or
/// of a handler looks the same; counts are right in any case.)
pub fn rejoin(pieces: &Pieces, flows: &mut Vec<Flow>) {
    let mut arrivals: HashMap<Place, Vec<usize>> = HashMap::new();
    for (number, flow) in flows.iter().enumerate() {
        if let (None, Some(to)) = (flow.from, flow.to) {
            arrivals.entry(pieces.get(to).place).or_default().push(number);
        }
    }
    if arrivals.is_empty() {
        return;
    }
    let mut joined = Vec::new();
    for number in 0..flows.len() {
        let (Some(from), None) = (flows[number].from, flows[number].to) else { continue };
        let Some((place, kind)) = next(pieces, from) else { continue };
        for &arrival in arrivals.get(&place).into_iter().flatten() {
            let count = flows[number].count.min(flows[arrival].count);
            flows[number].count -= count;
            flows[arrival].count -= count;
            joined.push(Flow { from: Some(from), to: flows[arrival].to, kind, count });
        }
    }
    flows.retain(|flow| flow.count > 0);
    flows.extend(joined.into_iter().filter(|flow| flow.count > 0));
}

/// Where control goes after the first `executed` instructions of a piece, if it does not branch there.
fn next(pieces: &Pieces, (piece, executed): (PieceId, u16)) -> Option<(Place, EdgeKind)> {
    let piece = pieces.get(piece);
    let code = pieces.code(piece.place, usize::from(piece.length));
    let mut offset = piece.place.offset.0;
    let mut control = Control::Next;
    for (length, leaves_by) in boundaries(&code, offset).take(usize::from(executed)) {
        offset = offset.wrapping_add(u64::from(length));
        control = leaves_by;
    }
    let kind = match control {
        Control::Next => EdgeKind::Fallthrough,
        Control::SystemCall => EdgeKind::SystemCall,
        _ => return None,
    };
    Some((Place { offset: Offset(offset), ..piece.place }, kind))
}

/// Takes back arrivals at a piece that left it before its first instruction: they go on to where the
/// departure leads. Of several ways in, the most frequent gives them up, one that shows nothing otherwise
/// (from outside) first, and calls last: a thread that a signal finds right behind one has made it, though the handler
/// may have it come back by another way.
pub fn take_back(pieces: &Pieces, flows: &mut Vec<Flow>) {
    // Piece by piece in order: each round moves departures on towards pieces that are executed, or out.
    for _ in 0..8 {
        let mut departures: BTreeMap<PieceId, Vec<usize>> = BTreeMap::new();
        for (number, flow) in flows.iter().enumerate() {
            if let Some((piece, 0)) = flow.early(pieces).filter(|_| !flow.stays()) {
                departures.entry(piece).or_default().push(number);
            }
        }
        if departures.is_empty() {
            return;
        }
        let mut arrivals: BTreeMap<PieceId, Vec<usize>> = BTreeMap::new();
        for (number, flow) in flows.iter().enumerate() {
            let moves = |to: &PieceId| departures.contains_key(to) && !flow.stays();
            if let Some(to) = flow.to.filter(moves) {
                arrivals.entry(to).or_default().push(number);
            }
        }
        let mut moved = Vec::new();
        for (piece, departures) in departures {
            let mut arrivals = arrivals.remove(&piece).unwrap_or_default();
            for departure in departures {
                arrivals.sort_by_key(|&n| {
                    let is_call = matches!(flows[n].kind, EdgeKind::Call | EdgeKind::IndirectCall);
                    (flows[n].from.is_some(), is_call, std::cmp::Reverse(flows[n].count))
                });
                for &arrival in arrivals.iter().filter(|&&arrival| arrival != departure) {
                    let count = flows[departure].count.min(flows[arrival].count);
                    let to = flows[departure].to;
                    let (from, kind) = (flows[arrival].from, flows[arrival].kind);
                    // Which way a branch went is known, wherever the program went on after a fault there.
                    let keeps = to.is_some() || matches!(kind, EdgeKind::Branch | EdgeKind::Fallthrough);
                    let kind = if keeps { kind } else { EdgeKind::External };
                    flows[departure].count -= count;
                    flows[arrival].count -= count;
                    if from.is_some() || to.is_some() {
                        moved.push(Flow { from, to, kind, count });
                    }
                }
            }
        }
        flows.retain(|flow| flow.count > 0);
        flows.extend(moved.into_iter().filter(|flow| flow.count > 0));
    }
}

#[cfg(test)]
mod tests {
    use super::super::pieces::Found;
    use super::*;
    use crate::code::Modules;

    /// Three pieces: five `nop`s; the last two of these, translated for themselves; `ret` behind them.
    fn pieces() -> (Pieces, [PieceId; 3]) {
        let (mut pieces, mut modules) = (Pieces::default(), Modules::default());
        let module = modules.unmapped();
        let mut add = |offset, code: &[u8]| {
            let found = Found {
                owner: 1,
                module,
                offset: Offset(offset),
                version: 0,
                instructions: code.len() as u16,
                code,
            };
            pieces.add(&mut modules, &found)
        };
        let ids = [add(0x10, &[0x90; 5]), add(0x13, &[0x90; 2]), add(0x15, &[0xc3])];
        (pieces, ids)
    }

    fn flow(from: Option<(PieceId, u16)>, to: Option<PieceId>, kind: EdgeKind, count: u64) -> Flow {
        Flow { from, to, kind, count }
    }

    #[test]
    fn a_signal_that_returned_is_no_way_out() {
        let (pieces, [all, rest, _]) = pieces();
        let mut flows = vec![
            flow(None, Some(all), EdgeKind::External, 10),
            flow(Some((all, 3)), None, EdgeKind::External, 4),
            flow(None, Some(rest), EdgeKind::External, 3),
        ];
        rejoin(&pieces, &mut flows);
        merge(&mut flows);
        let expected = [
            flow(None, Some(all), EdgeKind::External, 10),
            flow(Some((all, 3)), None, EdgeKind::External, 1),
            flow(Some((all, 3)), Some(rest), EdgeKind::Fallthrough, 3),
        ];
        assert_eq!(flows, expected);
    }

    #[test]
    fn what_left_before_its_first_instruction_never_arrived() {
        let (pieces, [all, _, last]) = pieces();
        let mut flows = vec![
            flow(None, Some(all), EdgeKind::External, 1),
            flow(Some((last, 1)), Some(all), EdgeKind::Return, 9),
            flow(Some((all, 0)), None, EdgeKind::External, 3),
            flow(Some((all, 5)), Some(last), EdgeKind::Fallthrough, 7),
        ];
        take_back(&pieces, &mut flows);
        merge(&mut flows);
        let expected = [
            flow(Some((all, 5)), Some(last), EdgeKind::Fallthrough, 7),
            flow(Some((last, 1)), None, EdgeKind::External, 2),
            flow(Some((last, 1)), Some(all), EdgeKind::Return, 7),
        ];
        assert_eq!(flows, expected);
    }

    /// A signal found a thread right behind a call, and its handler had it come back by a return, as Go's does that lets
    /// others run.
    #[test]
    fn a_call_was_made_though_a_signal_came_right_behind_it() {
        let (pieces, [all, _, last]) = pieces();
        for kind in [EdgeKind::Call, EdgeKind::IndirectCall] {
            let mut flows = vec![
                flow(Some((last, 1)), Some(all), kind, 5),
                flow(Some((all, 0)), None, EdgeKind::External, 1),
                flow(Some((last, 1)), Some(all), EdgeKind::Return, 1),
            ];
            take_back(&pieces, &mut flows);
            merge(&mut flows);
            let expected = [
                flow(Some((last, 1)), None, EdgeKind::External, 1),
                flow(Some((last, 1)), Some(all), kind, 5),
            ];
            assert_eq!(flows, expected);
        }
    }

    #[test]
    fn a_branch_to_code_that_faulted_was_taken() {
        let (pieces, [all, _, last]) = pieces();
        let mut flows = vec![
            flow(Some((last, 1)), Some(all), EdgeKind::Branch, 9),
            flow(Some((all, 0)), None, EdgeKind::External, 9),
        ];
        take_back(&pieces, &mut flows);
        assert_eq!(flows, [flow(Some((last, 1)), None, EdgeKind::Branch, 9)]);
    }

    #[test]
    fn a_restarted_system_call_stays_where_it_is() {
        let (pieces, [all, ..]) = pieces();
        let mut flows = vec![
            flow(None, Some(all), EdgeKind::External, 6),
            flow(Some((all, 0)), None, EdgeKind::External, 5),
        ];
        rejoin(&pieces, &mut flows);
        take_back(&pieces, &mut flows);
        assert!(flows.iter().any(|flow| flow.stays() && flow.count == 5), "{flows:?}");
        assert!(flows.contains(&flow(None, Some(all), EdgeKind::External, 1)), "{flows:?}");
    }
}
