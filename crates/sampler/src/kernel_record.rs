//! Records of performance events: the kernel's bytes to values. Reads what concerns us and nothing else; a
//! malformed record is `None`, never a panic.

use crate::layout::Layout;
use crate::record::{Record, Stamped};
use timewise_target::perf::{Fields, RawMapping, RawRecord, records, sys};

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
        let (time_ns, sample) = layout.read_sample(misc, body)?;
        return Some(Stamped { time_ns, record: Record::Sample(sample) });
    }
    let (body, trailer) = layout.split_trailer(body)?;
    let record = match kind {
        sys::PERF_RECORD_SWITCH => read_switch(misc, trailer.ids?),
        _ => read_other(kind, misc, Fields(body))?,
    };
    Some(Stamped { time_ns: trailer.time_ns?, record })
}

/// The record itself is empty: whom it is about, the kernel appends.
fn read_switch(misc: u16, (pid, tid): (u32, u32)) -> Record {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{SAMPLE_FIELDS, USER_REGISTERS};

    fn record(kind: u32, misc: u16, words: &[u64]) -> Vec<u8> {
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend(misc.to_ne_bytes());
        bytes.extend((8 + 8 * words.len() as u16).to_ne_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    fn with(parts: u32) -> Layout {
        let sample_type = SAMPLE_FIELDS | u64::from(parts);
        Layout { sample_type, user_registers: USER_REGISTERS, has_trailers: true, ..Layout::default() }
    }

    fn all(bytes: &[u8]) -> Vec<Stamped> {
        let mut all = Vec::new();
        read_all(bytes, with(sys::PERF_SAMPLE_CALLCHAIN), |stamped| all.push(stamped));
        all
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
            let (chain, stack) =
                (sys::PERF_SAMPLE_CALLCHAIN, sys::PERF_SAMPLE_REGS_USER | sys::PERF_SAMPLE_STACK_USER);
            for parts in [0, chain, stack, chain | stack, sys::PERF_SAMPLE_READ] {
                let mut told = 0;
                let layout = Layout { read_format: random(), ..with(parts) };
                read_all(&bytes, layout, |_| told += 1);
                assert!(told <= bytes.len() / 8);
            }
        }
    }
}
