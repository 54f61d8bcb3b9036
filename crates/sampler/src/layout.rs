//! What an event asked the kernel to put into its records, and samples read by it. A malformed one is `None`,
//! never a panic.

use crate::record::RawSample;
use timewise_callers::UserStack;
use timewise_image::Registers;
use timewise_target::perf::Fields;
use timewise_target::perf::sys::{self, perf_event_attr};

/// Bits of `sample_type` that stand before the values of events, each a field of 8 bytes, in this order.
pub const FIXED_FIELDS: [u32; 9] = [
    sys::PERF_SAMPLE_IDENTIFIER,
    sys::PERF_SAMPLE_IP,
    sys::PERF_SAMPLE_TID,
    sys::PERF_SAMPLE_TIME,
    sys::PERF_SAMPLE_ADDR,
    sys::PERF_SAMPLE_ID,
    sys::PERF_SAMPLE_STREAM_ID,
    sys::PERF_SAMPLE_CPU,
    sys::PERF_SAMPLE_PERIOD,
];

/// Likewise of what stands at the end of records that are not samples.
pub const TRAILER_FIELDS: [u32; 6] = [
    sys::PERF_SAMPLE_TID,
    sys::PERF_SAMPLE_TIME,
    sys::PERF_SAMPLE_ID,
    sys::PERF_SAMPLE_STREAM_ID,
    sys::PERF_SAMPLE_CPU,
    sys::PERF_SAMPLE_IDENTIFIER,
];

/// Fields of every sample of our own events; call chains and stacks are added where they are wanted.
pub const SAMPLE_FIELDS: u64 = (sys::PERF_SAMPLE_IP
    | sys::PERF_SAMPLE_TID
    | sys::PERF_SAMPLE_TIME
    | sys::PERF_SAMPLE_CPU
    | sys::PERF_SAMPLE_PERIOD) as u64;

/// Registers that come with a copied stack: bits of the kernel's numbers for them (`asm/perf_regs.h`), all
/// general ones and the instruction pointer.
pub const USER_REGISTERS: u64 = 0b1111_1111_0000_0001_1111_1111;

/// Values above this in a call chain are not addresses but say which mode the next ones are from.
const CONTEXT_MARKERS: u64 = -4095_i64 as u64;
const CONTEXT_USER: u64 = -512_i64 as u64;
const CONTEXT_KERNEL: u64 = -128_i64 as u64;

/// What records hold.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layout {
    /// `PERF_SAMPLE_…` bits.
    pub sample_type: u64,
    /// `PERF_FORMAT_…` bits.
    pub read_format: u64,
    /// Which registers come with a copied stack, by the kernel's numbers.
    pub user_registers: u64,
    /// Whether records that are not samples tell of their thread and time (`sample_id_all`).
    pub has_trailers: bool,
}

/// What the kernel appends to records that are not samples, as far as it was asked for.
#[derive(Debug, Default, PartialEq)]
pub struct Trailer {
    /// Process and thread.
    pub ids: Option<(u32, u32)>,
    /// When.
    pub time_ns: Option<u64>,
}

impl Layout {
    /// That of an event's records.
    pub fn of(attributes: &perf_event_attr) -> Layout {
        Layout {
            sample_type: attributes.sample_type,
            read_format: attributes.read_format,
            user_registers: attributes.sample_regs_user,
            has_trailers: attributes.sample_id_all() != 0,
        }
    }

    /// Whether its samples have a field.
    pub fn has(&self, field: u32) -> bool {
        self.sample_type & u64::from(field) != 0
    }

    /// How many of `fields` it has.
    pub fn count(&self, fields: &[u32]) -> usize {
        fields.iter().filter(|&&field| self.has(field)).count()
    }

    /// How many of `fields` that it has stand before `field`.
    pub fn before(&self, fields: &[u32], field: u32) -> usize {
        fields.iter().take_while(|&&other| other != field).filter(|&&field| self.has(field)).count()
    }

    /// Reads a sample and when it was taken, 0 each for what was not asked for.
    pub fn read_sample(&self, misc: u16, body: &[u8]) -> Option<(u64, RawSample)> {
        let mut fields = Fields(body);
        let kernel = u32::from(misc) & sys::PERF_RECORD_MISC_CPUMODE_MASK == sys::PERF_RECORD_MISC_KERNEL;
        let mut sample = RawSample { kernel, ..RawSample::in_kernel(0, 0) };
        let mut time_ns = 0;
        for field in FIXED_FIELDS.into_iter().filter(|&field| self.has(field)) {
            let value = fields.u64()?;
            match field {
                sys::PERF_SAMPLE_IP => sample.address = value,
                sys::PERF_SAMPLE_TID => (sample.pid, sample.tid) = halves(value),
                sys::PERF_SAMPLE_TIME => time_ns = value,
                sys::PERF_SAMPLE_CPU => (sample.cpu, _) = halves(value),
                sys::PERF_SAMPLE_PERIOD => sample.period = value,
                _ => {}
            }
        }
        if self.has(sys::PERF_SAMPLE_READ) {
            skip_values(self.read_format, &mut fields)?;
        }
        if self.has(sys::PERF_SAMPLE_CALLCHAIN) {
            read_call_chain(&mut fields, &mut sample)?;
        }
        let between = self.has(sys::PERF_SAMPLE_RAW) || self.has(sys::PERF_SAMPLE_BRANCH_STACK);
        let both = self.has(sys::PERF_SAMPLE_REGS_USER) && self.has(sys::PERF_SAMPLE_STACK_USER);
        if both && !between {
            sample.user_stack = read_user_stack(&mut fields, self.user_registers)?;
        }
        Some((time_ns, sample))
    }

    /// Takes off what the kernel appends to records that are not samples.
    pub fn split_trailer<'a>(&self, body: &'a [u8]) -> Option<(&'a [u8], Trailer)> {
        let mut trailer = Trailer::default();
        if !self.has_trailers {
            return Some((body, trailer));
        }
        let length = 8 * self.count(&TRAILER_FIELDS);
        let (body, appended) = body.split_at_checked(body.len().checked_sub(length)?)?;
        let mut fields = Fields(appended);
        for field in TRAILER_FIELDS.into_iter().filter(|&field| self.has(field)) {
            let value = fields.u64()?;
            match field {
                sys::PERF_SAMPLE_TID => trailer.ids = Some(halves(value)),
                sys::PERF_SAMPLE_TIME => trailer.time_ns = Some(value),
                _ => {}
            }
        }
        Some((body, trailer))
    }
}

/// Two numbers in one word, the first in its lower half.
fn halves(word: u64) -> (u32, u32) {
    (word as u32, (word >> 32) as u32)
}

/// Values of the event, or of all of its group.
fn skip_values(read_format: u64, fields: &mut Fields) -> Option<()> {
    let has = |part: u32| usize::from(read_format & u64::from(part) != 0);
    let times = has(sys::PERF_FORMAT_TOTAL_TIME_ENABLED) + has(sys::PERF_FORMAT_TOTAL_TIME_RUNNING);
    let each = 1 + has(sys::PERF_FORMAT_ID) + has(sys::PERF_FORMAT_LOST);
    let words = match has(sys::PERF_FORMAT_GROUP) {
        0 => times + each,
        _ => {
            let members = usize::try_from(fields.u64()?).ok()?;
            times.checked_add(each.checked_mul(members)?)?
        }
    };
    fields.take(words.checked_mul(8)?).map(drop)
}

/// The chain begins with the sampled address itself, in the mode that was interrupted.
fn read_call_chain(fields: &mut Fields, sample: &mut RawSample) -> Option<()> {
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
fn read_user_stack(fields: &mut Fields, mask: u64) -> Option<Option<Box<UserStack>>> {
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

    fn read(misc: u32, words: &[u64], layout: Layout) -> Option<(u64, RawSample)> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        layout.read_sample(misc as u16, &bytes)
    }

    fn with(parts: u32) -> Layout {
        let sample_type = SAMPLE_FIELDS | u64::from(parts);
        Layout { sample_type, user_registers: USER_REGISTERS, ..Layout::default() }
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
        let read = read(sys::PERF_RECORD_MISC_KERNEL, &words, with(sys::PERF_SAMPLE_CALLCHAIN));
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
        assert_eq!(read, Some((99, expected)));
    }

    #[test]
    fn a_copied_stack_comes_with_its_registers() {
        let layout = with(sys::PERF_SAMPLE_REGS_USER | sys::PERF_SAMPLE_STACK_USER);
        let read = |words: &[u64]| read(sys::PERF_RECORD_MISC_USER, words, layout);
        let mut words = vec![0x40, 1 | 1 << 32, 99, 0, 250, 2];
        words.extend(100..117);
        words.extend([16, 0xa, 0xb, 8]);
        let stack = read(&words).unwrap().1.user_stack.unwrap();
        assert_eq!((stack.registers.ip, stack.registers.stack_pointer()), (108, 107));
        assert_eq!(stack.registers.frame_pointer(), Some(106));
        assert_eq!((stack.word(107), stack.word(108), stack.word(106)), (Some(0xa), None, None));
        let of_the_kernel = [0x40, 1 | 1 << 32, 99, 0, 250, 0, 0];
        assert_eq!(read(&of_the_kernel).unwrap().1.user_stack, None);
        for cut in 6..words.len() {
            assert_eq!(read(&words[..cut]), None);
        }
        words[23] = u64::MAX;
        assert_eq!(read(&words), None);
    }

    /// What `perf` may ask for and we do not stands between what we read.
    #[test]
    fn fields_are_found_behind_any_others() {
        let parts = sys::PERF_SAMPLE_IDENTIFIER
            | sys::PERF_SAMPLE_ADDR
            | sys::PERF_SAMPLE_STREAM_ID
            | sys::PERF_SAMPLE_READ
            | sys::PERF_SAMPLE_CALLCHAIN;
        let read_format = (sys::PERF_FORMAT_GROUP | sys::PERF_FORMAT_ID) as u64;
        let layout = Layout { read_format, ..with(parts) };
        let values = [2, 70, 71, 72, 73];
        let words =
            [[60, 0x40, 1 | 2 << 32, 99, 61, 62, 3, 250].as_slice(), &values, &[2, CONTEXT_USER, 0x40]];
        let (time_ns, sample) = read(sys::PERF_RECORD_MISC_USER, &words.concat(), layout).unwrap();
        assert_eq!((time_ns, sample.address, sample.pid, sample.tid), (99, 0x40, 1, 2));
        assert_eq!((sample.cpu, sample.period, sample.user_callers), (3, 250, vec![]));
        let trailer: Vec<u8> =
            [7_u64, 1 | 2 << 32, 99, 62, 3, 60].iter().flat_map(|w| w.to_ne_bytes()).collect();
        let split = |has_trailers| Layout { has_trailers, ..layout }.split_trailer(&trailer);
        let told = Trailer { ids: Some((1, 2)), time_ns: Some(99) };
        assert_eq!(split(true), Some((&trailer[..8], told)));
        assert_eq!(split(false), Some((&trailer[..], Trailer::default())));
        assert_eq!(Layout { has_trailers: true, ..layout }.split_trailer(&trailer[16..]), None);
    }
}
