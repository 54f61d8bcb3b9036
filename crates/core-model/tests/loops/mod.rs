//! Loops that cores execute.

use timewise_core_model::{Code, Core, Processor, Totals};
use timewise_replay::Access;
use timewise_trace::{Committed, Record};

/// add rax,rbx
pub const ADD: &[u8] = &[0x48, 0x01, 0xd8];

/// Where the loops stand.
pub const START: u64 = 0x40_0000;

/// A loop: a body that is repeated `unroll` times, and a jump back.
pub struct Loop<'a> {
    /// Its instructions.
    pub body: &'a [&'a [u8]],
    /// How often they stand in it.
    pub unroll: usize,
}

impl Loop<'_> {
    fn code(&self) -> Vec<u8> {
        let mut code: Vec<u8> = Vec::new();
        for _ in 0..self.unroll {
            self.body.iter().for_each(|bytes| code.extend_from_slice(bytes));
        }
        code.push(0xe9);
        code.extend_from_slice(&(-(code.len() as i32 + 4)).to_le_bytes());
        code
    }

    /// Executes it so many times; `address` gives where the n-th access of all goes. Records must keep their promises, and
    /// show each instruction that is executed commit once.
    pub fn totals(
        &self,
        processor: &Processor,
        rounds: usize,
        address: &mut dyn FnMut(u64) -> u64,
    ) -> Totals {
        let mut code = Code::new(processor).unwrap();
        let bytes = self.code();
        let first = code.add(0, 0, &bytes, START);
        let (mut next, mut committed, mut shown) = (0, Committed::default(), 0);
        let check = |record: &Record| {
            record.check().unwrap();
            assert_eq!(record.cycle, next, "cycles follow each other");
            next = record.end();
            shown += committed.of(record).count() as u64;
        };
        let mut core = Core::new(processor, &code, check);
        let mut access = 0;
        for _ in 0..rounds {
            let mut number = first;
            for _ in 0..self.unroll {
                for bytes in self.body {
                    let described = timewise_isa::memory::accesses(bytes, START);
                    let accesses: Vec<Access> = described
                        .iter()
                        .map(|one| {
                            access += 1;
                            let (reads, writes) = (one.reads, one.writes);
                            let size = one.size.into();
                            Access { address: address(access - 1), size, unit: one.size, reads, writes }
                        })
                        .collect();
                    core.step(&code, number, &accesses);
                    number += 1;
                }
            }
            core.step(&code, number, &[]);
        }
        let totals = core.finish().1;
        assert_eq!(shown, totals.instructions, "instructions that commit in records");
        totals
    }
}

impl Loop<'_> {
    /// Cycles for one repetition of the body, once all is warm.
    pub fn cycles(&self, processor: &Processor, address: &mut dyn FnMut(u64) -> u64) -> f64 {
        let some = self.totals(processor, 40, address).cycles;
        let more = self.totals(processor, 100, address).cycles;
        (more - some) as f64 / (60 * self.unroll) as f64
    }
}

/// The same of a body of a core of that name.
pub fn cycles(core: &str, body: &[&[u8]], address: &mut dyn FnMut(u64) -> u64) -> f64 {
    Loop { body, unroll: 50 }.cycles(&Processor::named(core).unwrap(), address)
}

/// Fails unless two numbers of cycles differ by 3 % at most.
#[track_caller]
pub fn near(got: f64, expected: f64) {
    assert!((got - expected).abs() <= 0.03 * expected + 0.01, "{got} cycles, expected {expected}");
}

/// mov rax,[rax]
pub const LOAD_CHAIN: &[u8] = &[0x48, 0x8b, 0x00];
/// nop
pub const NOP: &[u8] = &[0x90];
/// nop of two, three, four and eight bytes.
pub const NOP_2: &[u8] = &[0x66, 0x90];
pub const NOP_3: &[u8] = &[0x0f, 0x1f, 0x00];
pub const NOP_4: &[u8] = &[0x0f, 0x1f, 0x40, 0x00];
pub const NOP_8: &[u8] = &[0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00];
