//! Instructions that are ordered with their neighbours.

use super::Core;
use crate::processor::{Ordering, Treatment};
use timewise_isa::Order;
use timewise_trace::{Observer, Psv};

impl<O: Observer> Core<O> {
    fn ordering(&self, order: Order) -> Ordering {
        let orders = &self.processor.backend.orders;
        match order {
            Order::Free => Ordering { treatment: Treatment::Free, latency: 0 },
            Order::Locked => orders.locked,
            Order::LoadFence => orders.load_fence,
            Order::StoreFence => orders.store_fence,
            Order::FullFence => orders.full_fence,
            Order::Clock => orders.clock,
            Order::FloatControl => orders.float_control,
            Order::Serialising => orders.serialising,
            Order::SystemCall => orders.system_call,
        }
    }

    /// Whether all that is younger is fetched again when the instruction commits.
    pub(super) fn flushes(&self, order: Order) -> bool {
        matches!(self.ordering(order).treatment, Treatment::Flush | Treatment::DrainFlush)
    }

    /// Whether the instruction is dispatched only when all that is older has committed.
    pub(super) fn drains(&self, order: Order) -> bool {
        matches!(self.ordering(order).treatment, Treatment::Drain | Treatment::DrainFlush)
    }

    /// When an instruction that could begin at `earliest` does.
    pub(super) fn begin(&self, order: Order, earliest: u64) -> u64 {
        match self.ordering(order).treatment {
            Treatment::Free => earliest.max(self.occupied[order as usize]),
            Treatment::Barrier => earliest.max(self.latest_complete),
            Treatment::Stores => earliest.max(self.drained.cycle).max(self.load_floor),
            _ => earliest,
        }
    }

    /// When an instruction is done that began at `begin` and would have its result at `result`.
    pub(super) fn ordered(&mut self, order: Order, begin: u64, result: u64) -> u64 {
        let end = begin + self.ordering(order).latency;
        self.occupied[order as usize] = end;
        result.max(end)
    }

    /// What others wait for once an instruction is done and committed.
    pub(super) fn apply(&mut self, order: Order, committed: u64, complete: u64) {
        match self.ordering(order).treatment {
            Treatment::Free => {}
            Treatment::Barrier => self.dispatch_floor = self.dispatch_floor.max(complete),
            Treatment::Stores => self.load_floor = self.load_floor.max(complete),
            Treatment::Drain => self.dispatch_floor = self.dispatch_floor.max(committed + 1),
            Treatment::Flush | Treatment::DrainFlush => {
                self.fetcher.redirect(committed + self.processor.commit.flush);
            }
        }
    }

    /// Cycles from an exception to fetch of the instruction that raised it.
    pub(super) fn exception_cycles(&self, events: Psv) -> u64 {
        let handler = match events.contains(Psv::FL_EX) {
            true => self.processor.commit.page_fault.unwrap_or_default(),
            false => 0,
        };
        self.processor.commit.flush + handler
    }
}
