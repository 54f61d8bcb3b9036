//! Which sequence belongs to a way from one block to another, if the costs of calls are asked for.

use super::call::{Call, Callee, Jump, Returning};
use super::enter::{Brief, Enter};
use super::leave::{Back, Leave};
use super::moved::MOVED_UP;
use super::sequence::{Function, Sequence};
use crate::forest::Vertex;
use crate::state::Process;
use timewise_abi::Failure;
use timewise_isa::FlagSet;

/// What is added to a call by block `from` of block `to`.
pub fn enter(process: &mut Process, from: u32, to: u32, call: Call) -> Result<Sequence, Failure> {
    let Call { cost, callee, .. } = call;
    let ahead = ahead(process, from)?;
    if let Callee::Brief(_) = callee {
        let is_free = !process.blocks[to as usize].live.intersects(FlagSet::ALL);
        return Ok(Sequence::Brief(Brief { cost, ahead, is_free, returns: false }));
    }
    let Process { calls, space, shared, record, .. } = &mut *process;
    let calls = calls.as_mut().ok_or(Failure::Internal)?;
    let held = calls.holds(cost);
    let [callee, caller] = calls.noted(space, call, || shared.take_counter(record));
    Ok(Sequence::Enter(Enter { cost, callee, caller, ahead, held, borrowed: false }))
}

/// What is added to a return by block `from` to an address, where some flags are read; none if no call returns
/// there. The thread leaves by `exit` if another call is the latest.
pub fn leave(
    process: &mut Process,
    from: u32,
    (to, live): (u64, FlagSet),
    (exit, region): (u32, usize),
) -> Result<Option<Sequence>, Failure> {
    let ahead = ahead(process, from)?;
    let block = process.blocks[from as usize];
    let is_free = !live.intersects(FlagSet::ALL);
    let Process { calls: Some(calls), space, cache, shared, record, .. } = &mut *process else {
        return Ok(None);
    };
    if !calls.is_site(space, to) {
        return Ok(None);
    }
    let back = if calls.is_moved(space, (block.end(), to)) {
        Back::Between { up: MOVED_UP }
    } else if calls.are_all_framed() && block.returns_to_pushed() {
        Back::Between { up: 0 }
    } else {
        Back::Return(block.discards())
    };
    let returning = calls.returning(space, (to, block.end()), || shared.take_counter(record));
    let (cost, callee, held) = match returning {
        Returning::Brief { cost } => {
            return Ok(Some(Sequence::Brief(Brief { cost, ahead, is_free, returns: true })));
        }
        Returning::Doubted => return Ok(None),
        Returning::Held { cost } => (Some(cost), Function::Once, true),
        Returning::Framed { cost, callee } => (cost, callee, false),
    };
    let unmatched = calls.put_unmatched(cache.region(region), exit);
    Ok(Some(Sequence::Leave(Leave { back, ahead, exit, unmatched, is_free, cost, callee, held })))
}

/// What is added to a way on, other than a call, from block `from` to block `to`, if costs of calls are asked for
/// and it leads to another function.
pub fn onward(process: &mut Process, from: u32, to: u32) -> Result<Option<Sequence>, Failure> {
    if process.calls.is_none() {
        return Ok(None);
    }
    let ahead = ahead(process, from)?;
    let [from, to] = [from, to].map(|block| process.blocks[block as usize]);
    let [from_code, to_code] = [&from, &to].map(|block| (block.address, block.code()));
    let is_free = !to.live.intersects(FlagSet::ALL);
    let jump = Jump { from: from_code, to: to_code, instructions: from.instructions, ahead, is_free };
    let Process { calls, space, shared, record, .. } = &mut *process;
    Ok(calls.as_mut().and_then(|calls| calls.onward(space, jump, || shared.take_counter(record))))
}

/// How far a thread is ahead of its clock when it leaves a block.
fn ahead(process: &Process, from: u32) -> Result<i32, Failure> {
    let lead = process.placing.lead(Vertex::end(from));
    lead.and_then(|lead| i32::try_from(lead).ok()).ok_or(Failure::Internal)
}
