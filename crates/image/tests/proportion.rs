//! Time stays in proportion to what is read, however it is made up.

use std::fs;
use std::path::Path;
use timewise_image::{Image, Symboliser, WrittenCode};

/// Sections, symbols, lines, moves: few enough for a moment each, too many to look at each of one kind for each of another.
const MANY: u64 = 60_000;

/// Seconds of CPU time that are enough for many times what such files need, and too few for [`MANY`] times [`MANY`] steps.
const ENOUGH: f64 = 2.0;

/// Does something in bounded time.
fn soon<T>(work: impl FnOnce() -> T) -> T {
    let before = cpu_seconds();
    let done = work();
    let taken = cpu_seconds() - before;
    assert!(taken < ENOUGH, "{taken} s");
    done
}

/// What this thread has used.
fn cpu_seconds() -> f64 {
    let account = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    account.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Two halves of a word.
fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// A program of [`MANY`] functions of one byte, behind as many code sections that are empty.
fn many_functions_and_sections() -> Vec<u8> {
    const CODE: u64 = 64 + 56;
    const SYMBOLS: u64 = CODE + MANY;
    const STRINGS: u64 = SYMBOLS + 24 * MANY;
    const SECTIONS: u64 = STRINGS + 8;
    const { assert!(MANY.is_multiple_of(8)) };
    let (load, readable_code, program_bits, allocated_code) = (1, 5, 1, 6);
    let section = |name_and_kind, flags, address, start, size, link, entry| {
        words(&[name_and_kind, flags, address, start, size, link, 1, entry])
    };
    let count = MANY as u16 + 4;
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0\x01\0\0\0".to_vec();
    file.extend(words(&[CODE, 64, SECTIONS]));
    file.extend([0, 0, 64, 56, 1, 64, count, count - 1].map(u16::to_le_bytes).concat());
    file.extend(words(&[pair(load, readable_code), 0, 0, 0, SYMBOLS, SYMBOLS, 4096]));
    file.resize(SYMBOLS as usize, 0xc3);
    // A global function of the name that begins at 1, in the last code section but for it.
    file.extend((0..MANY).flat_map(|at| words(&[pair(1, 0x12 | 1 << 16), CODE + at, 1])));
    file.extend(b"\0f\0\0\0\0\0\0");
    file.extend([0; 64]);
    file.extend((0..MANY).flat_map(|_| section(pair(0, program_bits), allocated_code, 16, 0, 0, 0, 0)));
    file.extend(section(pair(0, program_bits), allocated_code, CODE, CODE, MANY, 0, 0));
    file.extend(section(pair(0, 2), 0, 0, SYMBOLS, 24 * MANY, MANY + 3, 24));
    file.extend(section(pair(0, 3), 0, 0, STRINGS, 8, 0, 0));
    file
}

#[test]
fn functions_in_many_sections() {
    let image = Image::parse(Path::new("program"), many_functions_and_sections()).unwrap();
    let symboliser = Symboliser::new(image);
    let functions = soon(|| symboliser.functions());
    assert_eq!(functions.all().iter().filter(|function| function.symbol == "f").count() as u64, MANY);
}

/// A function of [`MANY`] lines that is moved as many times.
fn lines_and_moves() -> Vec<u8> {
    let record = |kind, body: &[u8]| [&words(&[pair(kind, 16 + body.len() as u32), 0])[..], body].concat();
    let line = |at| [&words(&[at, pair(at as u32, 0)])[..], b"f.js\0"].concat();
    let lines = (0..MANY).flat_map(|at| line(MANY + at));
    let mut file = words(&[pair(0x4a69_5444, 1), 40, 0, 0, 0]);
    file.extend(record(2, &words(&[MANY, MANY]).into_iter().chain(lines).collect::<Vec<_>>()));
    file.extend(record(0, &[&words(&[0, 0, MANY, MANY, 0])[..], b"f\0"].concat()));
    file.extend((1..=MANY).flat_map(|at| record(1, &words(&[0, 0, at * MANY, (at + 1) * MANY]))));
    file
}

#[test]
fn functions_with_many_lines_that_are_moved_often() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), lines_and_moves()).unwrap();
    let code = soon(|| WrittenCode::of_jitdump(file.path()).unwrap());
    let function = code.at((MANY + 1) * MANY).unwrap();
    assert_eq!((function.lines.len() as u64, function.lines[3].line), (MANY, MANY as u32 + 3));
}
