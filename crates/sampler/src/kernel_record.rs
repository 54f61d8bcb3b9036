//! Records of performance events: the kernel's bytes to values. Reads what the attributes of
//! `source` ask for and nothing else; a malformed record is `None`, never a panic.

use crate::record::{RawSample, Record, Stamped};
use crate::user_stack::UserStack;
use timewise_image::Registers;
use timewise_target::perf::{Fields, RawMapping, RawRecord, records, sys};

/// Fields of every sample, in this order; the call chain is added where stacks are wanted.
pub const SAMPLE_FIELDS: u64 = (sys::PERF_SAMPLE_IP
    | sys::PERF_SAMPLE_TID
    | sys::PERF_SAMPLE_TIME
    | sys::PERF_SAMPLE_CPU
    | sys::PERF_SAMPLE_PERIOD) as u64;

/// Registers that come with a copied stack: bits of the kernel's numbers for them (`asm/perf_regs.h`), all
/// general ones and the instruction pointer.
pub const USER_REGISTERS: u64 = 0b1111_1111_0000_0001_1111_1111;

/// Which optional parts a sample has, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Chains of callers that the kernel followed.
    pub call_chain: bool,
    /// [`USER_REGISTERS`] and a copy of the stack.
    pub user_stack: bool,
}

impl Layout {
    /// That of an event's `sample_type`, which may ask for these parts besides [`SAMPLE_FIELDS`].
    pub fn of(sample_type: u64) -> Layout {
        let has = |part: u32| sample_type & u64::from(part) != 0;
        Layout { call_chain: has(sys::PERF_SAMPLE_CALLCHAIN), user_stack: has(sys::PERF_SAMPLE_STACK_USER) }
    }
}

/// Process and thread id, time, processor: what the kernel appends to records that are not
/// samples when `sample_id_all` is set and the fields above are asked for.
const TRAILER_BYTES: usize = 8 + 8 + 8;
/// Values above this in a call chain are not addresses but say which mode the next ones are from.
const CONTEXT_MARKERS: u64 = -4095_i64 as u64;
const CONTEXT_USER: u64 = -512_i64 as u64;
const CONTEXT_KERNEL: u64 = -128_i64 as u64;
const MODE_MASK: u16 = 7;
/// Splits bytes that a ring handed out into records and reads those that concern us.
pub fn read_all(bytes: &[u8], layout: Layout, mut each: impl FnMut(Stamped)) {
    for RawRecord { kind, misc, body } in records(bytes) {
        if let Some(stamped) = read(kind, misc, body, layout) {
            each(stamped);
        }
    }
}

fn read(kind: u32, misc: u16, body: &[u8], layout: Layout) -> Option<Stamped> {
    if kind == sys::PERF_RECORD_SAMPLE {
        return read_sample(misc, Fields(body), layout);
    }
    let (body, trailer) = body.split_at_checked(body.len().checked_sub(TRAILER_BYTES)?)?;
    let mut trailer = Fields(trailer);
    let (pid, tid) = (trailer.u32()?, trailer.u32()?);
    let time_ns = trailer.u64()?;
    let record = match kind {
        sys::PERF_RECORD_SWITCH => read_switch(misc, pid, tid),
        _ => read_other(kind, misc, Fields(body))?,
    };
    Some(Stamped { time_ns, record })
}

/// The record itself is empty: whom it is about, the kernel appends.
fn read_switch(misc: u16, pid: u32, tid: u32) -> Record {
    let has = |bit: u32| u32::from(misc) & bit != 0;
    match has(sys::PERF_RECORD_MISC_SWITCH_OUT) {
        true => {
            let preempted = has(sys::PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
            Record::Left { pid, tid, preempted }
        }
        false => Record::Came { pid, tid },
    }
}

/// Reads a record that is not a sample, without what the kernel appends.
pub fn read_other(kind: u32, misc: u16, mut fields: Fields) -> Option<Record> {
    Some(match kind {
        sys::PERF_RECORD_MMAP2 => Record::Mapping(RawMapping::read(misc, fields)?),
        sys::PERF_RECORD_COMM => Record::Name {
            pid: fields.u32()?,
            tid: fields.u32()?,
            name: String::from_utf8_lossy(fields.text()).into_owned(),
            exec: u32::from(misc) & sys::PERF_RECORD_MISC_COMM_EXEC != 0,
        },
        sys::PERF_RECORD_FORK | sys::PERF_RECORD_EXIT => {
            let (pid, parent_pid, tid) = (fields.u32()?, fields.u32()?, fields.u32()?);
            match kind {
                sys::PERF_RECORD_FORK => Record::Fork { pid, tid, parent_pid },
                _ => Record::Exit { pid, tid },
            }
        }
        sys::PERF_RECORD_LOST => {
            fields.u64()?;
            Record::Lost { count: fields.u64()? }
        }
        sys::PERF_RECORD_LOST_SAMPLES => Record::Lost { count: fields.u64()? },
        sys::PERF_RECORD_THROTTLE => Record::Throttled,
        _ => return None,
    })
}

fn read_sample(misc: u16, mut fields: Fields, layout: Layout) -> Option<Stamped> {
    let address = fields.u64()?;
    let (pid, tid) = (fields.u32()?, fields.u32()?);
    let time_ns = fields.u64()?;
    let (cpu, _) = (fields.u32()?, fields.u32()?);
    let period = fields.u64()?;
    let kernel = u32::from(misc & MODE_MASK) == sys::PERF_RECORD_MISC_KERNEL;
    let mut sample = RawSample {
        address,
        pid,
        tid,
        cpu,
        period,
        kernel,
        kernel_callers: Vec::new(),
        user_callers: Vec::new(),
        user_stack: None,
    };
    if layout.call_chain {
        read_call_chain(&mut fields, &mut sample)?;
    }
    if layout.user_stack {
        sample.user_stack = read_user_stack(&mut fields, USER_REGISTERS)?;
    }
    Some(Stamped { time_ns, record: Record::Sample(sample) })
}

/// The chain begins with the sampled address itself, in the mode that was interrupted.
pub fn read_call_chain(fields: &mut Fields, sample: &mut RawSample) -> Option<()> {
    let count = fields.u64()?;
    let mut in_user = None;
    for _ in 0..count {
        let entry = fields.u64()?;
        if entry >= CONTEXT_MARKERS {
            in_user = match entry {
                CONTEXT_USER => Some(true),
                CONTEXT_KERNEL => Some(false),
                _ => None,
            };
            continue;
        }
        match in_user {
            Some(true) => sample.user_callers.push(entry),
            Some(false) => sample.kernel_callers.push(entry),
            None => {}
        }
    }
    let interrupted = if sample.kernel { &mut sample.kernel_callers } else { &mut sample.user_callers };
    if !interrupted.is_empty() {
        interrupted.remove(0);
    }
    Some(())
}

/// Registers, then room for as much stack as was asked for, then how much of it was copied. A thread of the
/// kernel has neither, and a program of 32 bits has other registers. `mask` says which registers were asked for.
pub fn read_user_stack(fields: &mut Fields, mask: u64) -> Option<Option<Box<UserStack>>> {
    let abi = fields.u64()?;
    let mut registers = [0; 64];
    if abi != u64::from(sys::PERF_SAMPLE_REGS_ABI_NONE) {
        for (bit, register) in registers.iter_mut().enumerate() {
            if mask >> bit & 1 != 0 {
                *register = fields.u64()?;
            }
        }
    }
    let room = fields.u64()?;
    if room == 0 {
        return Some(None);
    }
    let bytes = fields.take(usize::try_from(room).ok()?)?;
    let copied = usize::try_from(fields.u64()?).ok()?.min(bytes.len());
    if abi != u64::from(sys::PERF_SAMPLE_REGS_ABI_64) || mask & USER_REGISTERS != USER_REGISTERS {
        return Some(None);
    }
    let [ax, bx, cx, dx, si, di, bp, sp, ip, ..] = registers;
    let &[r8, r9, r10, r11, r12, r13, r14, r15] = registers[16..].first_chunk()?;
    let general = [ax, dx, cx, bx, si, di, bp, sp, r8, r9, r10, r11, r12, r13, r14, r15];
    let bytes = bytes[..copied].into();
    Some(Some(Box::new(UserStack { registers: Registers::new(ip, general), bytes })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, misc: u16, words: &[u64]) -> Vec<u8> {
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend(misc.to_ne_bytes());
        bytes.extend((8 + 8 * words.len() as u16).to_ne_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    fn all(bytes: &[u8]) -> Vec<Stamped> {
        let mut all = Vec::new();
        read_all(bytes, Layout { call_chain: true, user_stack: false }, |stamped| all.push(stamped));
        all
    }

    #[test]
    fn call_chain_is_split_by_mode_and_loses_the_sampled_address() {
        let ids = 7 | 8 << 32;
        let words = [
            0xffff_8000,
            ids,
            99,
            1,
            250_000,
            5,
            CONTEXT_KERNEL,
            0xffff_8000,
            0xffff_9000,
            CONTEXT_USER,
            0x40,
        ];
        let read = all(&record(sys::PERF_RECORD_SAMPLE, 1, &words));
        let expected = RawSample {
            address: 0xffff_8000,
            pid: 7,
            tid: 8,
            cpu: 1,
            period: 250_000,
            kernel: true,
            kernel_callers: vec![0xffff_9000],
            user_callers: vec![0x40],
            user_stack: None,
        };
        assert_eq!(read, [Stamped { time_ns: 99, record: Record::Sample(expected) }]);
    }

    #[test]
    fn a_copied_stack_comes_with_its_registers() {
        let layout = Layout { call_chain: false, user_stack: true };
        let read = |words: &[u64]| {
            let mut all = Vec::new();
            read_all(&record(sys::PERF_RECORD_SAMPLE, 2, words), layout, |stamped| all.push(stamped.record));
            all
        };
        let mut words = vec![0x40, 1 | 1 << 32, 99, 0, 250, 2];
        words.extend(100..117);
        words.extend([16, 0xa, 0xb, 8]);
        let [Record::Sample(RawSample { user_stack: Some(stack), .. })] = &read(&words)[..] else { panic!() };
        assert_eq!((stack.registers.ip, stack.registers.stack_pointer()), (108, 107));
        assert_eq!(stack.registers.frame_pointer(), Some(106));
        assert_eq!((stack.word(107), stack.word(108), stack.word(106)), (Some(0xa), None, None));
        let of_the_kernel = [0x40, 1 | 1 << 32, 99, 0, 250, 0, 0];
        let [Record::Sample(RawSample { user_stack: None, .. })] = &read(&of_the_kernel)[..] else {
            panic!()
        };
        for cut in 6..words.len() {
            assert!(read(&words[..cut]).is_empty());
        }
        words[23] = u64::MAX;
        assert!(read(&words).is_empty());
    }

    #[test]
    fn a_switch_is_about_the_thread_that_the_kernel_appends() {
        let read = |misc: u32| {
            let read = all(&record(sys::PERF_RECORD_SWITCH, misc as u16, &[7 | 8 << 32, 99, 0]));
            read.into_iter().map(|stamped| (stamped.time_ns, stamped.record)).next()
        };
        let left = |preempted| Some((99, Record::Left { pid: 7, tid: 8, preempted }));
        assert_eq!(read(0), Some((99, Record::Came { pid: 7, tid: 8 })));
        assert_eq!(read(sys::PERF_RECORD_MISC_SWITCH_OUT), left(false));
        let both = sys::PERF_RECORD_MISC_SWITCH_OUT | sys::PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
        assert_eq!(read(both), left(true));
    }

    #[test]
    fn damaged_bytes_end_quietly() {
        let good = record(sys::PERF_RECORD_EXIT, 0, &[1, 1, 0, 1, 9, 0]);
        assert_eq!(all(&good).len(), 1);
        for cut in 0..good.len() {
            assert!(all(&good[..cut]).is_empty());
        }
        let endless = record(sys::PERF_RECORD_SAMPLE, 2, &[1, 2, 3, 4, 5, u64::MAX]);
        assert!(all(&endless).is_empty());
    }

    /// Bytes of all kinds of records, and of none: nothing panics, and no more is told than there is room for.
    #[test]
    fn no_bytes_are_too_odd() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for round in 0..20_000_u32 {
            let words: Vec<u64> = (0..random() % 60).map(|_| random() >> (random() % 64)).collect();
            let mut bytes = record(round % 24, random() as u16, &words);
            if round % 3 == 0 {
                bytes.extend(record(sys::PERF_RECORD_SAMPLE, 2, &words));
                let at = random() as usize % bytes.len();
                bytes[at] ^= random() as u8;
            }
            for (call_chain, user_stack) in [(false, false), (true, false), (false, true), (true, true)] {
                let mut told = 0;
                read_all(&bytes, Layout { call_chain, user_stack }, |_| told += 1);
                assert!(told <= bytes.len() / 8);
            }
        }
    }
}
