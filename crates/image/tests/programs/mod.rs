//! Programs built for the tests, and the binutils as independent witnesses.
#![allow(dead_code, reason = "no test file uses all of it")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Inlining two deep, a static function, calls into the C library, and data.
const SOURCE: &str = r#"#include <stdio.h>
#include <stdlib.h>
static inline __attribute__((always_inline)) int innermost(int x) {
    return x * 7
        + 3;
}
static inline __attribute__((always_inline)) int middle(int x) {
    int y = innermost(x);
    return y ^ x;
}
static __attribute__((noipa)) int kernel(int *table, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += middle(table[i]);
    return sum;
}
__attribute__((noipa)) int first_name(int n) { return n + rand(); }
int __hidden_name(int n) __attribute__((alias("first_name")));
int main(int argc, char **argv) {
    int *table = calloc(100, sizeof *table);
    for (int i = 0; i < 100; i++)
        table[i] = first_name(i + argc);
    printf("%d\n", kernel(table, 100));
    free(table);
    return 0;
}
"#;

/// C++, in which many functions have the same last name.
pub const MANY: &str = include_str!("many.cpp");

/// Builds [`MANY`] with GCC in `directory` and returns its path.
pub fn build_many(directory: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let source = directory.join("many.cpp");
    std::fs::write(&source, MANY).unwrap();
    let program = directory.join(name);
    let files = ["-O2".as_ref(), source.as_os_str(), "-o".as_ref(), program.as_os_str()];
    run("g++", flags.iter().map(OsStr::new).chain(files));
    program
}

/// Builds the program in `directory` and returns its path.
pub fn build(directory: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let source = directory.join("program.c");
    std::fs::write(&source, SOURCE).unwrap();
    let program = directory.join(name);
    let mut arguments: Vec<&OsStr> = flags.iter().map(OsStr::new).collect();
    arguments.extend([source.as_os_str(), OsStr::new("-o"), program.as_os_str()]);
    run("cc", arguments);
    program
}

/// The system's debug file of a module with this build id, installed or not.
pub fn debug_file(build_id: &[u8]) -> PathBuf {
    let id: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
    let (first, rest) = id.split_at(id.len().min(2));
    PathBuf::from(format!("/usr/lib/debug/.build-id/{first}/{rest}.debug"))
}

/// What a tool prints.
pub fn run<A: AsRef<OsStr>>(tool: &str, arguments: impl IntoIterator<Item = A>) -> String {
    let output = Command::new(tool).args(arguments).output().unwrap_or_else(|e| panic!("{tool}: {e}"));
    assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A hexadecimal number, with or without `0x`.
pub fn hex(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// The C library that this test itself uses, or another file that every system has.
pub fn c_library() -> PathBuf {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let path = maps.split_whitespace().find(|word| word.contains("/libc.so"));
    PathBuf::from(path.expect("the test is linked dynamically"))
}
