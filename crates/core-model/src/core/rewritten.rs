//! Code that the program writes. A store throws its line out of where fetch gets instructions; what was fetched of it
//! before the store reached the cache is thrown away, and fetched again.

use super::Core;
use crate::code::Static;
use crate::memory::{LINE, Line};
use timewise_trace::{Flags, Observer};

/// Lines of code that stores are on their way to.
#[derive(Debug, Default)]
pub struct Rewritten(Vec<Stale>);

/// A line that was fetched before it is written.
#[derive(Debug)]
struct Stale {
    line: Line,
    /// When the latest store gets there.
    drained: u64,
    /// How many stores get there.
    stores: u64,
}

impl<O: Observer> Core<O> {
    /// A store to this line goes into the cache at `drained`.
    #[inline]
    pub(super) fn rewrite(&mut self, line: Line, drained: u64) {
        if self.processor.stores.code_clear.is_none() {
            return;
        }
        let was_code = self.caches.drop_code(line) | self.fetcher.drop_line(line);
        match self.rewritten.0.iter_mut().find(|stale| stale.line == line) {
            Some(stale) => (stale.drained, stale.stores) = (drained, stale.stores + 1),
            None if was_code => self.rewritten.0.push(Stale { line, drained, stores: 1 }),
            None => {}
        }
    }

    /// Fetches an instruction again that was fetched before it was written.
    #[inline]
    pub(super) fn fetch_rewritten(&mut self, it: &Static) {
        let Some(clear) = self.processor.stores.code_clear.filter(|_| !self.rewritten.0.is_empty()) else {
            return;
        };
        let cycle = self.fetcher.cycle();
        self.rewritten.0.retain(|stale| stale.drained > cycle);
        let lines = it.address >> LINE..=(it.address + u64::from(it.length.max(1)) - 1) >> LINE;
        let stale = self.rewritten.0.iter().filter(|stale| lines.contains(&stale.line));
        let together = self.processor.stores.code_clear_stores;
        // Between one time and the next, the next stores come from fetch to their commit.
        let way = self.fetcher.depth() + self.processor.rename.to_issue + self.processor.commit.delay;
        let cleared = |stores: u64| {
            let times = together.map_or(1, |together| stores.div_ceil(together));
            let again = self.processor.stores.code_clear_again.filter(|_| stores > 1).unwrap_or(0);
            times * clear + (times - 1) * way + again
        };
        let Some(again) = stale.map(|stale| stale.drained + cleared(stale.stores)).max() else { return };
        self.rewritten.0.clear();
        self.totals.rewritten += 1;
        self.fetcher.redirect(again);
        let slot = self.retire.latest();
        if !slot.flags.any() {
            slot.flags = slot.flags.union(Flags::FLUSH);
        }
    }
}
