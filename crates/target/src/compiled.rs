//! Programs in C that tests run.

use crate::launch::{Launch, Running};
use std::io::PipeWriter;
use std::process::Command;

/// Such a program, which runs, and where to write what it reads.
pub fn running(code: &str) -> (Running, PipeWriter) {
    let folder = tempfile::tempdir().unwrap();
    let [source, program] = ["program.c", "program"].map(|name| folder.path().join(name));
    std::fs::write(&source, code).unwrap();
    let built = Command::new("cc").arg("-pthread").arg(&source).arg("-o").arg(&program).status().unwrap();
    assert!(built.success());
    let (input, end) = std::io::pipe().unwrap();
    let mut launch = Launch::new(&program);
    launch.stdin = input.into();
    (launch.stopped().unwrap().release().unwrap(), end)
}
