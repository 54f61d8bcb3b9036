//! Loops of one block whose rounds wait for one another: a sum is as slow as additions that follow each other, however
//! many instructions the processor could begin meanwhile.

use crate::costs::Costs;
use std::collections::HashMap;
use timewise_isa::form::{Class, Form, Registers, form};
use timewise_target::memory;

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
    pid: i32,
    costs: Costs,
    /// By the branch that closes them; nothing if their code cannot be read.
    known: HashMap<[u64; 2], Option<Round>>,
}

impl Rounds {
    /// None yet, of this process, on a processor with these costs.
    pub fn new(pid: i32, costs: Costs) -> Rounds {
        Rounds { pid, costs, known: HashMap::new() }
    }

    /// Other code may stand where loops were.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    /// Cycles for which the rounds of a trace wait beyond what their instructions, branches and stores take.
    pub fn waits(&mut self, branches: &[[u64; 2]]) -> f64 {
        let runs = branches.chunk_by(|one, next| one == next);
        runs.filter(|run| run.len() > 1).map(|run| self.of_run(run[0], run.len() as u64)).sum()
    }

    fn of_run(&mut self, branch: [u64; 2], rounds: u64) -> f64 {
        let Rounds { pid, costs, known } = self;
        let round = known.entry(branch).or_insert_with(|| Round::read(*pid, branch, costs));
        let Some(Round { instructions, stores, chain }) = *round else { return 0.0 };
        if instructions * rounds < IN_FLIGHT {
            return 0.0;
        }
        let counted = instructions as f64 * costs.instruction + costs.taken + stores as f64 * costs.store;
        (chain - counted).max(0.0) * rounds as f64
    }
}

impl Round {
    fn read(pid: i32, [from, to]: [u64; 2], costs: &Costs) -> Option<Round> {
        let length = from.checked_sub(to).and_then(|length| usize::try_from(length).ok())?;
        let mut code = [0; LONGEST_BLOCK];
        let code = code.get_mut(..length)?;
        if memory::read(pid, to, code) != length {
            return None;
        }
        Round::of(code, costs)
    }

    /// Of the code from the beginning of a block to the branch that closes the loop, which waits for nothing of use.
    fn of(mut code: &[u8], costs: &Costs) -> Option<Round> {
        let (mut forms, mut stores) = (Vec::new(), 0);
        while !code.is_empty() {
            let length = timewise_isa::decode(code, 0).ok()?.length;
            forms.push(form(code, 0)?);
            stores += u64::from(timewise_isa::walk::stores(code));
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

    const COSTS: Costs = Costs {
        instruction: 0.25,
        taken: 1.0,
        store: 0.5,
        surprise: 16.0,
        line: 20.0,
        load: 4.0,
        multiply: 3.0,
        float: 3.0,
    };

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
        // This process's own memory.
        let (start, end) = (SUM.as_ptr() as u64, SUM.as_ptr() as u64 + SUM.len() as u64);
        let mut rounds = Rounds::new(std::process::id() as i32, COSTS);
        let long = [[end, start]; 100];
        // Six instructions and a branch take two and a half cycles of the three.
        assert_eq!(rounds.waits(&long), 50.0);
        assert_eq!(rounds.waits(&long[..40]), 0.0);
        let others = [[end, end], [end + 8, start]].repeat(100);
        assert_eq!(rounds.waits(&others), 0.0);
        // Nothing is there.
        assert_eq!(rounds.waits(&[[24, 8]; 100]), 0.0);
    }
}
