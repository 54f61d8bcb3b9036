//! Results are the same on one thread or many, however the trace is cut; nothing that is sampled goes
//! astray; and errors come out in the order that the policies' faults imply.

use timewise_attribution::comparison::Findings;
use timewise_attribution::technique::Blame;
use timewise_attribution::{Comparison, Parts, Profiler, Schedule, Technique, Units};
use timewise_trace::{Doctor, Entry, Flags, Observer, Psv, Record, Recorder, Room, WIDTH, Worker};

/// A core of the simplest kind that has all that policies tell apart: it executes a loop of 40 instructions, of
/// which some wait, miss, flush or raise exceptions, by a fixed rule with something of chance in it.
fn trace(instructions: u64) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    let mut push = |record: Record| {
        let cycle = records.last().map_or(0, Record::end);
        records.push(Record { cycle, ..record });
    };
    let mut oldest = 0_u64;
    while oldest < instructions {
        let chance = (oldest.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u32;
        let mut record = Record { oldest, repeat: 1, in_flight: 100, waiting: 20, ..Record::default() };
        record.valid = 4;
        for (age, entry) in record.entries.iter_mut().take(4).enumerate() {
            *entry =
                Entry { instruction: (oldest as u32 + age as u32) % 40, age: age as u8, ..Entry::default() };
        }
        if record.entries[0].instruction == 7 {
            // A load that waits, now and then for long.
            record.entries[0].events =
                if chance.is_multiple_of(4) { Psv::ST_L1 | Psv::ST_LLC } else { Psv::ST_L1 };
            push(Record { repeat: if chance.is_multiple_of(4) { 90 } else { 6 }, ..record });
        }
        if record.entries[0].instruction == 7 && chance % 16 == 1 {
            let mut exception = record;
            exception.entries[0].flags = Flags::EXCEPTION;
            exception.entries[0].events |= Psv::FL_EX;
            push(exception);
            push(Record { oldest, repeat: 30, ..Record::default() });
        }
        // Commits end with instruction 6, so that 7 is first, and with 30, a branch.
        let stop = record.entries[..4].iter().position(|entry| [6, 30].contains(&entry.instruction));
        record.committing = stop.map_or(1 + chance as u8 % 4, |last| last as u8 + 1);
        let last = usize::from(record.committing) - 1;
        let is_mispredicted = record.entries[last].instruction == 30 && chance.is_multiple_of(3);
        if is_mispredicted {
            record.entries[last].flags = Flags::MISPREDICTED;
            record.entries[last].events = Psv::FL_MB;
        }
        push(record);
        oldest += u64::from(record.committing);
        if is_mispredicted {
            push(Record { oldest, repeat: 9, ..Record::default() });
        }
    }
    assert!(records.iter().all(|record| record.check() == Ok(())) && WIDTH >= 4);
    records
}

/// Every figure of a comparison.
fn figures(findings: &Findings) -> Vec<(String, f64, f64)> {
    let blocks = Units::Table((0..40).map(|instruction| instruction / 8).collect());
    let units = [Units::Instructions, blocks, Units::Whole];
    let errors = units.iter().flat_map(|units| {
        Technique::all().map(move |technique| {
            let errors = findings.errors(technique, units);
            (technique.name.to_owned(), errors.total, errors.systematic)
        })
    });
    errors.collect()
}

#[test]
fn threads_and_buffers_change_nothing() {
    let trace = trace(30_000);
    let compare = || Comparison::new(Schedule::random(50, 1));
    let mut here = compare();
    here.take(&trace);
    let here = here.findings();
    assert!(figures(&here).iter().any(|(_, total, _)| *total > 0.1));
    for (workers, buffers, items) in [(1, 2, 1), (3, 3, 77), (2, 8, 2048)] {
        let mut doctor = Doctor::new(Room { buffers, items });
        let seats: Vec<_> = (0..workers).map(|_| doctor.attach(compare())).collect();
        let mut recorder = Recorder::new(doctor);
        trace.chunks(50).for_each(|records| recorder.observe(records));
        recorder.finish();
        for seat in seats {
            assert_eq!(seat.join().findings(), here);
        }
    }
}

#[test]
fn repeated_records_are_the_same_cycles() {
    let trace = trace(5_000);
    let single = trace.iter().flat_map(|record| {
        (0..record.repeat).map(|later| Record {
            cycle: record.cycle + u64::from(later),
            repeat: 1,
            ..*record
        })
    });
    let (mut whole, mut cut) =
        (Comparison::new(Schedule::periodic(7)), Comparison::new(Schedule::periodic(7)));
    whole.take(&trace);
    cut.take(&single.collect::<Vec<_>>());
    assert_eq!(whole.findings(), cut.findings());
}

#[test]
fn the_reference_has_every_cycle() {
    let mut trace = trace(5_000);
    let last = trace.iter().rposition(|record| record.committing > 0).unwrap();
    trace.truncate(last + 1);
    let mut oracle = Profiler::oracle();
    oracle.take(&trace);
    assert_eq!(oracle.stacks().total(), Parts::cycles(trace[last].end()));
}

#[test]
fn every_sample_is_someones() {
    let mut comparison = Comparison::new(Schedule::periodic(11));
    comparison.take(&trace(20_000));
    let findings = comparison.findings();
    let samples = Parts::cycles(findings.samples);
    for blame in Blame::ALL {
        let found = findings.found(blame).stacks.total();
        // What waits at the end is lost: a few samples, of instructions that are in flight.
        assert!(
            found <= samples && samples.saturating_sub(found).of(samples) < 0.01,
            "{blame:?}: {found} of {samples}"
        );
    }
}

#[test]
fn errors_are_those_of_the_policies() {
    let mut comparison = Comparison::new(Schedule::random(10, 1));
    comparison.take(&trace(100_000));
    let findings = comparison.findings();
    let error = |name: &str| {
        let technique = Technique::all().find(|technique| technique.name == name).unwrap();
        findings.errors(technique, &Units::Instructions)
    };
    let order = ["TIP", "TIP-ILP", "NCI", "NCI+ILP", "LCI"].map(|name| error(name).total);
    assert!(order.is_sorted() && order[0] < 0.02 && order[4] > 0.5, "{order:?}");
    assert_eq!((error("TIP").systematic, error("TEA").systematic), (0.0, 0.0));
    assert!(error("TEA").total < error("NCI-TEA").total && error("NCI-TEA").total < error("IBS").total);
    let whole = findings.errors(Technique::WHERE[6], &Units::Whole).total;
    assert!(whole < 0.01, "a whole program's cycles are its own, whoever is blamed: {whole}");
}
