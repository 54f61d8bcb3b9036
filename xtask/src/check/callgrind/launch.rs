//! Launching a program under Valgrind's callgrind, and what it finds around it there and under our counting.

use super::dump::{self, Dump};
use super::programs::Program;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::{Command, Stdio};

/// Makes the C library choose the same routines and thresholds on Valgrind's processor, which is another
/// one and lacks AVX-512, as on the real one.
pub const TUNABLES: &str = "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512CD,-AVX512DQ,-ERMS,\
    -Fast_Unaligned_Load,-Fast_Unaligned_Copy,-Fast_Rep_String,-Prefer_ERMS,-Prefer_FSRM:\
    glibc.cpu.x86_data_cache_size=0x8000:glibc.cpu.x86_shared_cache_size=0x100000:\
    glibc.cpu.x86_non_temporal_threshold=0xc0000:glibc.cpu.x86_rep_movsb_threshold=0x1000:\
    glibc.cpu.x86_rep_stosb_threshold=0x1000:glibc.pthread.rseq=0";

/// Makes the later environments larger, and so the stack lie elsewhere, with as many variables and without
/// another size of allocation for them.
pub const PADDING: [&str; 3] = ["PADDING=1", "PADDING=12345678901234", "PADDING=123456789012345678901"];

/// The variables that a program finds under Valgrind, which adds its own: what reads the environment, as perl
/// and the dynamic loader do, would do other work without them.
pub fn environment_under_valgrind(program: &Program, padding: &str) -> Result<Vec<String>> {
    let mut prefix = environment(program, padding);
    prefix
        .extend(["valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=/dev/null"].map(str::to_string));
    let printer = Program { command: "env -0".to_string(), ..program.clone() };
    let printed = execute(&printer, &prefix)?;
    let printed = String::from_utf8(printed).context("a variable is not UTF-8")?;
    let mut prefix = vec!["-i".to_string()];
    let mut variables: Vec<String> = printed.split_terminator('\0').map(str::to_string).collect();
    if program.is_static {
        // The order that Rust's Command gives to the stepped program.
        variables.sort();
    }
    prefix.extend(variables);
    Ok(prefix)
}

/// What `env` is to set, and nothing else, in one of callgrind's runs.
fn environment(program: &Program, padding: &str) -> Vec<String> {
    let path = "PATH=/usr/local/bin:/usr/bin:/bin";
    // No locale is named: each of its categories would be compared with a name on the stack, in a way that
    // depends on where the stack lies.
    let fixed = ["-i", "TZ=UTC", "OUT=/tmp", TUNABLES, padding, path];
    let mut all = fixed.map(str::to_string).to_vec();
    all.extend(program.environment.iter().map(|(name, value)| format!("{name}={value}")));
    all
}

/// Runs the program under callgrind, with further options of callgrind's.
pub fn callgrind(program: &Program, scratch: &Path, padding: &str, more: &str) -> Result<Dump> {
    let size = padding.len();
    let [dump, log] = ["dump", "log"].map(|kind| scratch.join(format!("{}.{kind}{size}", program.name)));
    let mut prefix = environment(program, padding);
    let options = "valgrind -q --tool=callgrind --dump-instr=yes --compress-strings=no --compress-pos=no \
                   --run-libc-freeres=no --run-cxx-freeres=no --skip-plt=no --trace-symtab=yes";
    prefix.extend(options.split_whitespace().chain(more.split_whitespace()).map(str::to_string));
    prefix.push(format!("--callgrind-out-file={}", dump.display()));
    prefix.push(format!("--log-file={}", log.display()));
    if program.is_static {
        // The dump proper then holds what follows.
        prefix.push("--dump-before=main".to_string());
    }
    execute(program, &prefix)?;
    dump::read(&dump, &log)
}

/// Runs the program behind `prefix`, words for `env`; gives its standard output.
pub fn execute(program: &Program, prefix: &[String]) -> Result<Vec<u8>> {
    let script = format!("exec env \"$@\" {}", program.command);
    let mut command = Command::new("bash");
    command.args(["-c", &script, "check"]).args(prefix).current_dir(&program.folder);
    let done = command.stdin(Stdio::null()).output().context("bash")?;
    let errors = String::from_utf8_lossy(&done.stderr);
    ensure!(done.status.success(), "{}: {} under {}:\n{errors}", program.name, done.status, prefix.join(" "));
    Ok(done.stdout)
}
