//! Real binaries against the binutils: headers, functions, lines, code.

use crate::programs::{build, c_library, debug_file, hex, run};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use timewise_image::{Function, Headers, Image, Origin, Symboliser, frames_of};

fn binaries(directory: &Path) -> Vec<PathBuf> {
    vec![
        build(directory, "plain", &["-g", "-O2"]),
        build(directory, "fixed", &["-g", "-O1", "-no-pie", "-fcf-protection=full"]),
        build(directory, "static", &["-g", "-O2", "-static"]),
        build(directory, "stripped", &["-O2", "-s"]),
        std::env::current_exe().unwrap(),
        c_library(),
    ]
}

fn open(path: &Path) -> Symboliser {
    Symboliser::open(path, &[]).unwrap()
}

#[test]
fn headers_agree_with_readelf() {
    let directory = tempfile::tempdir().unwrap();
    for path in binaries(directory.path()) {
        let image = Image::open(&path).unwrap();
        let text = run("readelf", ["--wide", "--segments", "--notes", path.to_str().unwrap()]);
        let build_id: String = image.build_id().iter().map(|byte| format!("{byte:02x}")).collect();
        let expected = text.lines().find_map(|line| Some(line.split_once("Build ID: ")?.1.trim()));
        assert_eq!(build_id, expected.unwrap_or_default(), "{}", path.display());
        let code: Vec<Vec<u64>> = text
            .lines()
            .filter(|line| line.trim_start().starts_with("LOAD") && line.contains(" E "))
            .map(|line| line.split_whitespace().skip(1).take(5).map(hex).collect())
            .collect();
        assert!(!code.is_empty(), "{text}");
        for segment in code {
            let [file_offset, address, _, file_size, _] = segment[..] else { panic!("{text}") };
            let segments = image.segments();
            let headers = Headers::of_file(&path).unwrap();
            assert_eq!((&headers.segments, &headers.build_id[..]), (segments, image.build_id()));
            assert_eq!(headers.virtual_address(file_offset), address);
            assert_eq!(segments.offset_of_file_offset(file_offset), Some(address));
            assert_eq!(segments.offset_of_file_offset(file_offset + 77), Some(address + 77));
            assert_eq!(segments.file_offset_of(address + 77), Some(file_offset + 77));
            assert!(segments.executable().any(|range| range.contains(&(address + file_size - 1))));
            let bytes = std::fs::read(&path).unwrap();
            let start = file_offset as usize;
            assert_eq!(image.code(address..address + 99), bytes.get(start..start + 99));
            assert_eq!(image.code(address..u64::MAX), None);
        }
    }
}

#[test]
fn functions_agree_with_nm() {
    let directory = tempfile::tempdir().unwrap();
    for path in binaries(directory.path()) {
        let symboliser = open(&path);
        let functions = symboliser.functions();
        assert!(functions.all().windows(2).all(|pair| pair[0].end() <= pair[1].offset));
        assert!(functions.all().iter().all(|function| function.size > 0));
        // Names by address, of symbols that have a size.
        let mut expected: BTreeMap<u64, (u64, BTreeSet<String>)> = BTreeMap::new();
        let debug = debug_file(symboliser.image().build_id());
        let tables =
            [(None, Some(&path)), (Some("--dynamic"), Some(&path)), (None, debug.exists().then_some(&debug))];
        for (dynamic, file) in tables {
            let Some(file) = file else { continue };
            let options = ["--print-size", "--defined-only", file.to_str().unwrap()];
            for line in run("nm", dynamic.into_iter().chain(options)).lines() {
                let fields: Vec<&str> = line.split_whitespace().collect();
                let [address, size, kind, name] = fields[..] else { continue };
                if matches!(kind, "t" | "T" | "w" | "W" | "i") && hex(size) > 0 {
                    let (longest, names) = expected.entry(hex(address)).or_default();
                    *longest = hex(size).max(*longest);
                    names.insert(name.split('@').next().unwrap().to_string());
                }
            }
        }
        let mut inside = 0;
        for (&address, (size, names)) in &expected {
            let function = functions.at(address).unwrap_or_else(|| panic!("{address:#x} {names:?}"));
            if function.offset != address {
                // An entry point in the middle of a larger function.
                let outer = expected
                    .get(&function.offset)
                    .unwrap_or_else(|| panic!("{address:#x} {names:?} {function:?}"));
                assert!(function.offset + outer.0 >= address + size, "{address:#x} {names:?} {function:?}");
                inside += 1;
                continue;
            }
            assert!(names.contains(&function.symbol), "{address:#x} {names:?} {function:?}");
            assert!(function.size <= *size && function.origin == Origin::Symbol, "{function:?} {size}");
        }
        assert!(inside * 50 <= expected.len(), "{inside} of {} functions lie within others", expected.len());
    }
}

#[test]
fn stripped_functions_are_those_of_the_unwind_table() {
    let directory = tempfile::tempdir().unwrap();
    let path = build(directory.path(), "stripped", &["-O2", "-s", "-fcf-protection=none"]);
    let symboliser = open(&path);
    let text = run("readelf", ["--debug-dump=frames", path.to_str().unwrap()]);
    let stubs: Vec<u64> = stubs(&path).into_keys().collect();
    let mut seen = 0;
    for line in text.lines() {
        let Some((_, range)) = line.split_once("pc=") else { continue };
        let (start, end) = range.split_once("..").unwrap();
        let (start, end) = (hex(start), hex(end.trim()));
        // Descriptions of whole stub sections are told apart by what stands in them.
        if stubs.iter().any(|stub| (start..end).contains(stub)) {
            continue;
        }
        let (function, name) = symboliser.function(start).unwrap();
        assert_eq!((function.offset, function.end(), function.origin), (start, end, Origin::Unwind));
        assert_eq!(name, format!("stripped+{start:#x}"));
        seen += 1;
    }
    assert!(seen >= 3, "{text}");
}

/// Stubs by address, as `objdump` names them.
fn stubs(path: &Path) -> BTreeMap<u64, String> {
    let text = run("objdump", ["--disassemble", path.to_str().unwrap()]);
    let headings = text.lines().filter_map(|line| line.strip_suffix(">:")?.split_once(" <"));
    let named = headings.filter(|(_, name)| name.ends_with("@plt"));
    named.map(|(address, name)| (hex(address), name.to_string())).collect()
}

#[test]
fn stubs_agree_with_objdump() {
    let directory = tempfile::tempdir().unwrap();
    for path in binaries(directory.path()) {
        let symboliser = open(&path);
        let expected = stubs(&path);
        let mut named = 0;
        for (address, name) in &expected {
            // Stubs of functions without a dynamic symbol are called by their resolver's address there.
            if name.starts_with('*') {
                continue;
            }
            let (function, shown) = symboliser.function(*address).unwrap();
            assert_eq!((function.offset, function.origin), (*address, Origin::Linkage), "{name} {shown}");
            let bare = |name: &str| name.split('@').next().unwrap().to_string();
            assert_eq!(bare(&function.symbol), bare(name), "{}", path.display());
            named += 1;
        }
        let has_stubs = path.file_name().is_some_and(|name| name != "static" && name != "stripped");
        assert!(!has_stubs || named > 0 || expected.is_empty(), "{}", path.display());
    }
}

#[test]
fn lines_and_inlined_calls_agree_with_addr2line() {
    let directory = tempfile::tempdir().unwrap();
    for (name, version) in [("five", "-gdwarf-5"), ("four", "-gdwarf-4"), ("packed", "-gz=zlib")] {
        let path = build(directory.path(), name, &["-g", version, "-O2"]);
        let symboliser = open(&path);
        let functions = symboliser.functions().all().to_vec();
        let kernel = functions.iter().find(|f| f.symbol == "kernel").unwrap();
        let main = functions.iter().find(|f| f.symbol == "main").unwrap();
        let mut deepest = 0;
        for function in [kernel, main] {
            let rows = symboliser.lines_of(function.offset..function.end());
            for offset in instructions(&symboliser, function) {
                let frames = symboliser.frames(offset);
                let found: Vec<String> = frames
                    .iter()
                    .flat_map(|f| {
                        [f.function.as_deref().unwrap().to_string(), format!("program.c:{}", f.line)]
                    })
                    .collect();
                let arguments = ["-i", "-f", "-s", "-e", path.to_str().unwrap(), &format!("{offset:#x}")]
                    .map(String::from);
                let expected = run("addr2line", arguments);
                let expected: Vec<&str> =
                    expected.lines().map(|l| l.split(" (disc").next().unwrap()).collect();
                assert_eq!(found, expected, "{offset:#x}");
                deepest = deepest.max(frames.len());
                let row = rows.iter().find(|row| row.offsets.contains(&offset)).unwrap();
                assert_eq!((row.line, &row.file), (frames[0].line, &frames[0].file));
                assert!(row.file.as_ref().unwrap().ends_with("/program.c"));
            }
        }
        assert_eq!(deepest, 3, "innermost in middle in kernel");
    }
}

/// Where the instructions of a function begin.
fn instructions(symboliser: &Symboliser, function: &Function) -> Vec<u64> {
    let code = symboliser.image().code(function.offset..function.end()).unwrap();
    timewise_isa::walk(code, function.offset).map(|step| step.offset).collect()
}

#[test]
fn code_agrees_with_objdump() {
    let directory = tempfile::tempdir().unwrap();
    let path = build(directory.path(), "plain", &["-O2"]);
    let symboliser = open(&path);
    let text = run("objdump", ["-d", "-M", "intel", "--no-show-raw-insn", path.to_str().unwrap()]);
    let mut lines = text.lines().skip_while(|line| !line.ends_with("<main>:")).skip(1);
    let main = symboliser.functions().all().iter().find(|f| f.symbol == "main").unwrap();
    let code = symboliser.image().code(main.offset..main.end()).unwrap();
    let mut calls = Vec::new();
    for offset in instructions(&symboliser, main) {
        let line = lines.next().unwrap();
        let (address, shown) = line.trim().split_once(':').unwrap();
        assert_eq!(offset, hex(address), "{line}");
        let name = |target| symboliser.function(target).map(|(_, name)| name);
        let text = timewise_isa::text(&code[(offset - main.offset) as usize..], offset, &name);
        let mnemonic = |text: &str| text.split_whitespace().next().unwrap().to_string();
        assert_eq!(mnemonic(&text), mnemonic(shown), "{line}");
        calls.extend(text.strip_prefix("call ").map(str::to_string));
    }
    for name in ["calloc@plt", "first_name", "kernel", "free@plt"] {
        assert!(calls.iter().any(|call| call == name), "{name} in {calls:?}");
    }
}

#[test]
fn of_two_names_the_plainer_is_shown() {
    let directory = tempfile::tempdir().unwrap();
    let symboliser = open(&build(directory.path(), "plain", &["-O2"]));
    let named = |name: &str| symboliser.functions().all().iter().any(|f| f.symbol == name);
    assert!(named("first_name") && !named("__hidden_name"));
}

#[test]
fn the_vdso_has_names() {
    let symboliser = Symboliser::vdso().unwrap();
    let clock = symboliser.functions().all().iter().find(|f| f.symbol.contains("clock_gettime"));
    let clock = clock.expect("the kernel's clock function");
    assert!(symboliser.image().code(clock.offset..clock.end()).is_some());
    assert!(symboliser.lines_of(0..u64::MAX).is_empty());
}

/// Shared among threads, they come out as they do one by one.
#[test]
fn many_offsets_are_found_at_once() {
    let symboliser = open(&std::env::current_exe().unwrap());
    let offsets: Vec<u64> =
        symboliser.functions().all().iter().flat_map(|f| [f.offset, f.end() - 1]).take(10_000).collect();
    assert!(offsets.len() > 9000);
    let one_by_one: Vec<_> = offsets.iter().map(|&offset| symboliser.frames(offset)).collect();
    assert!(one_by_one.iter().filter(|frames| frames.len() > 1).count() > 100);
    assert_eq!(frames_of(&symboliser, &offsets), one_by_one);
}
