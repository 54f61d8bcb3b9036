//! Symbols and lines that are kept in other files than the code.

mod programs;

use programs::{build, debug_file, run};
use std::path::Path;
use timewise_image::Symboliser;

/// What the program with everything in it says of `kernel`: its bounds, its lines, its inlined calls.
fn knowledge(path: &Path) -> Vec<String> {
    let symboliser = Symboliser::open(path, &[]).unwrap();
    let kernel = symboliser.functions().all().iter().find(|f| f.symbol == "kernel").unwrap().clone();
    let rows = symboliser.lines_of(kernel.offset..kernel.end());
    let mut all = vec![format!("{kernel:?}"), format!("{rows:?}")];
    all.extend(rows.iter().map(|row| format!("{:?}", symboliser.frames(row.offsets.start))));
    assert!(all.len() > 4, "{all:?}");
    all
}

#[test]
fn a_debug_file_beside_the_program() {
    let directory = tempfile::tempdir().unwrap();
    let program = build(directory.path(), "program", &["-g", "-O2"]);
    let expected = knowledge(&program);
    let debug = directory.path().join("program.debug");
    run("objcopy", ["--only-keep-debug".as_ref(), program.as_os_str(), debug.as_os_str()]);
    run("strip", [program.as_os_str()]);
    let link = format!("--add-gnu-debuglink={}", debug.display());
    run("objcopy", [link.as_ref(), program.as_os_str()]);
    assert_eq!(knowledge(&program), expected);

    // One that was built from something else must not be believed.
    std::fs::OpenOptions::new().append(true).open(&debug).unwrap().set_len(5000).unwrap();
    let symboliser = Symboliser::open(&program, &[]).unwrap();
    assert!(symboliser.lines_of(0..u64::MAX).is_empty());
    assert!(symboliser.functions().all().iter().all(|f| f.symbol != "kernel"));
}

#[test]
fn units_left_in_their_object_files() {
    let directory = tempfile::tempdir().unwrap();
    let whole = knowledge(&build(directory.path(), "program", &["-g", "-O2"]));
    let split = knowledge(&build(directory.path(), "program", &["-g", "-O2", "-gsplit-dwarf"]));
    assert_eq!(split, whole);
}

#[test]
fn the_systems_debug_files_are_found_by_build_id() {
    let library = programs::c_library();
    let symboliser = Symboliser::open(&library, &[]).unwrap();
    let debug = debug_file(symboliser.image().build_id());
    assert_eq!(!symboliser.lines_of(0..u64::MAX).is_empty(), debug.exists());
}
