//! `cargo xtask check accesses`: streamed instructions and the memory that they access, in order, equal those
//! of a run that is stepped instruction by instruction, whose addresses are computed from its registers.

use super::singlestep::{ENVIRONMENT, compile};
use super::stepper::{ptrace, registers, start, wait};
use crate::counter::build_example;
use crate::folder::Folder;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use timewise_isa::memory::{Access, Extent, Segment, accesses};

/// What to check.
#[derive(Args)]
pub struct Options {
    /// Instructions of each kernel to compare
    #[arg(long, default_value_t = 400_000)]
    instructions: u64,
}

/// A kernel of `suite/kernels`, with arguments that keep it small, and how it is built.
const KERNELS: [(&str, &[&str], &[&str]); 3] = [
    ("mcf", &["20", "2", "2"], &[]),
    ("lbm", &["4", "1"], &["-static"]),
    ("triad", &["1", "1"], &["-static-pie"]),
];

/// Instructions before each window, of each, and windows: the first is as long as asked for.
const WINDOWS: [(u64, u64, u64); 3] = [(0, 0, 1), (1003, 777, 100), (5, 1, 500)];

/// Prints a row for each kernel and kind of windows.
///
/// # Errors
/// At the first instruction that differs.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let streams = build_example(root, "streams")?;
    let scratch = Folder::of(root, "accesses")?;
    super::fix_addresses()?;
    println!(
        "{:10} {:>8} {:>8} {:>8} {:>13} {:>10}",
        "kernel", "skipped", "length", "windows", "instructions", "accesses"
    );
    for (name, arguments, flags) in KERNELS {
        let program = scratch.join(name);
        compile(&root.join("suite/kernels").join(format!("{name}.c")), &program, flags)?;
        for (skip, length, windows) in WINDOWS {
            let length = if length == 0 { options.instructions } else { length };
            let list = scratch.join("list");
            let mut streaming = Command::new(&streams);
            for (option, number) in [("--skip", skip), ("--length", length), ("--windows", windows)] {
                streaming.args([option, &number.to_string()]);
            }
            streaming.arg("--list").arg(&list).arg(scratch.join("report")).arg(&program);
            let prepare = |command: &mut Command| -> Result<()> {
                // The C library looks at what its output goes to.
                let output = File::create(scratch.join("output")).context("the output's file")?;
                command.args(arguments).env_clear().envs(ENVIRONMENT).stdin(Stdio::null()).stdout(output);
                Ok(())
            };
            prepare(&mut streaming)?;
            ensure!(streaming.status()?.success(), "{name} under streaming");
            let mut stepped = Command::new(&program);
            prepare(&mut stepped)?;
            let (instructions, accesses) =
                compare(&mut stepped, &list).with_context(|| format!("{name} {skip} {length}"))?;
            ensure!(instructions >= length.min(10_000), "{name}: only {instructions} instructions");
            println!("{name:10} {skip:8} {length:8} {windows:8} {instructions:13} {accesses:10}");
        }
    }
    Ok(())
}

/// Steps a program as far as the list goes: instructions and accesses that were the same.
fn compare(command: &mut Command, list: &Path) -> Result<(u64, u64)> {
    let mut child = start(command)?;
    let compared = Steps::new(child.id() as libc::pid_t).and_then(|steps| steps.compare(list));
    // It may have ended by itself.
    let _ = child.kill();
    let _ = child.wait();
    compared
}

struct Steps {
    thread: libc::pid_t,
    memory: File,
    known: HashMap<u64, Vec<Access>>,
    /// Instructions that were executed.
    executed: u64,
    has_ended: bool,
}

impl Steps {
    fn new(thread: libc::pid_t) -> Result<Steps> {
        wait(thread)?;
        let memory =
            File::open(format!("/proc/{thread}/mem")).context("the memory of the stepped program")?;
        Ok(Steps { thread, memory, known: HashMap::new(), executed: 0, has_ended: false })
    }

    fn compare(mut self, list: &Path) -> Result<(u64, u64)> {
        let (mut instructions, mut accesses) = (0, 0);
        for line in BufReader::new(File::open(list)?).lines() {
            let line = line?;
            if let Some(begins) = line.strip_prefix("begin ") {
                let begins: u64 = begins.parse()?;
                while self.executed < begins {
                    self.step()?;
                }
                ensure!(
                    self.executed == begins,
                    "a window begins at {begins}, before where the former one ended"
                );
                continue;
            }
            let stepped = self.step()?;
            if stepped != line {
                bail!("instruction {}: streamed `{line}`, stepped `{stepped}`", self.executed);
            }
            instructions += 1;
            accesses += (line.split(' ').count() as u64 - 1) / 3;
        }
        Ok((instructions, accesses))
    }

    /// Executes one instruction, with all its repetitions: what the list has of it.
    fn step(&mut self) -> Result<String> {
        ensure!(!self.has_ended, "the stepped program ended after {} instructions", self.executed);
        let before = registers(self.thread)?;
        if !self.known.contains_key(&before.rip) {
            let mut code = [0; timewise_isa::MAX_LENGTH];
            let length =
                self.memory.read_at(&mut code, before.rip).context("the code of the stepped program")?;
            self.known.insert(before.rip, accesses(&code[..length], before.rip).to_vec());
        }
        let known = &self.known[&before.rip];
        let repeats = known.iter().any(|access| access.extent == Extent::Repeated);
        let mut after = before;
        while after.rip == before.rip {
            ptrace(libc::PTRACE_SINGLESTEP, self.thread, 0).context("PTRACE_SINGLESTEP")?;
            let (_, status) = wait(self.thread)?;
            if !libc::WIFSTOPPED(status) {
                // By its last system call, which was executed like any other instruction.
                self.has_ended = true;
                break;
            }
            after = registers(self.thread)?;
            if !repeats {
                break;
            }
        }
        self.executed += 1;
        let mut line = format!("{:x}", before.rip);
        for access in known {
            let (address, size) = place(access, &before, &after);
            let kind = match (access.reads, access.writes) {
                (true, true) => 'M',
                (true, false) => 'R',
                (false, true) => 'W',
                (false, false) => 'P',
            };
            if size > 0 || access.extent != Extent::Repeated {
                line += &format!(" {kind} {address:x} {size}");
            }
        }
        Ok(line)
    }
}

/// The lowest address of an access and its bytes, by the registers before and after it.
fn place(access: &Access, before: &libc::user_regs_struct, after: &libc::user_regs_struct) -> (u64, u64) {
    let size = u64::from(access.size);
    let of = |register: Option<u8>, registers| register.map_or(0, |number| general(registers, number));
    if access.extent == Extent::Repeated {
        let [from, to] = [of(access.base, before), of(access.base, after)];
        return (if to >= from { from } else { to + size }, to.abs_diff(from));
    }
    let segment = match access.segment {
        Segment::Flat => 0,
        Segment::Fs => before.fs_base,
        Segment::Gs => before.gs_base,
    };
    let index = access.index.map_or(0, |(number, scale)| general(before, number) << scale);
    let sum = of(access.base, before).wrapping_add(index).wrapping_add(access.displacement);
    let sum = if access.narrow { sum & 0xffff_ffff } else { sum };
    (segment.wrapping_add(sum), size)
}

/// A general register by its number in the encoding.
fn general(r: &libc::user_regs_struct, number: u8) -> u64 {
    let all = [
        r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi, r.r8, r.r9, r.r10, r.r11, r.r12, r.r13,
        r.r14, r.r15,
    ];
    all[usize::from(number & 15)]
}
