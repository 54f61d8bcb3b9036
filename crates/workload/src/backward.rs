//! Which instructions of a path do nothing for what comes after: the paper's backward scan (CQ figure 6).
//!
//! What is claimed of one instruction holds whichever of the others are taken away, on this path and on others: an
//! instruction that changes nothing still counts as a use and overwrites nothing, one whose results are dead still needs the
//! address of its access, which must not fault, and a register that could be read instead of memory counts as read.

use crate::forward::{Copied, Facts, Holder};
use crate::location::Location;
use timewise_isa::effects::{Effects, Nature, Operand, Operation, Storages};

/// In which way an instruction of a path is wasted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// All that it writes is overwritten unread.
    Dead,
    /// It stores, and what it stores is overwritten in memory unread.
    DeadStore,
    /// It loads what its register holds already.
    Reload,
    /// It stores what is there already.
    SameStore,
    /// It computes what its register holds already.
    Unchanged,
    /// It loads what another register holds.
    Held,
    /// It computes what another register holds.
    Recomputed,
    /// It copies a register, and what reads the copy could read that.
    Move,
    /// It saves a register or restores it, and nothing between the two needs that.
    Pair,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 9] = [
        Kind::Dead,
        Kind::DeadStore,
        Kind::Reload,
        Kind::SameStore,
        Kind::Unchanged,
        Kind::Held,
        Kind::Recomputed,
        Kind::Move,
        Kind::Pair,
    ];

    /// Whether the path does the same without the instruction, with no other change to it.
    pub fn is_removable(self) -> bool {
        matches!(self, Kind::Dead | Kind::DeadStore | Kind::Reload | Kind::SameStore | Kind::Unchanged)
    }
}

/// What is wrong with an instruction of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Claim {
    /// In which way it is wasted.
    pub kind: Kind,
    /// What it writes or reads for nothing; `None` for memory.
    pub storage: Option<u8>,
    /// The instruction that makes it so, by its position; `None` if it is not on the path.
    pub because: Option<usize>,
}

struct Scan<'a> {
    effects: &'a [&'a Effects],
    facts: &'a [Facts],
    live: Storages,
    killers: [Option<usize>; Storages::COUNT],
    /// Memory that is overwritten before it is read, and by which instruction.
    overwritten: Vec<(Location, usize)>,
    claims: Vec<Option<Claim>>,
}

/// More places than that are not remembered.
const REMEMBERED: usize = 256;

/// Claims of the instructions of a path, at whose end some storages are live and all memory is.
pub fn claims(effects: &[&Effects], facts: &[Facts], live_at_end: Storages) -> Vec<Option<Claim>> {
    let mut scan = Scan {
        effects,
        facts,
        live: live_at_end,
        killers: [None; Storages::COUNT],
        overwritten: Vec::new(),
        claims: vec![None; effects.len()],
    };
    for position in (0..effects.len()).rev() {
        scan.step(position);
    }
    scan.copies(live_at_end);
    scan.pairs();
    scan.claims
}

impl Scan<'_> {
    fn step(&mut self, position: usize) {
        let (effects, facts) = (self.effects[position], &self.facts[position]);
        if effects.nature == Nature::Idle {
            return;
        }
        if effects.nature == Nature::Pure {
            if let Some(claim) = self.dead(effects, facts) {
                self.claims[position] = Some(claim);
                if !effects.accesses.is_empty() {
                    self.live = self.live.union(effects.addresses);
                }
                return;
            }
            if let Some(unchanged) = facts.unchanged
                && !unchanged.flags.intersects(self.live)
            {
                self.claims[position] = Some(Claim { because: unchanged.since, ..changes_nothing(effects) });
                self.read(effects, facts);
                return;
            }
            if let Some(Holder { storage, since }) = facts.holder {
                let loads = effects.operation != Operation::Other;
                let kind = if loads { Kind::Held } else { Kind::Recomputed };
                self.claims[position] = Some(Claim { kind, storage: Some(storage), because: since });
            }
        }
        self.live = self.live.without(effects.overwrites);
        for storage in effects.overwrites.iter() {
            self.killers[usize::from(storage)] = Some(position);
        }
        if let Some(Holder { storage, .. }) = facts.holder {
            self.live = self.live.union(Storages::one(storage));
        }
        for (access, location) in effects.accesses.iter().zip(&facts.locations) {
            if let (true, Some(location)) = (access.writes, location)
                && self.overwritten.len() < REMEMBERED
            {
                self.overwritten.push((*location, position));
            }
        }
        self.read(effects, facts);
    }

    /// What it reads is live and not overwritten unread.
    fn read(&mut self, effects: &Effects, facts: &Facts) {
        self.live = self.live.union(effects.reads);
        if effects.nature == Nature::Barrier {
            self.overwritten.clear();
        }
        for (access, location) in effects.accesses.iter().zip(&facts.locations) {
            match location {
                _ if !access.reads => {}
                Some(read) => self.overwritten.retain(|(location, _)| location.is_apart(read)),
                None => self.overwritten.clear(),
            }
        }
    }

    /// Whether nothing reads what it writes.
    fn dead(&self, effects: &Effects, facts: &Facts) -> Option<Claim> {
        if effects.writes.intersects(self.live) {
            return None;
        }
        let mut store = None;
        let mut stores = false;
        for (_, location) in effects.accesses.iter().zip(&facts.locations).filter(|(access, _)| access.writes)
        {
            let written = (*location)?;
            store = Some(self.overwritten.iter().rev().find(|(later, _)| later.covers(&written))?.1);
            stores = true;
        }
        if stores {
            return Some(Claim { kind: Kind::DeadStore, storage: None, because: store });
        }
        let main = effects.writes.without(Storages::FLAGS).iter().next().or(effects.writes.iter().next())?;
        let because = self.killers[usize::from(main)];
        // Zero makes the next instruction depend on nothing that came before.
        let waits = because.is_some_and(|killer| self.effects[killer].waits_for_result);
        if effects.is_idiom && (waits || because.is_none()) {
            return None;
        }
        Some(Claim { kind: Kind::Dead, storage: Some(main), because })
    }

    /// Moves between registers whose copies are read where the original still is.
    fn copies(&mut self, live_at_end: Storages) {
        for position in 0..self.effects.len() {
            if let (Some(copied), None) = (self.facts[position].copies, self.claims[position])
                && let Some(reader) = self.could_read(position, copied, live_at_end)
            {
                let storage = Some(copied.from);
                self.claims[position] = Some(Claim { kind: Kind::Move, storage, because: Some(reader) });
            }
        }
    }

    /// The first reader of a copy, if all readers could read the original.
    fn could_read(&self, position: usize, copied: Copied, live_at_end: Storages) -> Option<usize> {
        let Copied { to: copy, from: original, bytes } = copied;
        let mut reader = None;
        let mut is_changed = false;
        for (behind, effects) in self.effects[position + 1..].iter().enumerate() {
            if effects.reads.contains(copy) {
                if is_changed || !effects.replaceable.contains(copy) || !reads_at_most(effects, copy, bytes) {
                    return None;
                }
                reader = reader.or(Some(position + 1 + behind));
            }
            if effects.overwrites.contains(copy) {
                return reader;
            }
            if effects.writes.contains(copy) {
                return None;
            }
            is_changed |= effects.writes.contains(original);
        }
        reader.filter(|_| !live_at_end.contains(copy))
    }

    /// Registers that are saved and restored around code that needs neither.
    fn pairs(&mut self) {
        for position in 0..self.effects.len() {
            if let Some(push) = self.facts[position].restores
                && self.is_pair(push, position)
            {
                let storage = self.effects[position].writes.iter().next();
                self.claims[push] = Some(Claim { kind: Kind::Pair, storage, because: Some(position) });
                self.claims[position] = Some(Claim { kind: Kind::Pair, storage, because: Some(push) });
            }
        }
    }

    fn is_pair(&self, push: usize, pop: usize) -> bool {
        let (saving, restoring) = (self.effects[push], self.effects[pop]);
        if saving.stack_change != Some(-8) || saving.operands[1] != restoring.operands[0] {
            return false;
        }
        let Some(slot) = self.facts[push].locations[0] else { return false };
        let stack = Storages::one(timewise_isa::effects::STACK_POINTER);
        let Some(Operand::Register { storage, .. }) = restoring.operands[0] else { return false };
        let touched = stack.union(Storages::one(storage));
        (push + 1..pop).all(|between| {
            let effects = self.effects[between];
            let is_apart =
                self.facts[between].locations.iter().all(|at| at.is_some_and(|at| at.is_apart(&slot)));
            !effects.reads.intersects(stack) && !effects.writes.intersects(touched) && is_apart
        })
    }
}

/// Whether an instruction that reads a register reads no more than so many bytes of it.
fn reads_at_most(effects: &Effects, register: u8, bytes: u8) -> bool {
    let reads_less = |operand: &Operand| match *operand {
        Operand::Register { storage, bytes: read } => storage != register || read <= bytes,
        _ => true,
    };
    let in_address = effects.addresses.contains(register) || effects.computed.is_some();
    effects.operands.iter().flatten().all(reads_less) && (bytes >= 8 || !in_address)
}

/// The claim that an instruction changes nothing.
fn changes_nothing(effects: &Effects) -> Claim {
    let stores = effects.accesses.iter().any(|access| access.writes);
    let loads = matches!(effects.operation, Operation::Move { .. })
        && effects.accesses.iter().any(|access| access.reads);
    let storage = effects.writes.without(Storages::FLAGS).iter().next().or(effects.writes.iter().next());
    match (stores, loads) {
        (true, _) => Claim { kind: Kind::SameStore, storage: None, because: None },
        (false, true) => Claim { kind: Kind::Reload, storage, because: None },
        _ => Claim { kind: Kind::Unchanged, storage, because: None },
    }
}
