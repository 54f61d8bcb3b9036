//! Putting a plan into the shared file.

use super::Instrumentation;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use timewise_abi::GRANULE;
use timewise_abi::paths::{Op, Plan, Record, Site, kind, name, op};
use timewise_image::Headers;
use timewise_profile::{ModuleId, ModuleKind};

/// Bytes behind all counters that a register which makes no sense may reach.
const SLACK: u64 = 8 << 16;

/// Bytes for the calls of a thread that keep a register: half a million.
const WAITING: u64 = 8 << 20;

/// Of a thread area, the bytes that a plan needs: for counters, and for calls.
pub fn room(instrumentation: &Instrumentation) -> [u64; 2] {
    [(u64::from(instrumentation.size) + SLACK).next_multiple_of(GRANULE), WAITING]
}

/// A plan on its way into the shared file.
pub struct Laid {
    /// The plan, with what it names behind it, for an offset of its own.
    pub bytes: Vec<u8>,
    /// Where in a thread area its counters lie.
    pub counters: Range<u64>,
    /// Where the tables lie among them.
    pub tables: Vec<u32>,
}

/// Makes the bytes of a plan that is to stand at an offset of the shared file, with counters at a place of thread
/// areas. What is in files that cannot be read, or that were replaced since, is left out.
pub fn lay_down(instrumentation: &Instrumentation, offset: u64, counters: u64) -> Laid {
    let [size, _] = room(instrumentation);
    let mut files = HashMap::new();
    let mut records: Vec<Record> = Vec::with_capacity(instrumentation.places.len());
    for planned in &instrumentation.places {
        let file = files.entry(planned.module).or_insert_with(|| file(instrumentation, planned.module));
        let Some((file, headers)) = file else { continue };
        let start = |offset: u64| headers.segments.file_offset_of(offset);
        let end = |offset: u64| start(offset.wrapping_sub(1)).map(|last| last + 1);
        let is_end = matches!(planned.kind, kind::WITHIN | kind::EXIT | kind::CALL | kind::KNOWN);
        let from = if is_end { end(planned.from) } else { start(planned.from) };
        let to = if planned.kind == kind::WITHIN { start(planned.to) } else { Some(0) };
        let (Some(from), Some(to)) = (from, to) else { continue };
        records.push(Record {
            kind: planned.kind,
            file: *file,
            from,
            to,
            first: planned.first,
            count: planned.count,
            site: planned.site,
            reserved: 0,
        });
    }
    records.sort_unstable();
    let has_counter = |op: &Op| !matches!(op.kind, op::SET | op::ADD);
    let placed = |op: &Op| Op { place: op.place + if has_counter(op) { counters as u32 } else { 0 }, ..*op };
    let ops: Vec<Op> = instrumentation.ops.iter().map(placed).collect();
    let mut bytes = vec![0; size_of::<Plan>()];
    let mut plan = Plan { counters, waiting: counters + size, ..Plan::default() };
    plan.records = append(&mut bytes, offset, &records);
    plan.ops = append(&mut bytes, offset, &ops);
    plan.sites = append(&mut bytes, offset, &instrumentation.sites);
    bytes[..size_of::<Plan>()].copy_from_slice(&plan.bytes());
    let tables = instrumentation.tables.clone();
    Laid { bytes, counters: counters..counters + size, tables }
}

/// A module's name and headers, if it is a file.
fn file(instrumentation: &Instrumentation, module: ModuleId) -> Option<(u64, Headers)> {
    let module = instrumentation.modules.get(module.index())?;
    let path = std::path::Path::new(OsStr::from_bytes(&module.path));
    let headers = (module.kind == ModuleKind::File).then(|| Headers::of_file(path))??;
    (headers.build_id == module.build_id).then(|| (name(&module.path), headers))
}

/// The plan, or something of which it holds many.
trait Item: Copy {
    /// Its bytes, as the runtime reads them.
    fn bytes(&self) -> Vec<u8>;
}

impl Item for Plan {
    fn bytes(&self) -> Vec<u8> {
        let Plan { records, ops, sites, counters, waiting } = *self;
        words(&[records, ops, sites, [counters, waiting]].concat())
    }
}

impl Item for Record {
    fn bytes(&self) -> Vec<u8> {
        let Record { kind, file, from, to, first, count, site, reserved } = *self;
        [words(&[kind, file, from, to]), halves(&[first, count, site, reserved])].concat()
    }
}

impl Item for Op {
    fn bytes(&self) -> Vec<u8> {
        halves(&[self.kind, self.place, self.value as u32, self.limit])
    }
}

impl Item for Site {
    fn bytes(&self) -> Vec<u8> {
        halves(&[self.first, self.count, self.function, self.reserved])
    }
}

fn words(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn halves(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Appends items to bytes that are to stand at an offset: where they will stand, and how many there are.
fn append<T: Item>(bytes: &mut Vec<u8>, offset: u64, items: &[T]) -> [u64; 2] {
    let at = offset + bytes.len() as u64;
    items.iter().for_each(|item| bytes.extend(item.bytes()));
    [at, items.len() as u64]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_laid_down_as_they_lie_in_memory() {
        let record = Record { kind: 1, file: 2, from: 3, to: 4, first: 5, count: 6, site: 7, reserved: 0 };
        let op = Op { kind: 1, place: 2, value: -3, limit: 4 };
        let site = Site { first: 1, count: 2, function: 3, reserved: 0 };
        let [record, op, site] = [record.bytes(), op.bytes(), site.bytes()];
        assert_eq!(record.len(), size_of::<Record>());
        assert_eq!(record[32..36], 5_u32.to_le_bytes());
        assert_eq!((op.len(), site.len()), (size_of::<Op>(), size_of::<Site>()));
        assert_eq!(op[8..12], (-3_i32).to_le_bytes());
        let plan = Plan { records: [1, 2], ops: [3, 4], sites: [5, 6], counters: 7, waiting: 8 };
        let numbers: Vec<u8> = (1..9_u64).flat_map(u64::to_le_bytes).collect();
        assert_eq!((plan.bytes().len(), plan.bytes()), (size_of::<Plan>(), numbers));
    }
}
