//! Files of `perf` that are made up. Those with more ids of events than large machines have: which event a record is of,
//! and how an event is called, takes no longer for that. Those whose samples stand for more time than there can be.

use std::fs;
use std::path::Path;
use timewise_sampler::import::perf_data;

/// Ids of an event, and samples.
const MANY: u64 = 40_000;

/// Seconds of CPU time that are enough for many times what such files need, and too few for [`MANY`] times [`MANY`] steps.
const ENOUGH: f64 = 2.0;

const HEADER: u64 = 104;

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Two halves of a word.
fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Where something of this length stands that is added to a file.
fn added(file: &mut Vec<u8>, bytes: &[u8]) -> [u64; 2] {
    let section = [file.len() as u64, bytes.len() as u64];
    file.extend(bytes);
    section
}

/// Page faults and time, each with [`MANY`] ids, the last of which all samples have, each of which stands for so much.
/// The name of the second event is told with none of the ids but its last.
fn recording(period: u64) -> Vec<u8> {
    const SAMPLE: u32 = 9;
    let (identifier, address_thread_time) = (1 << 16, 7);
    let attribute =
        |event| words(&[pair(1, 64), event, period, identifier | address_thread_time, 0, 1 << 10, 0, 0]);
    let (page_faults, cpu_clock) = (attribute(2), attribute(0));
    let mut file = vec![0; HEADER as usize];
    let mut ids = |first: u64| added(&mut file, &words(&(first..first + MANY).collect::<Vec<_>>()));
    let of_ids = [ids(1), ids(MANY + 1)].map(|section| words(&section));
    let [of_faults, of_clock] = of_ids;
    let events = added(&mut file, &[&page_faults, &of_faults[..], &cpu_clock, &of_clock].concat());
    let sample = |at| words(&[pair(SAMPLE, 2 | 40 << 16), 2 * MANY, 0x1000, pair(1, 1), 1_000_000 + at]);
    let data = added(&mut file, &(0..MANY).flat_map(sample).collect::<Vec<_>>());
    let others = (0..MANY).map(|at| u64::MAX - at).chain([2 * MANY]).collect::<Vec<_>>();
    let name =
        [&(MANY as u32 + 1).to_le_bytes()[..], &8_u32.to_le_bytes(), b"ticking\0", &words(&others)].concat();
    let names = [&words(&[pair(1, 64)])[..], &cpu_clock, &name].concat();
    let table = file.len() + 16;
    file.extend(words(&[table as u64, names.len() as u64]));
    file.extend(names);
    let header = [
        &b"PERFILE2"[..],
        &words(&[HEADER, 64 + 16]),
        &words(&events),
        &words(&data),
        &words(&[0, 0, 1 << 12, 0, 0, 0]),
    ];
    file[..HEADER as usize].copy_from_slice(&header.concat());
    file
}

/// What this thread has used.
fn cpu_seconds() -> f64 {
    let account = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    account.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

#[test]
fn events_with_many_ids_are_told_apart_soon() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("many-ids");
    fs::write(&file, recording(4000)).unwrap();
    let before = cpu_seconds();
    let profile = perf_data(&file, 1000).unwrap();
    let taken = cpu_seconds() - before;
    assert_eq!(profile.runs[0].clock.as_ref().unwrap().event, "ticking");
    assert_eq!(profile.runs[0].warnings.iter().filter(|warning| warning.contains("event 1/0x2")).count(), 1);
    assert!(!profile.samples.is_empty());
    assert!(taken < ENOUGH, "{taken} s");
}

#[test]
fn more_time_than_there_can_be_is_refused() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("long-samples");
    for period in [(1 << 61) / MANY + 1, u64::MAX] {
        fs::write(&file, recording(period)).unwrap();
        let error = perf_data(&file, 1000).unwrap_err().to_string();
        assert!(error.contains("more than any program can"), "{error}");
    }
}
