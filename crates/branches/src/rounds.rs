//! Loops of one block whose rounds wait for one another: a sum is as slow as additions that follow each other, however
//! many instructions the processor could begin meanwhile.

use crate::costs::Costs;
use crate::modules::Modules;
use crate::trace::Trace;
use std::collections::HashMap;
use timewise_isa::form::{Class, Form, Registers, form};

/// Bytes of the longest block that is looked at.
const LONGEST_BLOCK: usize = 512;

/// Rounds after which a chain of operands goes on as it does, and those over which its length is taken.
const SETTLING: u32 = 8;
const MEASURED: u32 = 8;

/// Instructions that a processor holds in flight, about: a loop of fewer goes on beside what comes behind it.
const IN_FLIGHT: u64 = 256;

/// A round of a loop of one block.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Round {
    instructions: u64,
    stores: u64,
    /// Cycles from one round to the next, by operands alone.
    chain: f64,
}

/// The loops of one block of a process.
pub struct Rounds {
    costs: Costs,
    /// By the branch that closes them; nothing if their code cannot be read.
    known: HashMap<[u64; 2], Option<Round>>,
}

impl Rounds {
    /// None yet, on a processor with these costs.
    pub fn new(costs: Costs) -> Rounds {
        Rounds { costs, known: HashMap::new() }
    }

    /// Other code may stand where loops were.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    /// Cycles for which the rounds of a trace wait beyond what their instructions, branches and stores take.
    pub fn waits(&mut self, trace: &Trace, modules: &Modules) -> f64 {
        let began = trace.began();
        // What lay there at another time may be other code, which is not worth keeping.
        let mut passing = HashMap::new();
        let known = if modules.is_current(began) { &mut self.known } else { &mut passing };
        let runs = trace.branches.chunk_by(|one, next| one == next);
        let of = |run: &[[u64; 2]]| {
            let rounds = run.len() as u64;
            let [from, to] = run[0];
            let length = from.checked_sub(to).filter(|length| (length + 1) * rounds >= IN_FLIGHT)?;
            let mut code = [0; LONGEST_BLOCK];
            let code = code.get_mut(..usize::try_from(length).ok()?)?;
            let read = || modules.read_code(to, began, code).then(|| Round::of(code, &self.costs)).flatten();
            Some(known.entry(run[0]).or_insert_with(read).as_ref()?.waits(rounds, &self.costs))
        };
        runs.filter(|run| run.len() > 1).filter_map(of).sum()
    }
}

impl Round {
    /// Cycles for which so many rounds wait in all.
    fn waits(&self, rounds: u64, costs: &Costs) -> f64 {
        let Round { instructions, stores, chain } = *self;
        if instructions * rounds < IN_FLIGHT {
            return 0.0;
        }
        let counted = instructions as f64 * costs.instruction + costs.taken + stores as f64 * costs.store;
        (chain - counted).max(0.0) * rounds as f64
    }

    /// Of the code from the beginning of a block to the branch that closes the loop, which waits for nothing of use.
    fn of(mut code: &[u8], costs: &Costs) -> Option<Round> {
        let (mut forms, mut stores) = (Vec::new(), 0);
        while !code.is_empty() {
            let length = timewise_isa::decode(code, 0).ok()?.length;
            forms.push(form(code, 0)?);
            stores += u64::from(timewise_isa::stores(code));
            code = code.get(usize::from(length)..)?;
        }
        let mut ready = [0.0; Registers::COUNT];
        let mut after = |rounds| {
            (0..rounds).flat_map(|_| &forms).for_each(|form| execute(form, &mut ready, costs));
            ready.iter().copied().fold(0.0, f64::max)
        };
        let (settled, measured) = (after(SETTLING), after(MEASURED));
        let chain = (measured - settled) / f64::from(MEASURED);
        Some(Round { instructions: forms.len() as u64 + 1, stores, chain })
    }
}

/// When registers are ready, once an instruction was executed as soon as its operands were.
fn execute(form: &Form, ready: &mut [f64; Registers::COUNT], costs: &Costs) {
    let latest = |registers: Registers| registers.iter().map(|register| ready[usize::from(register)]);
    let address = latest(form.address).fold(0.0, f64::max);
    let loads = form.memory && !form.is_lea;
    let from = if loads { address + costs.load } else { address };
    let from = latest(form.reads).fold(from, f64::max);
    let takes = match form.class {
        Class::Nop | Class::Prefetch => return,
        _ if form.is_copy => 0.0,
        Class::Move if loads => 0.0,
        Class::Multiply => costs.multiply,
        Class::Float | Class::FloatDivide | Class::SquareRoot => costs.float,
        _ => 1.0,
    };
    let until = if form.is_idiom { 0.0 } else { from + takes };
    form.writes.iter().for_each(|register| ready[usize::from(register)] = until);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::tests::COSTS;
    use crate::modules::tests::mapped;

    /// `movsd xmm0, [rdi+rax*8]; mulsd xmm0, [rsi+rax*8]; inc rax; addsd xmm1, xmm0; cmp rax, rdx`
    const SUM: &[u8] = b"\xf2\x0f\x10\x04\xc7\xf2\x0f\x59\x04\xc6\x48\xff\xc0\xf2\x0f\x58\xc8\x48\x39\xd0";

    #[test]
    fn sums_wait_for_additions_and_lists_for_loads() {
        let chain = |code: &[u8]| Round::of(code, &COSTS).unwrap();
        assert_eq!(chain(SUM), Round { instructions: 6, stores: 0, chain: 3.0 });
        // `movsd xmm0, [rdi+rax*8]; addsd xmm0, xmm2; movsd [rdi+rax*8], xmm0; inc rax; cmp rax, rdx`
        let scale = b"\xf2\x0f\x10\x04\xc7\xf2\x0f\x58\xc2\xf2\x0f\x11\x04\xc7\x48\xff\xc0\x48\x39\xd0";
        assert_eq!(chain(scale), Round { instructions: 6, stores: 1, chain: 1.0 });
        // `mov rax, [rax]; test rax, rax`
        assert_eq!(chain(b"\x48\x8b\x00\x48\x85\xc0").chain, 4.0);
        // `imul rax, rcx; xor ecx, ecx; add rcx, rdx`
        assert_eq!(chain(b"\x48\x0f\xaf\xc1\x31\xc9\x48\x01\xd1").chain, 3.0);
        assert_eq!(Round::of(b"\x06", &COSTS), None);
    }

    #[test]
    fn rounds_of_long_loops_wait() {
        // This process's own memory, where no file is told of.
        let (start, end) = (SUM.as_ptr() as u64, SUM.as_ptr() as u64 + SUM.len() as u64);
        let modules = mapped(&[(0, start, end + 8, "[code]")]);
        let mut rounds = Rounds::new(COSTS);
        let mut waits = |branches: &[[u64; 2]]| {
            let trace = Trace::new(Default::default(), 1, branches.iter().copied());
            rounds.waits(&trace, &modules)
        };
        let long = [[end, start]; 100];
        // Six instructions and a branch take two and a half cycles of the three.
        assert_eq!(waits(&long), 50.0);
        assert_eq!(waits(&long[..40]), 0.0);
        let others = [[end, end], [end + 8, start]].repeat(100);
        assert_eq!(waits(&others), 0.0);
        // Nothing is there.
        assert_eq!(waits(&[[240, 8]; 100]), 0.0);
    }
}
