//! Files that are gone, changed, foreign, cut short or corrupt: one clear error or less detail, never a
//! panic.

mod programs;

use object::{Object, ObjectSection};
use programs::{build, build_many};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::RngSeed;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;
use timewise_image::{Image, ImageError, Registers, Symboliser, UnwindTable};

#[test]
fn each_error_says_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("script"), "#!/bin/sh\n").unwrap();
    fs::write(path("text"), "hello").unwrap();
    fs::write(path("windows"), b"MZ\x90\0\x03").unwrap();
    fs::write(path("empty"), "").unwrap();
    fs::write(path("cut"), &program()[..50]).unwrap();
    fs::write(path("short"), &program()[..program().len() / 2]).unwrap();
    let mut small = program().to_vec();
    small[4] = 1;
    fs::write(path("small"), &small).unwrap();
    let mut arm = program().to_vec();
    arm[18] = 183;
    fs::write(path("arm"), &arm).unwrap();
    let message = |name: &str| {
        let message = Image::open(&path(name)).unwrap_err().to_string();
        assert!(!message.contains('\n'));
        message.replace(directory.path().to_str().unwrap(), "")
    };
    assert_eq!(message("script"), "'/script' is a script, not a 64-bit x86 ELF file");
    assert_eq!(message("windows"), "'/windows' is a Windows program or library, not a 64-bit x86 ELF file");
    assert_eq!(message("text"), "'/text' is of another kind, not a 64-bit x86 ELF file");
    assert_eq!(message("empty"), "'/empty' is an empty file, not a 64-bit x86 ELF file");
    assert_eq!(message("small"), "'/small' is a 32-bit program, not a 64-bit x86 ELF file");
    assert_eq!(message("arm"), "'/arm' is for another processor, not a 64-bit x86 ELF file");
    assert!(message("cut").starts_with("'/cut' is damaged or cut short: "), "{}", message("cut"));
    assert!(message("short").starts_with("'/short' is damaged or cut short: "), "{}", message("short"));
    assert!(message("gone").starts_with("'/gone' was deleted after it ran"));
    assert!(message("").contains("not a regular file"));
}

#[test]
fn another_build_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let first = build(directory.path(), "program", &["-O2", "-Wl,--build-id"]);
    let build_id = Image::open(&first).unwrap().build_id().to_vec();
    Symboliser::open(&first, &build_id).unwrap();
    build(directory.path(), "program", &["-O1", "-Wl,--build-id"]);
    let error = Symboliser::open(&first, &build_id).unwrap_err();
    assert!(matches!(error, ImageError::Changed { .. }), "{error}");
}

/// A small program with all that is read: symbols, stubs, unwind tables, lines.
fn program() -> &'static [u8] {
    &programs()[0]
}

/// The same with packed debug sections, and without any; one in C++.
fn programs() -> &'static [Vec<u8>] {
    static PROGRAMS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    PROGRAMS.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let flags = [&["-g", "-O2"][..], &["-g", "-O2", "-gz=zlib"], &["-O2", "-s"]];
        let built = |flags: &[&str]| fs::read(build(directory.path(), "program", flags)).unwrap();
        let mut all: Vec<_> = flags.into_iter().map(built).collect();
        all.push(fs::read(build_many(directory.path(), "many", &["-g"])).unwrap());
        all
    })
}

/// Kilobytes of memory enough for any answer about a program of some kilobytes: what takes more takes
/// whatever a damaged file asks for.
const ENOUGH: u64 = 512 << 10;

/// The most memory that this process has ever had, in kilobytes.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Asks everything that can be asked.
fn exhaust(data: Vec<u8>) {
    let Ok(image) = Image::parse(Path::new("program"), data) else { return };
    let executable: Vec<_> = image.segments().executable().collect();
    for segment in &executable {
        image.segments().offset_of_file_offset(segment.start);
    }
    unwind(&image);
    let symboliser = Symboliser::new(image);
    let functions = symboliser.functions();
    for pair in functions.all().windows(2) {
        assert!(pair[0].size > 0 && pair[0].end() <= pair[1].offset);
    }
    for function in functions.all().iter().take(200) {
        let range = function.offset..function.end().min(function.offset.saturating_add(100));
        symboliser.function(function.offset);
        symboliser.in_source(function.offset);
        for row in symboliser.lines_of(range.clone()) {
            symboliser.frames(row.offsets.start);
        }
        symboliser.image().code(range);
    }
    assert!(peak_memory() < ENOUGH, "{} kilobytes", peak_memory());
}

/// Looks up and follows rules, as if each word of the stack held its own address.
fn unwind(image: &Image) {
    let Some(mut table) = UnwindTable::of(image) else { return };
    let starts: Vec<u64> = image.segments().executable().map(|range| range.start).collect();
    for offset in starts.iter().flat_map(|start| (0..4096).step_by(13).map(move |at| start.wrapping_add(at)))
    {
        let mut registers = Registers::new(offset, [0x7000; 16]);
        for _ in 0..4 {
            let Some(rule) = table.rule(registers.ip) else { break };
            let Ok(caller) = rule.follow(&registers, Some) else { break };
            registers = caller;
            registers.ip = offset;
        }
    }
}

/// Where one of a program's sections lies in the file, each as likely as any other.
fn a_section(program: &[u8], choice: Index) -> Range<usize> {
    let file = object::File::parse(program).unwrap();
    let all: Vec<_> = file.sections().filter_map(|section| section.file_range()).collect();
    let (start, size) = all[choice.index(all.len())];
    start as usize..(start + size) as usize
}

/// Any byte, and those that make numbers large or end lists more often than by chance.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![any::<u8>(), select(vec![0, 1, 0x7f, 0x80, 0xff])]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn cut_short(length in 0..program().len()) {
        exhaust(program()[..length].to_vec());
    }

    #[test]
    fn corrupt_anywhere(of in 0..4usize, changes in vec((any::<Index>(), byte()), 1..40)) {
        let mut data = programs()[of].clone();
        for (at, byte) in changes {
            let at = at.index(data.len());
            data[at] = byte;
        }
        exhaust(data);
    }

    #[test]
    fn corrupt_section(of in 0..4usize, choice: Index, changes in vec((any::<Index>(), byte()), 1..8)) {
        let mut data = programs()[of].clone();
        let section = a_section(&data, choice);
        for (at, byte) in changes {
            data[section.start + at.index(section.len())] = byte;
        }
        exhaust(data);
    }

    #[test]
    fn corrupt_headers(
        of in 0..4usize, changes in vec((0..1024usize, byte()), 1..6), from_end in any::<bool>()
    ) {
        let mut data = programs()[of].clone();
        for (at, byte) in changes {
            let at = if from_end { data.len() - 1 - at } else { at };
            data[at] = byte;
        }
        exhaust(data);
    }

    #[test]
    fn noise(data in vec(any::<u8>(), 0..2000)) {
        let mut with_magic = b"\x7fELF\x02\x01\x01".to_vec();
        with_magic.extend(data);
        exhaust(with_magic);
    }
}
