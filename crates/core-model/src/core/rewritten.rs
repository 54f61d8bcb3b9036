//! Code that the program writes. A store throws its line out of where fetch gets instructions; what was fetched of it
//! before the store reached the cache is thrown away, and fetched again.

use super::Core;
use crate::code::Static;
use crate::memory::{LINE, Line};
use timewise_trace::{Flags, Observer};

/// Lines of code that stores are on their way to, each with the cycle in which the latest gets there.
#[derive(Debug, Default)]
pub struct Rewritten(Vec<(Line, u64)>);

impl<O: Observer> Core<O> {
    /// A store to this line goes into the cache at `drained`.
    #[inline]
    pub(super) fn rewrite(&mut self, line: Line, drained: u64) {
        if self.processor.stores.code_clear.is_none() {
            return;
        }
        let was_code = self.caches.drop_code(line) | self.fetcher.drop_line(line);
        match self.rewritten.0.iter_mut().find(|(rewritten, _)| *rewritten == line) {
            Some((_, latest)) => *latest = drained,
            None if was_code => self.rewritten.0.push((line, drained)),
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
        self.rewritten.0.retain(|(_, drained)| *drained > cycle);
        let lines = it.address >> LINE..=(it.address + u64::from(it.length.max(1)) - 1) >> LINE;
        let stale = self.rewritten.0.iter().filter(|(line, _)| lines.contains(line));
        let Some(drained) = stale.map(|(_, drained)| *drained).max() else { return };
        self.totals.rewritten += 1;
        self.fetcher.redirect(drained + clear);
        let slot = self.retire.latest();
        if slot.flags == Flags::NONE {
            slot.flags = Flags::FLUSH;
        }
    }
}
