//! Records of processors with other numbers.

use crate::loops::{ADD, Loop};
use timewise_core_model::Processor;

/// The numbers of a record, each with its field and its place in the text; one of each name in each section.
fn numbers(record: &str) -> Vec<(&str, std::ops::Range<usize>)> {
    let (mut section, mut seen, mut start) = ("", std::collections::BTreeSet::new(), 0);
    let mut found = Vec::new();
    for line in record.split_inclusive('\n') {
        let said = line.split('#').next().unwrap_or_default();
        if said.starts_with('[') {
            section = said;
        }
        for (at, _) in said.match_indices(" = ") {
            let (before, number) = (&said[..at], &said[at + 3..]);
            let length = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
            let name = before.rsplit([' ', '{']).next().unwrap_or_default();
            if length > 0 && seen.insert((section, name)) {
                found.push((name, start + at + 3..start + at + 3 + length));
            }
        }
        start += line.len();
    }
    found
}

#[test]
fn any_number_makes_a_core_or_is_refused_by_its_name() {
    // A load, a store and a division for an addition each.
    let body: [&[u8]; 6] = [ADD, &[0x48, 0x8b, 0x0e], ADD, &[0x48, 0x89, 0x0f], ADD, &[0x48, 0xf7, 0xf3]];
    for core in timewise_core_model::names() {
        let path = format!("{}/processors/{core}.toml", env!("CARGO_MANIFEST_DIR"));
        let record = std::fs::read_to_string(path).unwrap();
        let numbers = numbers(&record);
        assert!(numbers.len() > 60, "{core} has {}", numbers.len());
        for (name, place) in numbers {
            for number in [0, 1, u32::MAX] {
                let mut changed = record.clone();
                changed.replace_range(place.clone(), &number.to_string());
                match Processor::parse(&changed) {
                    Ok(processor) => {
                        let run = Loop { body: &body, unroll: 4 };
                        let totals = run.totals(&processor, 40, &mut |n| n * 264);
                        assert_eq!(totals.instructions, 1000, "{core}: {name} = {number}");
                    }
                    Err(error) => {
                        let said = error.to_string();
                        assert!(
                            said.contains(name) && !said.contains('\n'),
                            "{core}: {name} = {number}: {said}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn records_show_each_instruction_commit_whatever_the_width() {
    // Comparisons with branches to the next instruction, which are fused, and additions.
    let (compare, branch): (&[u8], &[u8]) = (&[0x48, 0x39, 0xd8], &[0x74, 0x00]);
    let body = [ADD, compare, branch, compare, branch];
    for core in timewise_core_model::names() {
        let mut processor = Processor::named(core).unwrap();
        for width in [1, 2, 4, 6, 7, 8] {
            processor.commit.width = width;
            let run = Loop { body: &body, unroll: 4 };
            let totals = run.totals(&processor, 50, &mut |n| n * 64);
            assert_eq!(totals.instructions, 50 * 21, "{core}, {width}");
            assert!(totals.cycles >= totals.instructions / u64::from(width), "{core}, {width}: {totals:?}");
        }
    }
}

#[test]
fn numbers_that_make_no_core_are_refused() {
    let path = format!("{}/processors/raptor-cove.toml", env!("CARGO_MANIFEST_DIR"));
    let record = std::fs::read_to_string(path).unwrap();
    let refused = |from: &str, to: &str| {
        let changed = record.replacen(from, to, 1);
        assert_ne!(changed, record, "{from}");
        Processor::parse(&changed).expect_err(to).to_string()
    };
    assert_eq!(refused("table_bits = 11", "table_bits = 40"), "branches.tage.table_bits is 40: give 1 to 20");
    assert_eq!(refused("longest = 400", "longest = 3"), "branches.tage.longest is 3: give 4 to 4095");
    assert_eq!(
        refused("windows = 512", "windows = 511"),
        "op_cache.windows is 511: give a multiple of the ways, 8"
    );
    assert_eq!(refused("page = 4096", "page = 5000"), "translation.page is 5000: give a power of two");
    assert_eq!(
        refused("\"stride\", distance = 8", "\"stride\", distance = 8, below = 3"),
        "memory.data.prefetch.below needs degree"
    );
    assert_eq!(
        refused("line_cycles = 12", "line_cycles = nan"),
        "memory.line_cycles is NaN: give 0 to 100000"
    );
}
