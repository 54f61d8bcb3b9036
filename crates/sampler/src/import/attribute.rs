//! What the kernel was asked for: an event and what its records hold (`perf_event_attr`).

use crate::layout::Layout;
use std::collections::HashMap;
use timewise_profile::CallStackMethod;
use timewise_target::perf::Fields;
use timewise_target::perf::sys;

/// What the kernel was asked for: one event.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// `PERF_TYPE_…`.
    pub kind: u32,
    /// Which event of that type.
    pub config: u64,
    /// Samples a second, or else amount between two.
    pub period: u64,
    /// What its records hold.
    pub layout: Layout,
    flags: u64,
    /// As `perf` was given it, if the file tells.
    pub name: Option<String>,
}

/// All events of a file, and by which ids its records name them.
#[derive(Debug, Default)]
pub struct Attributes {
    all: Vec<Attribute>,
    by_id: HashMap<u64, usize>,
}

impl Attributes {
    /// Adds one, which gets those of `ids` that no other has.
    pub fn add(&mut self, attribute: Attribute, ids: impl IntoIterator<Item = u64>) {
        for id in ids {
            self.by_id.entry(id).or_insert(self.all.len());
        }
        self.all.push(attribute);
    }

    /// All, in the order of the file.
    pub fn all(&self) -> &[Attribute] {
        &self.all
    }

    /// Which of them has an id.
    pub fn position_of(&self, id: u64) -> Option<usize> {
        self.by_id.get(&id).copied()
    }

    /// Names the first that has one of `ids`.
    pub fn set_name(&mut self, name: String, ids: &[u64]) {
        if let Some(first) = ids.iter().filter_map(|&id| self.position_of(id)).min() {
            self.all[first].name = Some(name);
        }
    }
}

/// Bits of the flags of `perf_event_attr`, in the order of its declaration.
mod flag {
    pub const EXCLUDE_USER: u32 = 4;
    pub const EXCLUDE_KERNEL: u32 = 5;
    pub const FREQUENCY: u32 = 10;
    pub const PRECISE: u32 = 15;
    pub const SAMPLE_ID_ALL: u32 = 18;
    pub const BUILD_ID: u32 = 34;
}

/// Where `sample_regs_user` lies in a `perf_event_attr`.
const USER_REGISTERS_AT: usize = 80;

impl Attribute {
    /// How the callers of its samples were found, if they were looked for.
    pub fn call_stacks(&self) -> Option<CallStackMethod> {
        match (self.layout.has(sys::PERF_SAMPLE_STACK_USER), self.layout.has(sys::PERF_SAMPLE_CALLCHAIN)) {
            (true, _) => Some(CallStackMethod::Both),
            (false, true) => Some(CallStackMethod::FramePointers),
            (false, false) => None,
        }
    }

    /// Reads a `perf_event_attr`; `None` if it is too short.
    pub fn read(bytes: &[u8]) -> Option<Attribute> {
        let mut fields = Fields(bytes);
        let (kind, _size) = (fields.u32()?, fields.u32()?);
        let (config, period, sample_type) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let (read_format, flags) = (fields.u64()?, fields.u64()?);
        // Shorter ones are of kernels that copied no stacks.
        let user_registers =
            bytes.get(USER_REGISTERS_AT..).and_then(|bytes| Fields(bytes).u64()).unwrap_or(0);
        let has_trailers = flags >> flag::SAMPLE_ID_ALL & 1 != 0;
        let layout = Layout { sample_type, read_format, user_registers, has_trailers };
        Some(Attribute { kind, config, period, layout, flags, name: None })
    }

    /// Whether the kernel was asked for build ids of what is mapped.
    pub fn has_build_ids(&self) -> bool {
        self.flag(flag::BUILD_ID)
    }

    /// Whether `period` is a frequency.
    pub fn is_frequency(&self) -> bool {
        self.flag(flag::FREQUENCY)
    }

    /// `precise_ip`.
    pub fn precise_level(&self) -> u8 {
        (self.flags >> flag::PRECISE & 3) as u8
    }

    /// True of the event that never fires and only tells of processes and mappings.
    pub fn is_dummy(&self) -> bool {
        self.kind == sys::PERF_TYPE_SOFTWARE && self.config == sys::PERF_COUNT_SW_DUMMY as u64
    }

    /// Its name with the modes that it is limited to, as `perf` takes it.
    pub fn full_name(&self) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        let name = match (self.kind, self.config as u32) {
            (sys::PERF_TYPE_HARDWARE, sys::PERF_COUNT_HW_CPU_CYCLES) => "cycles".into(),
            (sys::PERF_TYPE_SOFTWARE, sys::PERF_COUNT_SW_CPU_CLOCK) => "cpu-clock".into(),
            (sys::PERF_TYPE_SOFTWARE, sys::PERF_COUNT_SW_TASK_CLOCK) => "task-clock".into(),
            (kind, _) => format!("event {kind}/{:#x}", self.config),
        };
        match (self.flag(flag::EXCLUDE_USER), self.flag(flag::EXCLUDE_KERNEL)) {
            (false, true) => name + ":u",
            (true, false) => name + ":k",
            _ => name,
        }
    }

    fn flag(&self, bit: u32) -> bool {
        self.flags >> bit & 1 != 0
    }
}
