//! Profiles written by hand in a small text form, for tests.
//!
//! One fact a line; `#` begins a comment:
//!
//! ```text
//! function main at 0x1000 size 0x100 file a.c line 3
//! block A at 0x1000 runs 1 code 31c0 90      # one group of hexadecimal bytes an instruction
//! block B runs 10                            # without code: a `nop`, 16 bytes after the last block
//! edge A -> B fallthrough 1                  # `-` on either side for outside
//! line 0x1000 a.c 4
//! sample 0x1002 25                           # 25 samples
//! sample 0x2000 9 from 0x1006 0x3005         # with the return addresses of their callers, innermost first
//! cost A -> B 500                            # instructions that calls from A to B took; `lost 0` if none took any
//! wait 0x1002 3 500 0x1008                   # 3 waits, 500 ns in all, and where the callers go on
//! path - A B ~ 9 bound                       # 9 executions at most, from outside (`-`) to a cut (`~`)
//! clock cpu-clock:u 3e9 2.9e9 3.1e9 250000   # event, core frequency, lowest, highest, ns a sample
//! user counting 3e9                          # CPU time of a run, ns
//! exit counting 1                            # the status of a run, `output sampling 7` likewise
//! ```

use std::collections::HashMap;
use timewise_profile::*;

/// Builds the profile that `text` describes: one module `/bin/sketch`, one sampling run and one
/// counting run of one thread each.
///
/// # Errors
/// The line that could not be understood.
pub fn sketch(text: &str) -> Result<Profile, String> {
    let mut builder = Builder::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split('#').next().unwrap_or("").split_whitespace().collect();
        if !words.is_empty() {
            builder.fact(&words).ok_or_else(|| format!("cannot understand: {line}"))?;
        }
    }
    builder.profile.lines.sort_by_key(|row| row.place);
    Ok(builder.profile)
}

struct Builder {
    profile: Profile,
    blocks: HashMap<String, BlockId>,
    files: HashMap<String, FileId>,
    next_offset: u64,
    sample_ns: u64,
}

impl Builder {
    fn new() -> Builder {
        let mut profile = Profile::default();
        profile.modules.push(Module {
            kind: ModuleKind::File,
            path: b"/bin/sketch".to_vec(),
            build_id: Vec::new(),
        });
        for kind in [RunKind::Sampling, RunKind::Counting] {
            let run = RunId(profile.runs.len() as u32);
            profile.runs.push(new_run(kind));
            profile.processes.push(Process {
                run,
                pid: 100 + run.0,
                parent: None,
                executable: b"/bin/sketch".to_vec(),
                exit: Exit::Code(0),
                count_uncertainty: 0,
            });
            profile.threads.push(Thread {
                process: ProcessId(run.0),
                tid: 100 + run.0,
                name: "sketch".into(),
                instructions: None,
            });
        }
        Builder {
            profile,
            blocks: HashMap::new(),
            files: HashMap::new(),
            next_offset: 0x1000,
            sample_ns: 250_000,
        }
    }

    fn fact(&mut self, words: &[&str]) -> Option<()> {
        let named = |name: &str| {
            words.iter().position(|word| *word == name).and_then(|at| words.get(at + 1).copied())
        };
        match words {
            ["function", name, ..] => {
                let place = place(number(named("at")?)?);
                let file = named("file").map(|name| self.file(name));
                let line = named("line").map_or(Some(0), |line| line.parse().ok())?;
                let size = number(named("size")?)?;
                let (name, symbol) = (name.to_string(), name.to_string());
                self.profile.functions.push(Function { place, size, name, symbol, file, line });
            }
            ["block", name, ..] => self.block(name, words, named("at"), named("runs")?)?,
            ["edge", from, "->", to, kind, count] => {
                let (from, to) = (self.end(from)?, self.end(to)?);
                let (kind, count) = (edge_kind(kind)?, count.parse().ok()?);
                self.profile.edge_counts.push(EdgeCount { from, to, kind, process: ProcessId(1), count });
            }
            ["line", offset, file, line] => {
                let file = Some(self.file(file));
                self.profile.lines.push(Line {
                    place: place(number(offset)?),
                    file,
                    line: line.parse().ok()?,
                });
            }
            ["cost", site, "->", callee, instructions] => {
                let (site, callee) = (self.end(site)??, self.end(callee)??);
                let (process, instructions) = (ProcessId(1), instructions.parse().ok()?);
                self.profile.call_costs.push(CallCost { site, callee, process, instructions });
                self.run("counting")?.lost_calls.get_or_insert(0);
            }
            ["path", path @ .., left, executions, "bound"] => self.path(path, left, executions, true)?,
            ["path", path @ .., left, executions] => self.path(path, left, executions, false)?,
            ["lost", calls] => self.run("counting")?.lost_calls = Some(calls.parse().ok()?),
            ["sample", offset, count, rest @ ..] => {
                let stack = match rest {
                    [] => None,
                    ["from", callers @ ..] => self.stack(callers)?,
                    _ => return None,
                };
                let (place, weight_ns) = (Some(place(number(offset)?)), self.sample_ns);
                let sample = Sample {
                    thread: ThreadId(0),
                    time_ns: 0,
                    weight_ns,
                    weight_cycles: None,
                    place,
                    kernel: false,
                    stack,
                };
                let count: usize = count.parse().ok()?;
                self.profile.samples.extend(std::iter::repeat_n(sample, count));
            }
            ["wait", offset, times, duration_ns, callers @ ..] => {
                let mut stack = None;
                for caller in callers.iter().rev() {
                    let return_place = place(number(caller)?);
                    self.profile.stacks.push(StackNode { parent: stack, return_place });
                    stack = Some(StackId(self.profile.stacks.len() as u32 - 1));
                }
                self.profile.waits.push(Wait {
                    thread: ThreadId(0),
                    place: Some(place(number(offset)?)),
                    stack,
                    times: Some(times.parse().ok()?),
                    duration_ns: duration_ns.parse().ok()?,
                });
            }
            ["clock", event, hz, low, high, sample_ns] => {
                self.profile.runs[0].clock = Some(Clock {
                    event: event.to_string(),
                    counts_cycles: false,
                    precise_level: 0,
                    frequency_hz: 4000,
                    scope: None,
                    core_hz: hz.parse().ok()?,
                    core_hz_low: low.parse().ok()?,
                    core_hz_high: high.parse().ok()?,
                });
                self.sample_ns = sample_ns.parse().ok()?;
            }
            ["exit", run, status] => self.run(run)?.exit = Exit::Code(status.parse().ok()?),
            ["user", run, ns] => self.run(run)?.user_ns = ns.parse::<f64>().ok()? as u64,
            ["output", run, hash] => self.run(run)?.stdout_hash = Some(hash.parse().ok()?),
            _ => return None,
        }
        Some(())
    }

    fn block(&mut self, name: &str, words: &[&str], at: Option<&str>, runs: &str) -> Option<()> {
        let offset = at.map_or(Some(self.next_offset), number)?;
        let code_words = words.iter().skip_while(|word| **word != "code").skip(1);
        let mut code: Vec<Vec<u8>> = code_words.map(|word| bytes(word)).collect::<Option<_>>()?;
        if code.is_empty() {
            code.push(vec![0x90]);
        }
        self.next_offset = offset + 16.max(code.iter().map(Vec::len).sum::<usize>() as u64);
        let id = BlockId(self.profile.blocks.len() as u32);
        let instructions = code.len() as u32;
        self.profile.blocks.push(Block { place: place(offset), instructions, code: code.concat() });
        let executions = runs.parse().ok()?;
        self.profile.block_counts.push(BlockCount { block: id, process: ProcessId(1), executions });
        self.blocks.insert(name.to_string(), id);
        Some(())
    }

    fn path(&mut self, path: &[&str], left: &str, executions: &str, is_bound: bool) -> Option<()> {
        let is_outside = |end: &str| match end {
            "-" => Some(true),
            "~" => Some(false),
            _ => None,
        };
        let (entered, blocks) = path.split_first()?;
        let blocks = blocks.iter().map(|name| self.blocks.get(*name).copied()).collect::<Option<_>>()?;
        let (entered, left) = (is_outside(entered)?, is_outside(left)?);
        let executions = executions.parse().ok()?;
        self.profile.paths.push(PathCount { blocks, entered, left, executions, is_bound });
        Some(())
    }

    /// The stack of these return addresses.
    fn stack(&mut self, callers: &[&str]) -> Option<Option<StackId>> {
        let stacks = &mut self.profile.stacks;
        let mut parent = None;
        for caller in callers.iter().rev() {
            let node = StackNode { parent, return_place: place(number(caller)?) };
            let known = stacks.iter().position(|other| *other == node);
            let at = known.unwrap_or_else(|| {
                stacks.push(node);
                stacks.len() - 1
            });
            parent = Some(StackId(at as u32));
        }
        Some(parent)
    }

    fn end(&self, name: &str) -> Option<Option<BlockId>> {
        if name == "-" { Some(None) } else { self.blocks.get(name).map(|id| Some(*id)) }
    }

    fn run(&mut self, kind: &str) -> Option<&mut Run> {
        match kind {
            "sampling" => self.profile.runs.first_mut(),
            "counting" => self.profile.runs.last_mut(),
            _ => None,
        }
    }

    fn file(&mut self, name: &str) -> FileId {
        let files = &mut self.profile.files;
        *self.files.entry(name.to_string()).or_insert_with(|| {
            files.push(SourceFile { path: name.to_string() });
            FileId(files.len() as u32 - 1)
        })
    }
}

fn place(offset: u64) -> Place {
    Place { module: ModuleId(0), version: CodeVersion(0), offset: Offset(offset) }
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let pairs = (0..text.len()).step_by(2);
    pairs.map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
}

fn edge_kind(name: &str) -> Option<EdgeKind> {
    Some(match name {
        "fallthrough" => EdgeKind::Fallthrough,
        "jump" => EdgeKind::Jump,
        "branch" => EdgeKind::Branch,
        "indirect-jump" => EdgeKind::IndirectJump,
        "call" => EdgeKind::Call,
        "indirect-call" => EdgeKind::IndirectCall,
        "return" => EdgeKind::Return,
        "system-call" => EdgeKind::SystemCall,
        "external" => EdgeKind::External,
        _ => return None,
    })
}

fn new_run(kind: RunKind) -> Run {
    Run {
        command: vec![b"/bin/sketch".to_vec()],
        directory: b"/".to_vec(),
        elapsed_ns: 1_000_000_000,
        user_ns: 900_000_000,
        kernel_ns: 50_000_000,
        exit: Exit::Code(0),
        randomised_addresses: true,
        ..Run::new(kind)
    }
}
