//! Hand-written assembler, whose symbols do not say which of them are functions.

use crate::programs::run;
use std::path::Path;
use timewise_image::Symboliser;

/// A loop in a loop, which calls a function that no other file knows.
const LOOPS: &str = "
start:
    mov $1000, %edx
l2: mov $1000, %ecx
l1: dec %ecx
    jnz l1
    call helper
    dec %edx
    jnz l2
    mov $60, %eax
    xor %edi, %edi
    syscall
helper:
    cmp $3, %edx
    je l3
    nop
l3: ret
";

/// The named functions of a program made of `source`, with their ends, in order.
fn functions(directory: &Path, source: &str) -> Vec<(String, u64)> {
    let file = directory.join("source.s");
    let program = directory.join("program");
    std::fs::write(&file, source).unwrap();
    let options = ["-nostdlib", "-static", "-Wl,-Ttext=0x1000", "-o"].map(str::as_ref);
    run("cc", options.into_iter().chain([program.as_os_str(), file.as_os_str()]));
    let symboliser = Symboliser::open(&program, &[]).unwrap();
    let all = symboliser.functions().all().iter();
    all.filter(|f| !f.symbol.is_empty()).map(|f| (f.symbol.clone(), f.end())).collect()
}

fn of_loops(before: &str, after: &str) -> Vec<(String, u64)> {
    let directory = tempfile::tempdir().unwrap();
    let loops = LOOPS.replace("start:", "_start:");
    functions(directory.path(), &format!(".globl _start\n{before}\n{loops}\n{after}\n"))
}

fn named(functions: &[(&str, u64)]) -> Vec<(String, u64)> {
    functions.iter().map(|&(name, end)| (name.to_string(), end)).collect()
}

#[test]
fn loops_stay_in_their_function() {
    assert_eq!(of_loops("", ""), named(&[("_start", 0x1020), ("helper", 0x1027)]));
}

#[test]
fn types_and_frames_count_more_than_labels() {
    // Nothing of the last leads behind its return.
    let typed = of_loops(".type _start, @function", ".type after, @function\nafter: ret\nlabel: ret");
    let expected = [("_start", 0x1020), ("helper", 0x1027), ("after", 0x1028), ("label", 0x1029)];
    assert_eq!(typed, named(&expected));
    // All of it is one frame, which ends in front of a label that nothing refers to.
    let described = of_loops(".cfi_startproc", ".cfi_endproc\nbehind: ret");
    assert_eq!(described, named(&[("_start", 0x1027), ("behind", 0x1028)]));
}

/// As assemblers write them that are told of no types: called through a table, with loops of their own.
#[test]
fn what_code_does_not_reach_begins_another_function() {
    let directory = tempfile::tempdir().unwrap();
    let source = ".globl _start
        _start: call *table(%rip)
            ret
        one: dec %ecx
        round: jnz one
            je out
            ret
        out: nop
            ret
        two: nop
            ret
        .data
        table: .quad one, two\n";
    let found = functions(directory.path(), source);
    assert_eq!(found, named(&[("_start", 0x1007), ("one", 0x1010), ("two", 0x1012)]));
}

#[test]
fn exported_labels_are_functions() {
    let two = of_loops(".globl l2", "");
    assert_eq!(two, named(&[("_start", 0x1005), ("l2", 0x1020), ("helper", 0x1027)]));
}

#[test]
fn code_that_exports_nothing_is_one_function_from_its_first_label() {
    let directory = tempfile::tempdir().unwrap();
    let source = ".globl _start\n.type _start, @function\n_start: jmp start\n.size _start, . - _start\n";
    let found = functions(directory.path(), &format!("{source}{LOOPS}"));
    assert_eq!(found, named(&[("_start", 0x1002), ("start", 0x1022), ("helper", 0x1029)]));
}

/// Data that comes before code is one object with it for some compilers, and rows of lines may begin with it.
#[test]
fn objects_in_code_are_functions_and_rows_that_begin_before_one_end_where_they_say() {
    let directory = tempfile::tempdir().unwrap();
    let source = ".file 1 \"a.c\"\n.globl _start\n.loc 1 3\n.quad 0\n.type _start, @object\n_start: nop\nnop\n\
         .loc 1 7\nnop\nret\n.size _start, . - _start\n.loc 1 9\n";
    std::fs::write(directory.path().join("source.s"), source).unwrap();
    let program = directory.path().join("program");
    let source = directory.path().join("source.s");
    let options = ["-nostdlib", "-static", "-Wl,-Ttext=0x1000", "-o"].map(str::as_ref);
    run("cc", options.into_iter().chain([program.as_os_str(), source.as_os_str()]));
    let symboliser = Symboliser::open(&program, &[]).unwrap();
    let start = symboliser.functions().at(0x1008).unwrap().clone();
    assert_eq!((start.symbol.as_str(), start.offset, start.size), ("_start", 0x1008, 4));
    let lines: Vec<_> = symboliser
        .lines_of(start.offset..start.end())
        .into_iter()
        .map(|row| (row.offsets, row.line))
        .collect();
    assert_eq!(lines, [(0x1008..0x100a, 3), (0x100a..0x100c, 7)]);
}

#[test]
fn an_object_ends_where_a_function_begins() {
    let directory = tempfile::tempdir().unwrap();
    let source = ".globl _start\n.type table, @object\ntable: .quad 0\n.size table, 64\n.type _start, @function\n\
         _start: nop\nret\n.size _start, . - _start\n";
    assert_eq!(functions(directory.path(), source), named(&[("table", 0x1008), ("_start", 0x100a)]));
}
