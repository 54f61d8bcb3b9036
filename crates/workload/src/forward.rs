//! What registers and memory hold along a path, and which instructions put there what is there already.

use crate::location::{Location, address};
use crate::value::{Computed, Value, Values};
use timewise_isa::effects::{Effects, Nature, Operand, Operation, STACK_POINTER, Storages};

/// What a path tells of one of its instructions from what came before.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Where its accesses go, as far as that is known, in their order.
    pub locations: Vec<Option<Location>>,
    /// Everything that it writes but flags holds that already; which flags it changes, and which instruction put the
    /// value there.
    pub unchanged: Option<Unchanged>,
    /// Another register that holds already what it computes or loads.
    pub holder: Option<Holder>,
    /// It copies a register, or the lower part of one, into another.
    pub copies: Option<Copied>,
    /// It takes off the stack, into the same register, what was put there from it and is still in it.
    pub restores: Option<usize>,
}

/// An instruction that puts somewhere what is there.
#[derive(Clone, Copy, Debug)]
pub struct Unchanged {
    /// Flags that it changes.
    pub flags: Storages,
    /// The instruction that put the value there, by its position; `None` if it has been there since the path began.
    pub since: Option<usize>,
}

/// A register that holds a value.
#[derive(Clone, Copy, Debug)]
pub struct Holder {
    /// By number.
    pub storage: u8,
    /// The instruction that put the value there.
    pub since: Option<usize>,
}

/// A copy.
#[derive(Clone, Copy, Debug)]
pub struct Copied {
    /// Into which storage.
    pub to: u8,
    /// From which.
    pub from: u8,
    /// Lower bytes that are equal, at least.
    pub bytes: u8,
}

/// Something of memory.
#[derive(Clone, Copy, Debug)]
struct Content {
    location: Location,
    value: Value,
    /// Who put it there, or read it first.
    since: usize,
}

/// More of memory than that is not remembered: what was accessed longest ago is forgotten.
const REMEMBERED: usize = 256;

/// The result of an instruction that is its first operand.
const FIRST: u8 = u8::MAX;

/// What is known at a point of a path.
pub struct Machine {
    values: Values,
    registers: Vec<Value>,
    since: Vec<Option<usize>>,
    memory: Vec<Content>,
}

impl Machine {
    /// At the beginning of a path: nothing.
    pub fn new() -> Machine {
        let mut values = Values::new();
        let registers = (0..Storages::COUNT as u8).map(|storage| values.unknown(width(storage))).collect();
        Machine { values, registers, since: vec![None; Storages::COUNT], memory: Vec::new() }
    }

    /// Goes over the instruction at a position of the path.
    pub fn step(&mut self, position: usize, effects: &Effects) -> Facts {
        if effects.nature == Nature::Idle {
            return Facts::default();
        }
        if effects.nature == Nature::Barrier {
            self.forget(position);
            return Facts { locations: vec![None; effects.accesses.len()], ..Facts::default() };
        }
        let registers = &self.registers;
        let register = |number: u8| registers[usize::from(number)];
        let values = &mut self.values;
        let accesses = effects.accesses.iter();
        let locations: Vec<Option<Location>> =
            accesses.map(|access| Location::of(access, effects, values, register)).collect();
        let loaded = self.load(position, effects, &locations);
        let results = self.results(effects, loaded);
        let stored = self.stored(effects, loaded);
        let mut facts = Facts { locations, ..Facts::default() };
        self.compare(effects, &results, stored, &mut facts);
        self.restored(position, effects, &results, &mut facts);
        self.apply(position, effects, &results, stored, &facts.locations);
        facts
    }

    fn forget(&mut self, position: usize) {
        for (storage, value) in self.registers.iter_mut().enumerate() {
            *value = self.values.unknown(width(storage as u8));
        }
        self.since.fill(Some(position));
        self.memory.clear();
    }

    /// What the instruction reads from memory, if it does so once at a known place.
    fn load(&mut self, position: usize, effects: &Effects, locations: &[Option<Location>]) -> Option<Value> {
        let mut reads = effects.accesses.iter().zip(locations).filter(|(access, _)| access.reads);
        let (Some((_, Some(location))), None) = (reads.next(), reads.next()) else { return None };
        if let Some(known) = self.memory.iter().find(|content| content.location == *location) {
            return Some(known.value);
        }
        let value = self.values.unknown(location.bytes().min(64) as u8);
        self.remember(Content { location: *location, value, since: position });
        Some(value)
    }

    fn remember(&mut self, content: Content) {
        if self.memory.len() == REMEMBERED {
            self.memory.remove(0);
        }
        self.memory.push(content);
    }

    /// The value of an operand that is read; `None` if it is not known.
    fn operand(&mut self, operand: Operand, loaded: Option<Value>) -> Option<Value> {
        match operand {
            Operand::Register { storage, bytes } if bytes <= 16 => {
                Some(self.values.low(self.registers[usize::from(storage)], bytes))
            }
            Operand::Register { .. } => None,
            Operand::HighByte { storage } => {
                Some(self.values.second_byte(self.registers[usize::from(storage)]))
            }
            Operand::Memory => loaded,
            Operand::Constant(value) => Some(Value::constant(value)),
        }
    }

    /// The values of all that it writes beside memory.
    fn results(&mut self, effects: &Effects, loaded: Option<Value>) -> Vec<(u8, Value)> {
        let inputs = self.inputs(effects, loaded);
        let first = first_storage(effects);
        let main = self.main_result(effects, loaded);
        let mut results = Vec::new();
        for storage in effects.writes.iter() {
            let known = effects.overwrites.contains(storage);
            let bytes = match effects.operands[0] {
                Some(Operand::Register { storage: own, bytes: 4 }) if own == storage && storage < 16 => 4,
                _ => width(storage),
            };
            let role = if Some(storage) == first { FIRST } else { storage };
            let value = match (&inputs, main) {
                _ if !known => self.values.unknown(width(storage)),
                (_, Some(value)) if Some(storage) == first => value,
                _ if effects.operation == Operation::Zero && storage >= 16 && !is_flag(storage) => {
                    Value::constant(0)
                }
                (_, _) if storage == STACK_POINTER && effects.stack_change.is_some() => {
                    self.registers[usize::from(STACK_POINTER)].plus(effects.stack_change.unwrap_or(0) as u64)
                }
                (Some(inputs), _) => {
                    let computed = Computed { encoding: effects.encoding, inputs: inputs.clone(), role };
                    self.values.result(computed, bytes)
                }
                (None, _) => self.values.unknown(bytes),
            };
            results.push((storage, value));
        }
        results
    }

    /// The value of the first operand, a register, where more is known of it than what it is computed from.
    fn main_result(&mut self, effects: &Effects, loaded: Option<Value>) -> Option<Value> {
        let Some(Operand::Register { storage, bytes }) = effects.operands[0] else { return None };
        match effects.operation {
            Operation::Move { bytes } => {
                let value = self.operand(effects.operands[1]?, loaded)?;
                Some(self.values.low(value, bytes))
            }
            Operation::Add(addend) => Some(self.registers[usize::from(storage)].plus(addend as u64)),
            Operation::Zero => Some(Value::constant(0)),
            Operation::Address => {
                let access = effects.computed.as_ref().filter(|access| !access.narrow)?;
                let registers = &self.registers;
                let register = |number: u8| registers[usize::from(number)];
                let (terms, offset) = address(access, effects, &mut self.values, register);
                let sum = self.values.sum(terms, offset);
                Some(self.values.low(sum, bytes))
            }
            Operation::Other => None,
        }
    }

    /// All that the results depend on, in an order that the encoding says.
    fn inputs(&mut self, effects: &Effects, loaded: Option<Value>) -> Option<Vec<Value>> {
        if effects.operation == Operation::Address {
            return None;
        }
        let mut inputs = Vec::new();
        let mut explicit = Storages::NONE;
        for operand in effects.operands.into_iter().flatten() {
            match operand {
                Operand::Register { storage, .. } | Operand::HighByte { storage } => {
                    explicit = explicit.union(Storages::one(storage));
                    if effects.reads.contains(storage) {
                        inputs.push(self.operand(operand, loaded)?);
                    }
                }
                Operand::Memory => {
                    if effects.accesses.iter().any(|access| access.reads) {
                        inputs.push(loaded?);
                    }
                }
                Operand::Constant(value) => inputs.push(Value::constant(value)),
            }
        }
        // What `leave` and `pop` load is none of their operands.
        let is_operand = effects.operands.contains(&Some(Operand::Memory));
        if !is_operand && effects.accesses.iter().any(|access| access.reads) {
            inputs.push(loaded?);
        }
        let implicit = effects.reads.without(explicit).without(effects.only_in_addresses);
        inputs.extend(implicit.iter().map(|storage| self.registers[usize::from(storage)]));
        Some(inputs)
    }

    /// What it writes to memory, if it does so once.
    fn stored(&mut self, effects: &Effects, loaded: Option<Value>) -> Option<Value> {
        let mut writes = effects.accesses.iter().filter(|access| access.writes);
        let (Some(access), None) = (writes.next(), writes.next()) else { return None };
        let bytes = u8::try_from(access.size).ok()?;
        match effects.operation {
            Operation::Move { .. } if effects.operands[0] == Some(Operand::Memory) => {
                let value = self.operand(effects.operands[1]?, loaded)?;
                Some(self.values.low(value, bytes))
            }
            _ => {
                let inputs = self.inputs(effects, loaded)?;
                let computed = Computed { encoding: effects.encoding, inputs, role: FIRST };
                Some(self.values.result(computed, bytes))
            }
        }
    }

    /// Compares what it writes with what is there.
    fn compare(
        &mut self,
        effects: &Effects,
        results: &[(u8, Value)],
        stored: Option<Value>,
        facts: &mut Facts,
    ) {
        if effects.nature != Nature::Pure {
            return;
        }
        let is_new = |&(storage, value): &(u8, Value)| self.registers[usize::from(storage)] != value;
        let flags = results.iter().filter(|result| is_flag(result.0) && is_new(result));
        let flags = flags.fold(Storages::NONE, |flags, (storage, _)| flags.union(Storages::one(*storage)));
        let others: Vec<(u8, Value)> = results.iter().copied().filter(|result| !is_flag(result.0)).collect();
        let written = effects.accesses.iter().zip(&facts.locations).filter(|(access, _)| access.writes);
        let in_memory: Vec<Option<&Content>> = written
            .map(|(_, location)| {
                let there = self.memory.iter().find(|content| Some(content.location) == *location);
                there.filter(|content| Some(content.value) == stored)
            })
            .collect();
        let has_results = !others.is_empty() || !in_memory.is_empty();
        // What writes flags alone is not needed if these are there.
        let compares = !has_results && flags.is_empty() && !results.is_empty();
        if compares || has_results && !others.iter().any(is_new) && in_memory.iter().all(Option::is_some) {
            let register = others.first().or(results.first());
            let since = match in_memory.first() {
                Some(content) => content.map(|content| content.since),
                None => register.and_then(|(storage, _)| self.since[usize::from(*storage)]),
            };
            facts.unchanged = Some(Unchanged { flags, since });
            return;
        }
        let [(storage, value)] = others[..] else { return };
        if !in_memory.is_empty() || !effects.overwrites.contains(storage) {
            return;
        }
        match (effects.operation, effects.operands[1]) {
            (Operation::Move { bytes }, Some(Operand::Register { storage: from, .. })) => {
                // Not everything that reads a register could read the stack pointer.
                let is_alike = (from < 16) == (storage < 16) && from != STACK_POINTER;
                if from != storage && is_alike {
                    let is_whole = self.registers[usize::from(from)] == value;
                    facts.copies =
                        Some(Copied { to: storage, from, bytes: if is_whole { 16 } else { bytes } });
                }
            }
            (Operation::Move { bytes }, Some(Operand::Memory)) => {
                facts.holder = self.holder(storage, value, bytes);
            }
            (Operation::Other, _) => facts.holder = self.holder(storage, value, 16),
            _ => {}
        }
    }

    /// A register but one that holds a value in its lower bytes.
    fn holder(&mut self, but: u8, value: Value, bytes: u8) -> Option<Holder> {
        let mut kin = if but < 16 { 0..16 } else { 16..48 };
        let storage = kin.find(|&other| {
            let is_other = other != but && other != STACK_POINTER;
            is_other && self.values.low(self.registers[usize::from(other)], bytes) == value
        })?;
        Some(Holder { storage, since: self.since[usize::from(storage)] })
    }

    /// Finds out whether it takes off the stack what a push has put there.
    fn restored(&self, position: usize, effects: &Effects, results: &[(u8, Value)], facts: &mut Facts) {
        let is_pop = effects.stack_change == Some(8) && effects.operands[1] == Some(Operand::Memory);
        let Some(Operand::Register { storage, bytes: 8 }) = effects.operands[0] else { return };
        let same = results.contains(&(storage, self.registers[usize::from(storage)]));
        if is_pop && same {
            let there = self.memory.iter().find(|content| Some(content.location) == facts.locations[0]);
            facts.restores = there.map(|content| content.since).filter(|&since| since < position);
        }
    }

    fn apply(
        &mut self,
        position: usize,
        effects: &Effects,
        results: &[(u8, Value)],
        stored: Option<Value>,
        locations: &[Option<Location>],
    ) {
        for (access, location) in effects.accesses.iter().zip(locations).filter(|(access, _)| access.writes) {
            let Some(location) = location else {
                self.memory.clear();
                continue;
            };
            self.memory.retain(|content| content.location.is_apart(location));
            if let (Some(value), true) = (stored, access.writes) {
                self.remember(Content { location: *location, value, since: position });
            }
        }
        for &(storage, value) in results {
            self.registers[usize::from(storage)] = value;
            self.since[usize::from(storage)] = Some(position);
        }
    }
}

/// The storage of the first operand.
fn first_storage(effects: &Effects) -> Option<u8> {
    match effects.operands[0] {
        Some(Operand::Register { storage, .. } | Operand::HighByte { storage }) => Some(storage),
        _ => None,
    }
}

fn is_flag(storage: u8) -> bool {
    Storages::FLAGS.contains(storage)
}

/// Bytes of a storage.
fn width(storage: u8) -> u8 {
    match storage {
        ..16 => 8,
        16..48 => 16,
        48..80 => 48,
        _ => 8,
    }
}
