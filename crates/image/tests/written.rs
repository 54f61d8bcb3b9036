//! Jitdumps and perf maps, whole and damaged.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::RngSeed;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use timewise_image::WrittenCode;

fn record(kind: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = kind.to_ne_bytes().to_vec();
    bytes.extend((16 + body.len() as u32).to_ne_bytes());
    bytes.extend(7_u64.to_ne_bytes());
    bytes.extend(body);
    bytes
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// Two functions, one with lines; the other moves.
fn jitdump() -> Vec<u8> {
    let mut bytes = [0x4a69_5444_u32, 1, 40, 62, 0, 1234].map(u32::to_ne_bytes).concat();
    bytes.extend(words(&[99, 0]));
    let entry = |address, line: u32, file: &[u8]| {
        [&words(&[address])[..], &line.to_ne_bytes(), &[0; 4], file, &[0]].concat()
    };
    let lines =
        [&words(&[0x1000, 2])[..], &entry(0x1000, 3, b"a.js"), &entry(0x1008, 4, b"\xff"), &[0; 3]].concat();
    let load = |address, name: &[u8]| [&words(&[0, 0, address, 16, 1])[..], name, &[0; 17]].concat();
    bytes.extend(record(2, &lines));
    bytes.extend(record(0, &load(0x1000, b"first")));
    bytes.extend(record(4, &[0; 24]));
    bytes.extend(record(0, &load(0x2000, b"second")));
    bytes.extend(record(1, &words(&[0, 0, 0x2000, 0x3000, 16, 2])));
    bytes
}

fn file(directory: &Path, bytes: &[u8]) -> PathBuf {
    let path = directory.join("jit-1.dump");
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn a_jitdump_names_code_and_lines() {
    let directory = tempfile::tempdir().unwrap();
    let code = WrittenCode::of_jitdump(&file(directory.path(), &jitdump())).unwrap();
    let first = code.at(0x100f).unwrap();
    assert_eq!((&first.name[..], first.addresses.clone()), ("first", 0x1000..0x1010));
    let lines: Vec<_> = first.lines.iter().map(|line| (line.offset, &line.file[..], line.line)).collect();
    assert_eq!(lines, [(0, "a.js", 3), (8, "a.js", 4)]);
    assert_eq!(code.at(0x3001).unwrap().name, "second");
    assert_eq!(code.at(0x2000), None);
}

#[test]
fn what_is_no_jitdump_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let foreign = WrittenCode::of_jitdump(&file(directory.path(), b"text, and not a short one")).unwrap_err();
    assert_eq!(foreign.kind(), ErrorKind::InvalidData);
    assert!(WrittenCode::of_jitdump(&file(directory.path(), b"")).is_err());
    assert!(WrittenCode::of_jitdump(directory.path()).is_err());
    assert!(WrittenCode::of_perf_map(Path::new("/dev/zero")).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn damaged_dumps(
        changes in vec((any::<Index>(), prop_oneof![any::<u8>(), select(vec![0, 1, 0x7f, 0x80, 0xff])]), 0..8),
        cut in any::<Index>(),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let mut bytes = jitdump();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        let _read = WrittenCode::of_jitdump(&file(directory.path(), &bytes));
    }

    #[test]
    fn any_perf_map(
        lines in vec(prop_oneof![vec(any::<u8>(), 0..40), "[0-9a-f]{1,17} [0-9a-f]{1,17} .{0,20}\n".prop_map(String::into_bytes)], 0..20)
    ) {
        let directory = tempfile::tempdir().unwrap();
        let code = WrittenCode::of_perf_map(&file(directory.path(), &lines.concat())).unwrap();
        code.at(0x1000);
    }
}
