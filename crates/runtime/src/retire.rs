//! Code that goes away: what was translated from it must not run again, unless the same code comes back.
//!
//! A fragment whose source may have changed is retired: nothing leads to it any more, and a thread that
//! is in it leaves it by the next exit, jump back, or return from a system call. If control comes to one
//! of its addresses again and finds the same bytes of the same mapping, it is revived, with its counters;
//! otherwise the code is translated anew and has the next version.

use crate::cache;
use crate::state::{Block, Fragment, Process};
use crate::unlink;
use alloc::vec::Vec;
use core::ops::Range;
use timewise_abi::thread::ThreadArea;

/// How many retired fragments are kept in mind at one address: those of the latest codes.
const REMEMBERED: usize = 4;

/// A page of the program that code was translated from.
#[derive(Default, Debug)]
pub struct CodePage {
    /// Live fragments from it.
    fragments: Vec<u32>,
    /// Version of what is translated from it now.
    version: u32,
}

fn pages(range: Range<u64>) -> Range<u64> {
    range.start >> 12..range.end.div_ceil(0x1000)
}

/// The version of the code in `start..end`: blocks of one version never contradict each other.
pub fn version(process: &Process, start: u64, end: u64) -> u32 {
    let version = |page| process.pages.get(&page).map_or(0, |page| page.version);
    pages(start..end).map(version).max().unwrap_or(0)
}

/// Lets control come to a fragment.
pub fn enter(process: &mut Process, number: u32) {
    let fragment = &process.fragments[number as usize];
    let (blocks, source) = (fragment.blocks.clone(), fragment.source(&process.blocks));
    for block in blocks {
        let key = process.blocks[block as usize].key();
        if process.starts.may_hold(key) {
            process.beginnings.add(&process.blocks, block);
        } else {
            process.beginnings.insert(key, block);
            process.starts.add(key);
        }
    }
    for page in pages(source) {
        process.pages.entry(page).or_default().fragments.push(number);
    }
}

/// Retires every fragment from a page that overlaps `range`.
pub fn retire(process: &mut Process, range: Range<u64>) {
    let range = pages(range);
    let mut fragments = Vec::new();
    let mut take = |page: &mut CodePage| {
        if !page.fragments.is_empty() {
            page.version += 1;
            fragments.append(&mut page.fragments);
        }
    };
    if range.end.saturating_sub(range.start) < process.pages.len() as u64 {
        range.for_each(|page| process.pages.get_mut(&page).into_iter().for_each(&mut take));
    } else {
        process.pages.iter_mut().filter(|(page, _)| range.contains(page)).for_each(|(_, page)| take(page));
    }
    for number in fragments {
        if core::mem::replace(&mut process.fragments[number as usize].live, false) {
            leave(process, number);
        }
    }
}

/// Takes away everything that leads to a fragment, and keeps in mind where it began.
fn leave(process: &mut Process, number: u32) {
    for key in take_away(process, number) {
        let retired = process.retired.entry(key).or_default();
        if retired.len() == REMEMBERED {
            retired.remove(0);
        }
        retired.push(number);
    }
}

/// Has what a fragment was translated from translated anew, though it has not changed.
pub fn discard(process: &mut Process, number: u32) {
    if core::mem::replace(&mut process.fragments[number as usize].live, false) {
        take_away(process, number);
    }
}

/// Takes away everything that leads to a fragment, and what could keep a thread in it for long. The [`Mode::key`] of each
/// of its blocks that was known where it begins: in the place of others is that of a loop, or a round of it that came before.
///
/// [`Mode::key`]: crate::kinds::Mode::key
fn take_away(process: &mut Process, number: u32) -> Vec<u64> {
    let fragment = &process.fragments[number as usize];
    let blocks = fragment.blocks.clone();
    for page in pages(fragment.source(&process.blocks)) {
        // One of two pages may stay as it is.
        if let Some(page) = process.pages.get_mut(&page) {
            page.fragments.retain(|&n| n != number);
        }
    }
    for back in fragment.loops() {
        // The stub lies in the fragment's region, so it is in reach.
        let _ = cache::link(back.place, back.stub);
    }
    let mut began = Vec::new();
    for block in blocks {
        if process.beginnings.remove(&process.blocks, block) {
            began.push(process.blocks[block as usize].key());
        }
        unlink::undo(process, block);
    }
    let mut offset = process.record.latest_thread.load(core::sync::atomic::Ordering::Acquire);
    while offset != 0 {
        redirect(process.shared.thread(offset), &process.fragments[number as usize]);
        offset = process.shared.previous_thread(offset);
    }
    began
}

/// A thread that is in a system call is not to come back to a retired fragment.
fn redirect(area: *mut ThreadArea, fragment: &Fragment) {
    // SAFETY: a registered area. The thread reads this field once when its call returns, and gets the old
    // value or the new one.
    unsafe {
        let after = &raw mut (*area).after;
        let current = after.read_volatile();
        if let Some(call) = fragment.system_calls().iter().find(|call| call.after == current) {
            after.write_volatile(call.stub);
        }
    }
}

/// The block at `address` of a retired fragment, if what it was translated from is there again.
pub fn revive(process: &mut Process, address: u64) -> Option<u32> {
    let candidates = process.retired.get(&process.mode.key(address))?.clone();
    let number = candidates.into_iter().rev().find(|&number| is_back(process, number))?;
    let fragment = &mut process.fragments[number as usize];
    fragment.live = true;
    for back in fragment.loops() {
        let _ = cache::link(back.place, back.entry);
    }
    let blocks = fragment.blocks.clone();
    for block in blocks.clone() {
        let key = process.blocks[block as usize].key();
        if let Some(retired) = process.retired.get_mut(&key) {
            retired.retain(|&n| n != number);
        }
    }
    enter(process, number);
    blocks.into_iter().find(|&block| process.blocks[block as usize].address == address)
}

/// Whether a retired fragment is what its source would be translated to.
fn is_back(process: &mut Process, number: u32) -> bool {
    let fragment = &process.fragments[number as usize];
    let (source, blocks) = (fragment.source(&process.blocks), fragment.blocks.clone());
    let (old, is_checked) = (fragment.mapping, fragment.is_checked);
    for page in pages(source.clone()) {
        if process.probe(page << 12).is_err() || !process.space.is_readable(page) {
            return false;
        }
    }
    // Without checks it would go on after the program has written there once more.
    let may_change = pages(source.clone()).any(|page| process.space.may_change(page << 12));
    if may_change != is_checked {
        return false;
    }
    let same = match (old, process.space.mapping(source.start)) {
        (Some(old), Some(new)) => process.space.same(old, new),
        _ => false,
    };
    same && blocks.into_iter().all(|block| {
        let Block { address, copy, length, .. } = process.blocks[block as usize];
        let length = usize::from(length);
        // SAFETY: the source was found readable; the copy is in the log for good.
        let [then, now] =
            [copy, address].map(|at| unsafe { core::slice::from_raw_parts(at as *const u8, length) });
        let offset = (address - source.start) as usize;
        let free = &process.fragments[number as usize].free();
        let differs = |at: &usize| then[*at] != now[*at];
        !(0..length).filter(differs).any(|at| !free.iter().any(|range| range.contains(&(offset + at))))
    })
}

/// A thread found that a block is no longer what it was.
pub fn changed(process: &mut Process, block: u32) {
    let number = process.blocks[block as usize].fragment;
    let fragment = &mut process.fragments[number as usize];
    if core::mem::replace(&mut fragment.live, false) {
        for page in pages(fragment.source(&process.blocks)) {
            if let Some(page) = process.pages.get_mut(&page) {
                page.version += 1;
            }
        }
        leave(process, number);
    }
}
