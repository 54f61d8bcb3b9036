//! Symbols and lines that are kept in other files than the code.

use crate::programs::{build, c_library, debug_file, run};
use std::fs;
use std::path::Path;
use timewise_image::{Frame, Symboliser, frames_of};

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
    fs::OpenOptions::new().append(true).open(&debug).unwrap().set_len(5000).unwrap();
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
fn a_package_of_units_is_opened_once_for_all_of_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let units = ["main", "second", "third"];
    for unit in units {
        fs::write(path(&format!("{unit}.c")), format!("int {unit}(void) {{\n    return 3;\n}}\n")).unwrap();
        let (source, object) = (path(&format!("{unit}.c")), path(&format!("{unit}.o")));
        let files = [source.as_os_str(), "-o".as_ref(), object.as_os_str()];
        // Binutils' packager does not know version 5.
        run("cc", ["-g", "-gdwarf-4", "-gsplit-dwarf", "-c"].map(AsRef::as_ref).into_iter().chain(files));
    }
    let program = path("program");
    let objects = units.map(|unit| path(&format!("{unit}.o")).into_os_string());
    run("cc", objects.into_iter().chain(["-o".into(), program.clone().into()]));
    run("dwp", ["-e".as_ref(), program.as_os_str()]);
    units.iter().for_each(|unit| fs::remove_file(path(&format!("{unit}.dwo"))).unwrap());

    let symboliser = Symboliser::open(&program, &[]).unwrap();
    let offset = |unit: &str| {
        symboliser.functions().all().iter().find(|function| function.symbol == unit).unwrap().offset
    };
    let name = |frames: &[Frame]| frames[0].function.as_ref().map(ToString::to_string);
    assert_eq!(name(&symboliser.frames(offset("main"))).as_deref(), Some("main"));
    // What is known of the others is known from before.
    fs::remove_file(path("program.dwp")).unwrap();
    assert_eq!(name(&symboliser.frames(offset("second"))).as_deref(), Some("second"));
    // By several threads.
    let many = frames_of(&symboliser, &vec![offset("third"); 20_000]);
    assert!(many.iter().all(|frames| name(frames).as_deref() == Some("third")));
}

#[test]
fn the_systems_debug_files_are_found_by_build_id() {
    let library = c_library();
    let symboliser = Symboliser::open(&library, &[]).unwrap();
    let debug = debug_file(symboliser.image().build_id());
    assert_eq!(!symboliser.lines_of(0..u64::MAX).is_empty(), debug.exists());
}
