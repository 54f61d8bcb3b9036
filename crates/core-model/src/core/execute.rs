//! Execution: from operands to results.

use super::{Core, Done, listed};
use crate::code::{Code, NO_REGISTER, Static, Uop};
use timewise_isa::Order;
use timewise_isa::form::{FRAME, STACK};
use timewise_replay::Access;
use timewise_trace::{Observer, Psv};

/// When registers have their values.
#[derive(Clone, Debug)]
pub struct Registers {
    ready: [u64; timewise_isa::Registers::COUNT],
    /// Who wrote each register, by number in program order.
    writers: [u64; timewise_isa::Registers::COUNT],
    /// The top of the x87 stack.
    top: u8,
}

impl Default for Registers {
    fn default() -> Registers {
        const COUNT: usize = timewise_isa::Registers::COUNT;
        Registers { ready: [0; COUNT], writers: [0; COUNT], top: 0 }
    }
}

impl Registers {
    /// When all registers of a list are there.
    #[inline]
    pub fn ready(&self, registers: &[u8]) -> u64 {
        listed(registers).fold(0, |ready, register| ready.max(self.ready[self.place(register)]))
    }

    #[inline]
    fn place(&self, register: u8) -> usize {
        crate::code::rotated(register, self.top).into()
    }

    /// Who wrote a register.
    #[inline]
    pub fn writer(&self, register: u8) -> u64 {
        self.writers[self.place(register)]
    }

    /// Writes registers, whose values are there at `ready`.
    #[inline]
    pub fn write(&mut self, registers: &[u8], ready: u64, writer: u64) {
        for register in listed(registers) {
            let place = self.place(register);
            (self.ready[place], self.writers[place]) = (ready, writer);
        }
    }

    /// The top of the x87 stack moves.
    pub fn turn(&mut self, by: i8) {
        self.top = self.top.wrapping_add_signed(by) & 7;
    }

    /// The stack pointer moves, by an addition of its own.
    fn move_stack(&mut self, dispatched: u64) {
        let ready = &mut self.ready[usize::from(STACK)];
        *ready = (*ready).max(dispatched) + 1;
    }
}

impl<O: Observer> Core<O> {
    /// Books a µop from the cycle on in which it is ready, and gives the cycle in which it is issued.
    #[inline]
    pub(super) fn issue(&mut self, uop: Uop, ready: u64) -> u64 {
        let issued = self.ports.take(uop.set.into(), uop.ports, ready, uop.busy.into());
        self.queues[usize::from(uop.queue)].take(issued + 1);
        issued
    }

    /// Executes an instruction whose first and last entries are dispatched in these cycles.
    pub(super) fn execute(
        &mut self,
        code: &Code,
        it: &Static,
        number: u32,
        accesses: &[Access],
        (first, last): (u64, u64),
    ) -> Done {
        let earliest = first + self.processor.rename.to_issue;
        if let Some(repeats) = it.repeats {
            return self.strings(it, repeats, accesses, earliest);
        }
        let mut done = Done { complete: last, events: Psv::BASE, raises: false };
        let begin = match it.order {
            Order::Free => earliest,
            order => self.begin(order, earliest),
        };
        let mut operands = self.registers.ready(&it.reads);
        if it.computes_stack && std::mem::take(&mut self.is_stack_moved) {
            // A µop of its own adds up what pushes and pops did until now.
            operands = operands.max(begin) + 1;
        }
        let mut loaded = 0;
        if !accesses.is_empty() {
            let address = self.registers.ready(&it.address_registers).max(begin);
            for access in accesses.iter().filter(|access| access.reads || it.evicts) {
                if it.evicts {
                    operands = operands.max(self.evict(access, address));
                    continue;
                }
                let load = self.load(it, number, access, address, first);
                done.events |= load.events;
                if load.raises {
                    return Done { complete: load.ready, raises: true, ..done };
                }
                loaded = loaded.max(load.ready);
            }
            // What `leave` computes is made of the address alone.
            operands = operands.max(if it.leaves_frame { address } else { loaded });
            for access in accesses.iter().filter(|access| !access.reads && !access.writes) {
                operands = operands.max(self.prefetch(access, address.max(operands)));
            }
        }
        // What a load alone computes, as an extension by the sign, needs no port.
        let mut result = operands.max(first) + u64::from(it.latency);
        let uops = code.uops(it);
        if !uops.is_empty() {
            let ready = operands.max(begin);
            result = 0;
            for (position, &uop) in uops.iter().enumerate() {
                let uop = self.given.get(position).copied().unwrap_or(uop);
                let issued = self.issue(uop, ready);
                let latency = if position == 0 { u64::from(it.latency) } else { 1 };
                result = result.max(issued + latency);
            }
        }
        if it.order != Order::Free {
            result = self.ordered(it.order, begin, result);
        }
        done.complete = done.complete.max(result);
        if accesses.iter().any(|access| access.writes) {
            let stored = self.store(it, accesses, result, begin);
            done.complete = done.complete.max(stored.ready);
            done.events |= stored.events;
            if stored.raises {
                return Done { raises: true, ..done };
            }
        }
        // What is pushed is named as it is found later, what is popped as it was found.
        let (pushed, popped) = (it.stack_top.min(0), it.stack_top.max(0));
        self.registers.turn(pushed);
        self.registers.write(&it.writes, result, self.sequence);
        let (register, extra) = it.upper;
        if register != NO_REGISTER {
            let upper = result + u64::from(extra);
            self.registers.write(&[register], upper, self.sequence);
            done.complete = done.complete.max(upper);
        }
        if it.leaves_frame {
            self.registers.write(&[FRAME], loaded, self.sequence);
            done.complete = done.complete.max(loaded);
        }
        self.registers.turn(popped);
        if it.replaces_stack && !self.processor.loads.renames_moves {
            self.stack_base = self.sequence;
        }
        match it.moves_stack {
            true if self.processor.rename.stack_engine => self.is_stack_moved = true,
            true => self.registers.move_stack(first),
            false => {}
        }
        done
    }

    /// Writes the registers of a string instruction.
    pub(super) fn write_registers(&mut self, it: &Static, ready: u64) {
        self.registers.write(&it.writes, ready, self.sequence);
    }
}
