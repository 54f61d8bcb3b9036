//! The part of the record from issue to commit.

use super::ranges::{CYCLES, fields, part, within};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Most ports, and schedulers: a set of ports is 32 bits.
pub(crate) const MOST_PORTS: usize = 32;

/// Schedulers and ports.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Backend {
    /// Where µops, latencies and ports of instructions come from: a model of the generated table (such as
    /// `znver4`), whose ports then stand before `ports`; without one, from `kinds`.
    pub model: Option<String>,
    /// Names of ports that the model does not have.
    pub ports: Vec<String>,
    /// Ports of the model that take loads and stores: the µops there are left to `loads` and `stores`.
    #[serde(default)]
    pub model_memory_ports: Vec<String>,
    /// Whether the model counts a load as a µop of its own, and a store as two.
    #[serde(default)]
    pub model_counts_memory: bool,
    /// What instructions take, by kind, in place of what the model says.
    #[serde(default)]
    pub kinds: BTreeMap<Kind, Timing>,
    /// What instructions take, by the name of their encoding (`Div_rm64`), or several with `, ` between; all that begin
    /// with a name that ends in `*`. With ` m` behind it, it is said of the forms with an operand in memory alone: only so
    /// do moves from and to memory compute anything.
    #[serde(default)]
    pub instructions: BTreeMap<String, Timing>,
    /// What `lea` with base, index and displacement takes.
    #[serde(default)]
    pub complex_lea: Option<Timing>,
    /// What any other `lea` with a multiplied index takes.
    #[serde(default)]
    pub scaled_lea: Option<Timing>,
    /// What any other `lea` of registers takes.
    #[serde(default)]
    pub simple_lea: Option<Timing>,
    /// Bytes of a vector that the core computes, loads and stores at once, if not all of any: an instruction with wider
    /// ones takes at least as many entries, each as wide, and as many turns of the ports of loads and stores; a store goes
    /// into the cache in as many cycles as there are aligned pieces of so many bytes that it has a part of.
    #[serde(default)]
    pub vector_bytes: Option<u8>,
    /// Whether such an instruction is one entry all the same, which takes its turns when it is executed: what `instructions`
    /// says then holds for each part, but for names with `_zmm`.
    #[serde(default)]
    pub whole_vectors: bool,
    /// Schedulers. A port of none of them belongs to the first.
    pub queues: Vec<Queue>,
    /// Whether a µop that computes and could go to ports of several schedulers is given to one of them when it is
    /// dispatched: to one of those that got the fewest µops in that cycle, by chance. Otherwise it waits in that of the
    /// first of its ports for any of them.
    #[serde(default)]
    pub distributes: bool,
    /// Instructions that are ordered with their neighbours.
    pub orders: Orders,
    /// String instructions that repeat.
    pub strings: Strings,
}

/// A kind of work.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Integer arithmetic and moves between integer registers.
    Integer,
    /// Integer multiplication.
    Multiply,
    /// Integer division.
    Divide,
    /// Vector integers, and moves between vector registers.
    Vector,
    /// Floating point.
    Float,
    /// Floating-point division.
    FloatDivide,
    /// Square root.
    SquareRoot,
    /// Branches.
    Branch,
    /// Microcode.
    System,
}

/// What an instruction takes, apart from its accesses to memory.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Cycles from operands to result.
    pub latency: u16,
    /// For each µop, the ports that it may go to; `ALU*` is all that begin so.
    pub ports: Vec<Vec<String>>,
    /// Cycles that the first µop keeps its port busy.
    #[serde(default = "one")]
    pub busy: u16,
    /// Entries of the reorder buffer, if not one for each µop.
    #[serde(default)]
    pub entries: Option<u8>,
    /// Whether it waits for what the registers that it writes held before, also where it does not need that.
    #[serde(default)]
    pub waits_for_destination: bool,
    /// Cycles that the upper half of a product takes more, if it goes to a register of its own.
    #[serde(default)]
    pub upper_extra: u16,
}

fn one() -> u16 {
    1
}

/// A scheduler.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// µops that it holds.
    pub entries: usize,
    /// Its ports.
    pub ports: Vec<String>,
}

/// Instructions that are ordered with their neighbours.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Orders {
    /// `lock` and `xchg`.
    pub locked: Ordering,
    /// `lfence`.
    pub load_fence: Ordering,
    /// `sfence`.
    pub store_fence: Ordering,
    /// `mfence`.
    pub full_fence: Ordering,
    /// `rdtsc`.
    pub clock: Ordering,
    /// `ldmxcsr`, `fldcw`.
    pub float_control: Ordering,
    /// `cpuid` and its kin.
    pub serialising: Ordering,
    /// System calls: the kernel's work is not modelled, `latency` stands for the way in and out.
    pub system_call: Ordering,
}

/// How one of them is treated.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ordering {
    /// What waits for what.
    pub treatment: Treatment,
    /// Cycles that it takes once it may begin.
    pub latency: u64,
}

/// What waits for what.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Treatment {
    /// Only operands are waited for, and the one before of its kind.
    Free,
    /// It begins when all that is older has been executed, and what is younger is dispatched when it is done.
    Barrier,
    /// It begins when all older stores have left the store queue, and younger loads begin when it is done.
    Stores,
    /// It is dispatched when all that is older has committed, and what is younger when it has.
    Drain,
    /// When it commits, all that is younger is thrown away and fetched again.
    Flush,
    /// Both of the latter.
    DrainFlush,
}

/// String instructions that repeat.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Strings {
    /// Cycles before the first byte. Those of one begin when all µops of the one before are executed.
    pub startup: u64,
    /// Bytes that are moved or stored in a cycle, those of one behind those of the one before.
    pub bytes: u64,
    /// Bytes whose µops are executed in a cycle, if more.
    #[serde(default)]
    pub issued_bytes: Option<u64>,
    /// Likewise of those that only store, if more still.
    #[serde(default)]
    pub stored_bytes: Option<u64>,
    /// Bytes that are compared, searched or loaded without being stored in a cycle.
    pub compared_bytes: u64,
    /// Cycles before the first byte of those that compare memory with memory, if others.
    #[serde(default)]
    pub compared_startup: Option<u64>,
    /// Cycles for each element that is searched, or loaded without being stored, if that is not done by bytes.
    #[serde(default)]
    pub searched_cycles: Option<u64>,
    /// What those take that do little, if they are treated otherwise.
    #[serde(default)]
    pub short: Option<ShortStrings>,
    /// Entries of the reorder buffer.
    pub entries: u8,
}

/// String instructions that do little.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShortStrings {
    /// The most bytes.
    pub bytes: u64,
    /// The most bytes of an element: other elements are not treated so.
    #[serde(default = "one")]
    pub unit: u16,
    /// Cycles to move or store them all.
    pub moved: u64,
    /// Cycles to store them all where nothing is loaded, if others.
    #[serde(default)]
    pub stored: Option<u64>,
    /// Cycles to compare them all, or to search them where that is done by bytes; without it, that is not treated so.
    #[serde(default)]
    pub compared: Option<u64>,
}

/// Commit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commit {
    /// Entries of the reorder buffer that commit in a cycle, and that a record of it shows. A branch that is fused with
    /// the instruction before it counts as one more, though it takes no room in the buffer.
    pub width: u32,
    /// Cycles from a result to the earliest commit.
    pub delay: u64,
    /// Cycles from the commit of an instruction that flushes, or an exception, to fetch.
    pub flush: u64,
    /// Cycles that the kernel takes for the first touch of a page; without it, pages are there.
    #[serde(default)]
    pub page_fault: Option<u64>,
}

impl Backend {
    /// The bit of a port among `all`.
    pub(crate) fn port(all: &[String], name: &str) -> Result<u32, String> {
        let bit =
            all.iter().position(|port| port == name).ok_or_else(|| format!("there is no port {name}"))?;
        Ok(1 << bit)
    }

    /// The bits of several ports; a name that ends in `*` is that of all that begin so.
    pub(crate) fn ports(all: &[String], names: &[String]) -> Result<u32, String> {
        let set = |name: &String| {
            let Some(start) = name.strip_suffix('*') else { return Backend::port(all, name) };
            let found = all.iter().enumerate().filter(|(_, port)| port.starts_with(start));
            match found.fold(0, |set, (bit, _)| set | 1 << bit) {
                0 => Err(format!("there is no port {name}")),
                set => Ok(set),
            }
        };
        names.iter().try_fold(0, |all, name| Ok(all | set(name)?))
    }

    /// Bytes of the widest vector that an entry of the reorder buffer computes, if not all of any.
    pub(crate) fn entry_bytes(&self) -> Option<u8> {
        self.vector_bytes.filter(|_| !self.whole_vectors)
    }

    /// What the kinds of `lea` take, with their names.
    pub(crate) fn leas(&self) -> [(&'static str, Option<&Timing>); 3] {
        [
            ("complex_lea", self.complex_lea.as_ref()),
            ("scaled_lea", self.scaled_lea.as_ref()),
            ("simple_lea", self.simple_lea.as_ref()),
        ]
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if !(1..=MOST_PORTS).contains(&self.queues.len()) {
            return Err(format!("queues has {} schedulers: give 1 to {MOST_PORTS}", self.queues.len()));
        }
        for queue in &self.queues {
            part("queues", within("entries", queue.entries, 1..=4096))?;
        }
        within("vector_bytes", self.vector_bytes.unwrap_or(16), 16..=64)?;
        let kinds = self.kinds.iter().map(|(kind, timing)| (format!("kinds.{kind:?}"), timing));
        let instructions = self.instructions.iter();
        let instructions = instructions.map(|(name, timing)| (format!("instructions.\"{name}\""), timing));
        let leas = self.leas().into_iter().filter_map(|(name, timing)| Some((name.to_string(), timing?)));
        kinds.chain(instructions).chain(leas).try_for_each(|(name, timing)| part(&name, timing.check()))?;
        part("orders", self.orders.check())?;
        part("strings", self.strings.check())
    }
}

impl Timing {
    fn check(&self) -> Result<(), String> {
        fields!(self, latency in 0..=10_000, busy in 1..=10_000, upper_extra in 0..=10_000);
        within("entries", self.entries.unwrap_or(1), 1..=64)?;
        within("ports, of as many µops,", self.ports.len(), 0..=64)
    }
}

impl Orders {
    fn check(&self) -> Result<(), String> {
        let all = [
            ("locked", self.locked),
            ("load_fence", self.load_fence),
            ("store_fence", self.store_fence),
            ("full_fence", self.full_fence),
            ("clock", self.clock),
            ("float_control", self.float_control),
            ("serialising", self.serialising),
            ("system_call", self.system_call),
        ];
        all.into_iter().try_for_each(|(name, order)| part(name, within("latency", order.latency, CYCLES)))
    }
}

impl Strings {
    fn check(&self) -> Result<(), String> {
        fields!(self,
            startup in CYCLES,
            bytes in 1..=4096,
            compared_bytes in 1..=4096,
            entries in 1..=64,
        );
        within("compared_startup", self.compared_startup.unwrap_or(0), CYCLES)?;
        within("searched_cycles", self.searched_cycles.unwrap_or(1), 1..=64)?;
        let issued = self.issued_bytes.unwrap_or(self.bytes);
        within("issued_bytes", issued, self.bytes..=4096)?;
        within("stored_bytes", self.stored_bytes.unwrap_or(issued), issued..=4096)?;
        self.short.map_or(Ok(()), |short| part("short", short.check()))
    }
}

impl ShortStrings {
    fn check(&self) -> Result<(), String> {
        fields!(self, bytes in 1..=4096, unit in 1..=8, moved in CYCLES);
        within("stored", self.stored.unwrap_or(self.moved), CYCLES)?;
        within("compared", self.compared.unwrap_or(0), CYCLES)
    }
}

impl Commit {
    pub(super) fn check(&self) -> Result<(), String> {
        // The most that is recorded of a cycle. An entry is in the reorder buffer for a cycle at least.
        fields!(self, width in 1..=timewise_trace::WIDTH as u32, delay in 1..=*CYCLES.end(), flush in CYCLES);
        within("page_fault", self.page_fault.unwrap_or(0), CYCLES)
    }
}
