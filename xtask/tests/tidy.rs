//! The house is tidy. Because this test runs the built command, cargo builds that with what all tests use, and
//! `.ci/run` has it without another build.

use std::process::Command;

#[test]
fn the_house_is_tidy() {
    let said = Command::new(env!("CARGO_BIN_EXE_xtask")).arg("tidy").output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
}
