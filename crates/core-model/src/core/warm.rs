//! Warming: what an instruction does to caches, TLBs and predictors, without its time.

use super::{Core, Pending, lines, lines_of};
use crate::code::Code;
use crate::memory::{LINE, Side, Why};
use crate::predict::Executed;
use timewise_replay::Access;
use timewise_trace::Observer;

impl<O: Observer> Core<O> {
    /// Lets an instruction leave its traces in caches, TLBs and predictors. It takes no time, has no number and
    /// no record: the instruction before and the next one that is executed follow each other.
    pub fn warm(&mut self, code: &Code, number: u32, accesses: &[Access]) {
        let it = code.get(number);
        self.learn(it.address);
        self.is_warming = true;
        if self.fetcher.touch(it.address) {
            self.pages.touch(Side::Instructions, it.address, &mut self.caches);
            self.caches.touch(it.address >> LINE, Why::Fetch);
        }
        for access in accesses {
            let is_stored = access.writes && !access.reads;
            let why = if is_stored { Why::Store(it.address) } else { Why::Load(it.address) };
            let lines = match it.repeats {
                Some(_) => lines_of(access.address, access.size),
                None => lines(access),
            };
            for line in lines {
                self.pages.touch(Side::Data, line << LINE, &mut self.caches);
                match it.evicts {
                    true => self.caches.evict(line, 0),
                    false => self.caches.touch(line, why),
                }
            }
        }
        let (complete, committed) = (self.committed.0, self.committed.0);
        let next = it.address + u64::from(it.length);
        self.wrong_path.end();
        let (branch, address, target) = (it.branch, it.address, it.target);
        self.pending = Some(Pending { branch, address, next, target, complete, committed });
    }

    /// Tells the predictor where the latest branch went.
    pub(super) fn learn(&mut self, target: u64) {
        if let Some(Pending { branch, address, next, .. }) = self.pending.take() {
            self.predictor.see(Executed { branch, address, next, target });
        }
    }
}
