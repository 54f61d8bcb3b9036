//! The part of the record up to dispatch.

use super::ranges::{CYCLES, QUEUE, WAYS, WIDTH, fields, in_ways, part, within};
use serde::Deserialize;

/// Fetching from the instruction cache.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fetch {
    /// Instructions that are fetched and decoded in a cycle.
    pub width: u32,
    /// Bytes of the aligned packet that is fetched in a cycle. What reaches into the next packet comes with that.
    pub bytes: u32,
    /// Packets behind one another of which a cycle decodes instructions: more than one where those that are fetched wait
    /// for decoders, so that none of these has nothing to do at the end of a packet.
    #[serde(default = "one")]
    pub pieces: u32,
    /// Instructions that are decoded and wait for dispatch.
    pub buffer: u32,
    /// Cycles from fetch to dispatch.
    pub depth: u64,
    /// Cycles without fetch behind each taken branch that the first level of the branch target buffer knows.
    pub taken_bubble: u64,
    /// Blocks of instructions by which prediction, which asks for their lines, runs ahead of fetch.
    pub blocks_ahead: u32,
    /// Whether it is prediction that loses the cycles behind taken branches: fetch then waits only where prediction is not
    /// ahead of it.
    #[serde(default)]
    pub bubbles_ahead: bool,
}

/// A cache of decoded instructions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpCache {
    /// Windows of 32 bytes of code that it holds.
    pub windows: usize,
    /// Ways.
    pub ways: usize,
    /// Instructions that it gives in a cycle.
    pub width: u32,
    /// Bytes of the aligned piece of code that those of a cycle are of.
    pub bytes: u32,
    /// Such pieces in a cycle, behind one another or where a taken branch leads that costs no cycle. Code that goes on
    /// from one piece to the next shares its cycle with no other.
    #[serde(default = "one")]
    pub pieces: u32,
    /// Instructions of an entry, if a cycle brings whole entries, `width` instructions in all. An entry has instructions
    /// behind one another, up to a taken branch, also of the next piece, which then has no room in a cycle that brought
    /// all the entries that it can of the piece before.
    #[serde(default)]
    pub entry: Option<u32>,
    /// Cycles from as many entries of a piece as a cycle brings to more entries of it, for which the cycle then is alone.
    #[serde(default = "one_cycle")]
    pub again: u64,
    /// Cycles from it to dispatch.
    pub depth: u64,
    /// Cycles that are lost when fetch changes between it and the decoders.
    pub switch: u64,
}

/// Branch prediction.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BranchPredictor {
    /// Direction.
    pub tage: Tage,
    /// Taken branches that are known without a lost cycle, if those of the first level cost some: the latest ones.
    #[serde(default)]
    pub nearest_targets: Option<usize>,
    /// Cycles without fetch behind a taken branch that the first level of the branch target buffer knows, and not these.
    #[serde(default)]
    pub first_bubble: u64,
    /// Entries of the first level of the branch target buffer.
    pub targets: usize,
    /// Ways of either level.
    pub target_ways: usize,
    /// Bytes of code whose branches share a set of ways, so that branches at larger distances share few sets; without it,
    /// branches are spread over all of them.
    #[serde(default)]
    pub target_bytes: Option<u64>,
    /// Entries of its second level; 0 for none.
    pub second_targets: usize,
    /// Cycles without fetch behind a taken branch that only the second level knows.
    pub second_bubble: u64,
    /// Cycles without fetch behind a direct branch that neither knows, until it is decoded.
    pub decode_bubble: u64,
    /// Return addresses that are kept.
    pub returns: usize,
    /// Entries of each table of the predictor of indirect targets.
    pub indirect: usize,
    /// Cycles from a mispredicted branch's execution to fetch at the right place.
    pub redirect: u64,
    /// Cycles without fetch behind a return, beside what any taken branch costs.
    #[serde(default)]
    pub return_bubble: u64,
    /// The same behind an indirect jump or call.
    #[serde(default)]
    pub indirect_bubble: u64,
    /// Instructions of a wrong path that are followed to where it meets the right one, to ask for the lines that both
    /// need; 0 for none.
    #[serde(default)]
    pub wrong_path: usize,
    /// Branches that may be in flight; 0 for no limit.
    #[serde(default)]
    pub outstanding: usize,
}

/// A TAGE predictor: tables that are indexed with ever longer histories.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tage {
    /// Logarithm of the entries of the table without history.
    pub base_bits: u32,
    /// Tables with history.
    pub tables: usize,
    /// Logarithm of the entries of each of them.
    pub table_bits: u32,
    /// Bits of a tag.
    pub tag_bits: u32,
    /// The shortest history, in branches.
    pub shortest: u32,
    /// The longest.
    pub longest: u32,
}

/// Renaming and dispatch.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rename {
    /// Entries that are dispatched into the reorder buffer in a cycle.
    pub width: u32,
    /// Instructions of which these are, if fewer: further entries of one count no more.
    #[serde(default)]
    pub instructions: Option<u32>,
    /// Of the entries, instructions that write vector registers; as many as all unless it is told.
    #[serde(default)]
    pub vector_width: Option<u32>,
    /// Entries of the reorder buffer.
    pub reorder_buffer: u32,
    /// Physical registers for integers, those of the architecture included.
    pub integer_registers: usize,
    /// Physical registers for vectors and floating point.
    pub vector_registers: usize,
    /// Whether copies between registers need no execution.
    pub removes_copies: bool,
    /// Whether zeroing a register needs no execution.
    pub removes_zeroing: bool,
    /// Whether zeroing a vector register by an instruction that leaves its upper part as it is needs none either.
    #[serde(default = "yes")]
    pub removes_legacy_zeroing: bool,
    /// Whether adding a small constant needs no execution.
    pub removes_increments: bool,
    /// Whether a comparison and a conditional branch behind it are one.
    pub fuses_branches: bool,
    /// Whether additions, subtractions and `and` are fused with branches as comparisons are.
    #[serde(default = "yes")]
    pub fuses_computations: bool,
    /// Bytes up to which an instruction and a `nop` behind it are one entry, if they ever are: instructions of one entry
    /// that are no branches and have nothing to do with vectors, other `nop`s among them.
    #[serde(default)]
    pub fuses_nops: Option<u8>,
    /// Whether a load or store and what is computed with it share an entry.
    pub fuses_memory: bool,
    /// Entries of an instruction that loads, computes and stores, if they do.
    pub update_entries: u8,
    /// Whether pushes and pops move the stack pointer without execution.
    pub stack_engine: bool,
    /// Cycles from dispatch to the earliest issue.
    pub to_issue: u64,
}

fn one() -> u32 {
    1
}

fn one_cycle() -> u64 {
    1
}

fn yes() -> bool {
    true
}

/// Registers of the architecture that physical ones always stand for.
pub const INTEGERS: usize = 16;
/// Likewise, of vectors.
pub const VECTORS: usize = 32;

impl Fetch {
    pub(super) fn check(&self) -> Result<(), String> {
        fields!(self,
            width in WIDTH,
            bytes in 1..=4096,
            pieces in WIDTH,
            buffer in QUEUE,
            depth in CYCLES,
            taken_bubble in CYCLES,
            blocks_ahead in 0..=4096,
        );
        Ok(())
    }
}

impl OpCache {
    pub(super) fn check(&self) -> Result<(), String> {
        fields!(self,
            windows in 1..=1 << 20,
            ways in WAYS,
            width in WIDTH,
            bytes in 1..=4096,
            pieces in WIDTH,
            again in 1..=*CYCLES.end(),
            depth in CYCLES,
            switch in CYCLES,
        );
        let entry = self.entry.unwrap_or(1);
        within("entry", entry, WIDTH)?;
        if !self.width.is_multiple_of(entry) {
            return Err(format!("width is {}: give a multiple of the entry, {entry}", self.width));
        }
        in_ways("windows", self.windows, self.ways)
    }
}

impl BranchPredictor {
    pub(super) fn check(&self) -> Result<(), String> {
        part("tage", self.tage.check())?;
        fields!(self,
            targets in 1..=1 << 20,
            target_ways in WAYS,
            second_targets in 0..=1 << 20,
            first_bubble in CYCLES,
            second_bubble in CYCLES,
            decode_bubble in CYCLES,
            returns in 1..=4096,
            indirect in 2..=1 << 20,
            redirect in CYCLES,
            return_bubble in CYCLES,
            indirect_bubble in CYCLES,
            wrong_path in 0..=4096,
            outstanding in 0..=4096,
        );
        within("nearest_targets", self.nearest_targets.unwrap_or(1), WAYS)?;
        let bytes = self.target_bytes.unwrap_or(1);
        if !bytes.is_power_of_two() {
            return Err(format!("target_bytes is {bytes}: give a power of two"));
        }
        in_ways("targets", self.targets, self.target_ways)?;
        in_ways("second_targets", self.second_targets, self.target_ways)?;
        match self.indirect.is_power_of_two() {
            true => Ok(()),
            false => Err(format!("indirect is {}: give a power of two", self.indirect)),
        }
    }
}

impl Tage {
    /// Most tables.
    pub(crate) const MOST: usize = 16;
    /// The longest history that is kept.
    pub(crate) const LONGEST: u32 = 4095;

    fn check(&self) -> Result<(), String> {
        fields!(self,
            base_bits in 1..=24,
            tables in 1..=Tage::MOST,
            table_bits in 1..=20,
            tag_bits in 4..=14,
            shortest in 1..=Tage::LONGEST,
            longest in self.shortest..=Tage::LONGEST,
        );
        Ok(())
    }
}

impl Rename {
    pub(super) fn check(&self) -> Result<(), String> {
        fields!(self,
            width in WIDTH,
            reorder_buffer in QUEUE,
            integer_registers in INTEGERS + 1..=4096,
            vector_registers in VECTORS + 1..=4096,
            update_entries in 1..=8,
            to_issue in CYCLES,
        );
        within("fuses_nops", self.fuses_nops.unwrap_or(2), 2..=30)?;
        within("instructions", self.instructions.unwrap_or(1), WIDTH)?;
        within("vector_width", self.vector_width.unwrap_or(1), WIDTH)
    }
}
