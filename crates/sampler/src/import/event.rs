//! What a record of the kernel means, whatever its event asked the kernel to put into it.

use super::ImportError;
use super::attribute::{Attribute, Attributes};
use super::file::BuildIds;
use crate::kernel_record;
use crate::layout::{FIXED_FIELDS, TRAILER_FIELDS};
use crate::record::{Record, Stamped};
use timewise_profile::CallStackMethod;
use timewise_target::perf::{Fields, FileIdentity, RawMapping, sys};

/// The event that measures time, and what it measures.
#[derive(Clone, Debug)]
pub struct Clock {
    /// Its name, with the modes that it is limited to.
    pub name: String,
    /// Whether it counts cycles; else nanoseconds.
    pub counts_cycles: bool,
    /// `precise_ip`.
    pub precise_level: u8,
    /// How the callers of its samples were found, if they were looked for.
    pub call_stacks: Option<CallStackMethod>,
    attribute: usize,
    /// Samples a second, or else amount between two samples.
    rate: Rate,
    others: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
enum Rate {
    Frequency(u64),
    Period(u64),
}

impl Clock {
    /// The first event of `attributes` that measures time.
    fn of(attributes: &[Attribute]) -> Result<Clock, ImportError> {
        let measures = |attribute: &Attribute| match (attribute.kind, attribute.config as u32) {
            (sys::PERF_TYPE_HARDWARE, sys::PERF_COUNT_HW_CPU_CYCLES) => Some(true),
            (sys::PERF_TYPE_SOFTWARE, sys::PERF_COUNT_SW_CPU_CLOCK | sys::PERF_COUNT_SW_TASK_CLOCK) => {
                Some(false)
            }
            _ => None,
        };
        let real = attributes.iter().enumerate().filter(|(_, attribute)| !attribute.is_dummy());
        let (found, others): (Vec<_>, Vec<_>) =
            real.partition(|(_, attribute)| measures(attribute).is_some());
        let names = |list: &[(usize, &Attribute)]| -> Vec<String> {
            list.iter().map(|(_, attribute)| attribute.full_name()).collect()
        };
        let Some((&(at, attribute), more)) = found.split_first() else {
            return Err(ImportError::NotTime(names(&others).join(", ")));
        };
        Ok(Clock {
            name: attribute.full_name(),
            counts_cycles: measures(attribute) == Some(true),
            // Whatever was asked for: perf asks for the most of every clock, and the kernel's own ones have none.
            precise_level: if measures(attribute) == Some(true) { attribute.precise_level() } else { 0 },
            call_stacks: attribute.call_stacks(),
            attribute: at,
            rate: match attribute.is_frequency() {
                true => Rate::Frequency(attribute.period),
                false => Rate::Period(attribute.period),
            },
            others: [names(more), names(&others)].concat(),
        })
    }

    /// Samples a second that were asked for, where cycles pass at `core_hz`.
    pub fn frequency_hz(&self, core_hz: f64) -> u32 {
        match self.rate {
            Rate::Frequency(hz) => u32::try_from(hz).unwrap_or(u32::MAX),
            Rate::Period(0) => 0,
            Rate::Period(cycles) if self.counts_cycles => (core_hz / cycles as f64) as u32,
            Rate::Period(ns) => (1e9 / ns as f64) as u32,
        }
    }

    /// The events that were recorded beside it, in words.
    pub fn others(&self) -> Option<String> {
        (!self.others.is_empty()).then(|| self.others.join(", "))
    }
}

/// The events of a file, and how to read their records.
pub struct Events {
    attributes: Attributes,
    clock: Clock,
    /// The time of the last record that had one.
    last_ns: u64,
}

impl Events {
    /// From what the file says of them.
    ///
    /// # Errors
    /// [`ImportError::NotTime`] if none measures time.
    pub fn new(attributes: Attributes) -> Result<Events, ImportError> {
        let clock = Clock::of(attributes.all())?;
        Ok(Events { attributes, clock, last_ns: 0 })
    }

    /// The event whose samples count.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Reads a record; `None` if it tells us nothing.
    pub fn read(&mut self, number: u32, misc: u16, body: &[u8], build_ids: &BuildIds) -> Option<Stamped> {
        let sample = number == sys::PERF_RECORD_SAMPLE;
        let at = self.attribute_of(body, sample)?;
        let attribute = &self.attributes.all()[at];
        if sample {
            if at != self.clock.attribute {
                return None;
            }
            let (time_ns, mut sample) = attribute.layout.read_sample(misc, body)?;
            if !attribute.layout.has(sys::PERF_SAMPLE_PERIOD) {
                sample.period = attribute.period;
            }
            self.last_ns = time_ns;
            return Some(Stamped { time_ns, record: Record::Sample(sample) });
        }
        // While another recording asks for build ids, some kernels mark ours as if they had them.
        let mark = sys::PERF_RECORD_MISC_MMAP_BUILD_ID as u16;
        let false_mark = number == sys::PERF_RECORD_MMAP2 && !attribute.has_build_ids();
        let misc = if false_mark { misc & !mark } else { misc };
        let (body, trailer) = attribute.layout.split_trailer(body)?;
        self.last_ns = trailer.time_ns.unwrap_or(self.last_ns);
        let record = read_other(number, misc, body, build_ids)?;
        Some(Stamped { time_ns: self.last_ns, record })
    }

    /// The event that a record belongs to.
    fn attribute_of(&self, body: &[u8], sample: bool) -> Option<usize> {
        let attributes = self.attributes.all();
        let layout = attributes.first()?.layout;
        if attributes.len() == 1 {
            return Some(0);
        }
        let words = body.len() / 8;
        let position =
            match (sample, layout.has(sys::PERF_SAMPLE_IDENTIFIER), layout.has(sys::PERF_SAMPLE_ID)) {
                (true, true, _) => 0,
                (false, true, _) => words.checked_sub(1)?,
                (true, false, true) => layout.before(&FIXED_FIELDS, sys::PERF_SAMPLE_ID),
                (false, false, true) => {
                    let all = layout.count(&TRAILER_FIELDS);
                    words.checked_sub(all)? + layout.before(&TRAILER_FIELDS, sys::PERF_SAMPLE_ID)
                }
                (_, false, false) => return Some(0),
            };
        let id = Fields(body.get(8 * position..)?).u64()?;
        // What `perf` makes up itself has id 0.
        Some(self.attributes.position_of(id).unwrap_or(0))
    }
}

fn read_other(number: u32, misc: u16, body: &[u8], build_ids: &BuildIds) -> Option<Record> {
    let mut record = match number {
        sys::PERF_RECORD_MMAP => Record::Mapping(read_old_mapping(Fields(body))?),
        _ => kernel_record::read_other(number, misc, Fields(body))?,
    };
    if let Record::Mapping(mapping) = &mut record {
        let mode = u32::from(misc) & sys::PERF_RECORD_MISC_CPUMODE_MASK;
        let data = u32::from(misc) & sys::PERF_RECORD_MISC_MMAP_DATA != 0;
        if data || mode != sys::PERF_RECORD_MISC_USER {
            return None;
        }
        if let Some(build_id) = build_ids.get(&mapping.path) {
            mapping.identity = FileIdentity::BuildId(build_id.clone());
        }
    }
    Some(record)
}

/// The older form, which does not say which file it was.
fn read_old_mapping(mut fields: Fields) -> Option<RawMapping> {
    let (pid, _) = (fields.u32()?, fields.u32()?);
    let (address, length, file_offset) = (fields.u64()?, fields.u64()?, fields.u64()?);
    let identity = FileIdentity::Inode { device: 0, inode: 0 };
    Some(RawMapping { pid, address, length, file_offset, identity, path: fields.text().to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `perf record` asks for the most precise clock, whatever there is.
    #[test]
    fn clocks_of_the_kernel_are_never_precise() {
        const MOST_PRECISE: u64 = 3 << 15;
        let clock = |kind: u32, config: u64| {
            let words = [u64::from(kind), config, 4000, 0, 0, MOST_PRECISE];
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            Clock::of(&[Attribute::read(&bytes).unwrap()]).unwrap().precise_level
        };
        assert_eq!(clock(sys::PERF_TYPE_SOFTWARE, sys::PERF_COUNT_SW_CPU_CLOCK.into()), 0);
        assert_eq!(clock(sys::PERF_TYPE_HARDWARE, sys::PERF_COUNT_HW_CPU_CYCLES.into()), 3);
    }
}
