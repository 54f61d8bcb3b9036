//! The oracle that needs no theory: a program run one instruction at a time by `ptrace`, all its threads
//! included, each address counted. About 200,000 instructions a second.

use super::segments::{Place, Places};
use anyhow::{Context, Result, bail, ensure};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// How often an instruction was stepped over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// Steps: for an instruction that repeats by a prefix, its iterations.
    pub all: i64,
    /// Those that came from another instruction.
    pub arrivals: i64,
}

/// Runs a command to its end, or until a thread reaches the address `until`, which then is not executed and
/// the program is killed. It must use no signals.
///
/// # Errors
/// If it cannot be traced, gets a signal, or fails.
pub fn run(command: &mut Command, until: Option<u64>) -> Result<BTreeMap<Place, Steps>> {
    let mut stepper = Stepper::new(start(command)?)?;
    let stepped = stepper.follow(until);
    if stepped.is_err() {
        // It may be gone already.
        let _ = stepper.child.kill();
    }
    stepped?;
    stepper.places()
}

/// Starts a program that stops before its first instruction, for the calling thread to trace.
///
/// # Errors
/// If it cannot be started.
pub fn start(command: &mut Command) -> Result<Child> {
    // SAFETY: plain system calls, allowed between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        });
    }
    command.spawn().context("start a program to be stepped")
}

struct Stepper {
    child: Child,
    leader: libc::pid_t,
    steps: HashMap<u64, Steps>,
    /// Where each thread stood before its latest step.
    before: HashMap<libc::pid_t, u64>,
    /// Threads that announced themselves by their first stop.
    begun: HashSet<libc::pid_t>,
    maps: String,
}

impl Stepper {
    fn new(child: Child) -> Result<Stepper> {
        let leader = child.id() as libc::pid_t;
        let (_, status) = wait(leader)?;
        ensure!(libc::WIFSTOPPED(status), "ended before its first instruction");
        let options = libc::PTRACE_O_TRACECLONE | libc::PTRACE_O_TRACEEXIT | libc::PTRACE_O_EXITKILL;
        ptrace(libc::PTRACE_SETOPTIONS, leader, options as usize).context("PTRACE_SETOPTIONS")?;
        let begun = HashSet::from([leader]);
        Ok(Stepper {
            child,
            leader,
            steps: HashMap::new(),
            before: HashMap::new(),
            begun,
            maps: String::new(),
        })
    }

    fn follow(&mut self, until: Option<u64>) -> Result<()> {
        if self.step(self.leader, until)? {
            return self.stop();
        }
        loop {
            let (thread, status) = wait(-1)?;
            if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
                if thread != self.leader {
                    continue;
                }
                ensure!(status == 0, "the stepped program failed, wait status {status:#x}");
                return Ok(());
            }
            match (libc::WSTOPSIG(status), status >> 16) {
                (libc::SIGTRAP, libc::PTRACE_EVENT_EXIT) => {
                    self.remember_maps()?;
                    // Whoever dies at once with the others is no longer there to be continued.
                    let _ = ptrace(libc::PTRACE_CONT, thread, 0);
                    continue;
                }
                // The parent of a new thread, which is in the middle of its system call.
                (libc::SIGTRAP, libc::PTRACE_EVENT_CLONE) => {
                    ptrace(libc::PTRACE_SINGLESTEP, thread, 0).context("PTRACE_SINGLESTEP")?;
                    continue;
                }
                (libc::SIGTRAP, 0) => {}
                (libc::SIGSTOP, _) if self.begun.insert(thread) => {}
                (signal, _) => bail!("the stepped program got signal {signal}"),
            }
            if self.step(thread, until)? {
                return self.stop();
            }
        }
    }

    /// Counts the instruction that a thread is about to execute, and lets it; true if it is the last wanted.
    fn step(&mut self, thread: libc::pid_t, until: Option<u64>) -> Result<bool> {
        let at = program_counter(thread)?;
        if until == Some(at) {
            return Ok(true);
        }
        let steps = self.steps.entry(at).or_default();
        steps.all += 1;
        steps.arrivals += i64::from(self.before.insert(thread, at) != Some(at));
        // A thread that another one's exit_group has killed is gone; its instruction was never executed.
        if let Err(error) = ptrace(libc::PTRACE_SINGLESTEP, thread, 0) {
            ensure!(error.raw_os_error() == Some(libc::ESRCH), "PTRACE_SINGLESTEP: {error}");
            steps.all -= 1;
        }
        Ok(false)
    }

    fn stop(&mut self) -> Result<()> {
        self.remember_maps()?;
        self.child.kill().context("kill the stepped program")?;
        self.child.wait().context("wait for the stepped program")?;
        Ok(())
    }

    fn remember_maps(&mut self) -> Result<()> {
        let path = format!("/proc/{}/maps", self.leader);
        let maps = std::fs::read_to_string(&path).context(path)?;
        if !maps.is_empty() {
            self.maps = maps;
        }
        Ok(())
    }

    /// Steps by module and link-time address; what has no file is left out.
    fn places(&self) -> Result<BTreeMap<Place, Steps>> {
        let mut places = Places::default();
        let mut all: BTreeMap<Place, Steps> = BTreeMap::new();
        let mapped: Vec<(u64, u64, u64, &str)> = self.maps.lines().filter_map(parse).collect();
        for (&address, steps) in &self.steps {
            let within = mapped.iter().find(|(start, end, ..)| (*start..*end).contains(&address));
            if let Some((start, _, offset, path)) = within {
                let sum = all.entry(places.of(path, address - start + offset)?).or_default();
                sum.all += steps.all;
                sum.arrivals += steps.arrivals;
            }
        }
        Ok(all)
    }
}

/// Start, end, offset in the file and path of a line of `/proc/PID/maps`, if it is of a file.
fn parse(line: &str) -> Option<(u64, u64, u64, &str)> {
    let mut fields = line.split_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let offset = fields.nth(1)?;
    let path = fields.nth(2).filter(|path| path.starts_with('/'))?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some((number(start)?, number(end)?, number(offset)?, path))
}

/// Waits for a traced process: which, and its status.
///
/// # Errors
/// If there is none.
pub fn wait(pid: libc::pid_t) -> Result<(libc::pid_t, libc::c_int)> {
    let mut status = 0;
    // SAFETY: the result goes to a live local.
    let thread = unsafe { libc::waitpid(pid, &mut status, libc::__WALL) };
    ensure!(thread > 0, "wait for the stepped program: {}", io::Error::last_os_error());
    Ok((thread, status))
}

/// Makes a request that passes no memory.
///
/// # Errors
/// The system's.
pub fn ptrace(request: libc::c_uint, thread: libc::pid_t, data: usize) -> io::Result<()> {
    // SAFETY: the requests used here (continue, step, set options) pass no memory.
    match unsafe { libc::ptrace(request, thread, 0usize, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

fn program_counter(thread: libc::pid_t) -> Result<u64> {
    Ok(registers(thread)?.rip)
}

/// The registers of a stopped thread.
///
/// # Errors
/// If it is not stopped.
pub fn registers(thread: libc::pid_t) -> Result<libc::user_regs_struct> {
    // SAFETY: all zeroes are a valid value of this plain structure.
    let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes into a live local of the type that it expects.
    let read = unsafe { libc::ptrace(libc::PTRACE_GETREGS, thread, 0usize, &raw mut registers) };
    ensure!(read == 0, "PTRACE_GETREGS: {}", io::Error::last_os_error());
    Ok(registers)
}
