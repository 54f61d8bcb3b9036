//! Random profiles whose ids all refer to rows that exist.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use timewise_profile::*;

/// Any profile that holds together.
pub fn profile() -> impl Strategy<Value = Profile> {
    let owners = (vec(run(), 0..3), vec(process(), 0..4), vec(thread(), 0..4));
    let code = (
        vec(module(), 0..4),
        vec(any::<String>().prop_map(|path| SourceFile { path }), 0..4),
        vec(function(), 0..5),
        vec(line(), 0..8),
        vec(block(), 0..8),
    );
    let collected = (
        vec(stack_node(), 0..6),
        vec(sample(), 0..10),
        vec((any::<Index>(), any::<Index>(), count()), 0..8),
        vec((opt(), opt(), edge_kind(), any::<Index>(), count()), 0..8),
        vec((any::<Index>(), any::<Index>(), any::<Index>(), count()), 0..8),
        vec((any::<Index>(), any::<Index>(), any::<Index>(), count()), 0..8),
    );
    (owners, code, collected).prop_map(|((runs, processes, threads), code, collected)| {
        let (modules, files, functions, lines, blocks) = code;
        let (stacks, samples, block_counts, edge_counts, call_costs, parts) = collected;
        let mut profile = Profile { runs, modules, files, ..Profile::default() };
        if !profile.runs.is_empty() {
            let runs = profile.runs.len();
            let count = processes.len();
            let finish = |(mut process, run, parent): (Process, Index, Option<Index>)| {
                process.run = RunId(run.index(runs) as u32);
                process.parent = parent.map(|parent| ProcessId(parent.index(count) as u32));
                process
            };
            profile.processes = processes.into_iter().map(finish).collect();
        }
        let process_count = profile.processes.len();
        if process_count > 0 {
            let finish = |(mut thread, process): (Thread, Index)| {
                thread.process = ProcessId(process.index(process_count) as u32);
                thread
            };
            profile.threads = threads.into_iter().map(finish).collect();
        }
        add_code(&mut profile, functions, lines, blocks);
        add_samples(&mut profile, stacks, samples);
        add_branches(&mut profile);
        add_tallies(&mut profile);
        add_simulation(&mut profile);
        let block_count = profile.blocks.len();
        if process_count > 0 {
            let block = |index: Index| BlockId(index.index(block_count) as u32);
            let process = |index: Index| ProcessId(index.index(process_count) as u32);
            if block_count > 0 {
                let counts = block_counts.into_iter().map(|(of, by, executions)| BlockCount {
                    block: block(of),
                    process: process(by),
                    executions,
                });
                profile.block_counts = counts.collect();
                let costs = call_costs.into_iter().map(|(site, callee, by, instructions)| CallCost {
                    site: block(site),
                    callee: block(callee),
                    process: process(by),
                    instructions,
                });
                profile.call_costs = costs.collect();
            }
            let counts = edge_counts.into_iter().map(|(from, to, kind, by, count)| EdgeCount {
                from: from.filter(|_| block_count > 0).map(block),
                to: to.filter(|_| block_count > 0).map(block),
                kind,
                process: process(by),
                count,
            });
            profile.edge_counts = counts.collect();
        }
        add_intervals(&mut profile, parts);
        profile
    })
}

fn add_intervals(profile: &mut Profile, parts: Vec<(Index, Index, Index, u64)>) {
    let (threads, blocks, all) = (profile.threads.len(), profile.blocks.len(), parts.len());
    if threads == 0 || blocks == 0 {
        return;
    }
    for (thread, block, interval, instructions) in parts {
        let thread = ThreadId(thread.index(threads) as u32);
        profile.intervals.push(Interval { thread, first_instruction: instructions / 2, instructions });
        let (interval, block) = (IntervalId(interval.index(all) as u32), BlockId(block.index(blocks) as u32));
        profile.interval_blocks.push(IntervalBlock { interval, block, instructions });
        let blocks = vec![block; 1 + instructions as usize % 3];
        let (entered, left) = (instructions % 2 == 0, instructions % 5 == 0);
        let is_bound = instructions % 7 == 0;
        profile.paths.push(PathCount { blocks, entered, left, executions: instructions / 4, is_bound });
    }
}

type RawPlace = (Index, u32, u64);
type RawFunction = (RawPlace, u64, String, String, Option<Index>, u32);
type RawLine = (RawPlace, Option<Index>, u32);
type RawBlock = (RawPlace, u32, Vec<u8>);
type RawNode = (Option<Index>, RawPlace);
type RawSample = (Index, (u64, u64, Option<u64>), Option<RawPlace>, bool, Option<Index>);

fn add_code(profile: &mut Profile, functions: Vec<RawFunction>, lines: Vec<RawLine>, blocks: Vec<RawBlock>) {
    let modules = profile.modules.len();
    let files = profile.files.len();
    if modules == 0 {
        return;
    }
    let file = |file: Option<Index>| file.filter(|_| files > 0).map(|file| FileId(file.index(files) as u32));
    let functions = functions.into_iter().map(|(at, size, name, symbol, of, line)| Function {
        place: place(at, modules),
        size,
        name,
        symbol,
        file: file(of),
        line,
    });
    profile.functions = functions.collect();
    let inlined = |function: &Function| InlinedCall {
        place: function.place,
        depth: function.size as u32 % 3,
        function: function.name.clone(),
        file: function.file,
        line: function.line,
    };
    profile.inlined_calls = profile.functions.iter().map(inlined).collect();
    profile.inlined_calls.sort_by_key(|call| (call.place, call.depth));
    profile.inlined_calls.dedup_by_key(|call| (call.place, call.depth));
    let lines =
        lines.into_iter().map(|(at, of, line)| Line { place: place(at, modules), file: file(of), line });
    profile.lines = lines.collect();
    profile.lines.sort_by_key(|line| line.place);
    profile.lines.dedup_by_key(|line| line.place);
    let blocks = blocks.into_iter().map(|((module, version, offset), instructions, code)| Block {
        // A block ends at the last address at the latest.
        place: place((module, version, offset.min(u64::MAX - code.len() as u64)), modules),
        instructions,
        code,
    });
    profile.blocks = blocks.collect();
}

/// As many as can be added up.
fn few(number: u64) -> u64 {
    number % (1 << 52)
}

fn add_samples(profile: &mut Profile, stacks: Vec<RawNode>, samples: Vec<RawSample>) {
    let modules = profile.modules.len();
    if modules > 0 {
        let nodes = stacks.into_iter().enumerate().map(|(row, (parent, at))| StackNode {
            parent: parent.filter(|_| row > 0).map(|parent| StackId(parent.index(row) as u32)),
            return_place: place(at, modules),
        });
        profile.stacks = nodes.collect();
    }
    let (threads, stacks) = (profile.threads.len(), profile.stacks.len());
    if threads > 0 {
        let samples = samples.into_iter().map(|(thread, times, at, kernel, stack)| Sample {
            thread: ThreadId(thread.index(threads) as u32),
            time_ns: times.0,
            weight_ns: few(times.1),
            weight_cycles: times.2.map(few),
            place: at.filter(|_| modules > 0).map(|at| place(at, modules)),
            kernel,
            stack: stack.filter(|_| stacks > 0).map(|stack| StackId(stack.index(stacks) as u32)),
        });
        profile.samples = samples.collect();
        let waits = profile.samples.iter().map(|sample| Wait {
            thread: sample.thread,
            place: sample.place,
            stack: sample.stack,
            times: sample.weight_cycles,
            duration_ns: sample.weight_ns,
        });
        profile.waits = waits.collect();
        let names = profile.threads.iter().map(|thread| thread.name.clone().into_bytes());
        profile.os_names = names.collect::<std::collections::BTreeSet<_>>().into_iter().collect();
        let name = |number: u64| NameId((number % profile.os_names.len() as u64) as u32);
        let kinds = [OsEventKind::Begin, OsEventKind::Call, OsEventKind::Signal, OsEventKind::End];
        let kind = |thread: ThreadId| {
            let process = profile.threads[thread.index()].process;
            profile.runs[profile.processes[process.index()].run.index()].kind
        };
        let recorded = profile.samples.iter().filter(|sample| kind(sample.thread) == RunKind::Events);
        let events = recorded.map(|sample| OsEvent {
            thread: sample.thread,
            kind: kinds[sample.weight_ns as usize % kinds.len()],
            name: sample.weight_cycles.map(name),
            object: sample.place.map(|place| name(place.offset.0)),
            begin_ns: few(sample.weight_ns),
            end_ns: sample.weight_cycles.map(|cycles| few(sample.weight_ns) + few(cycles)),
            cpu_ns: few(sample.weight_ns),
            result: sample.stack.map(|stack| -i64::from(stack.0)),
            stack: sample.stack,
        });
        profile.os_events = events.collect();
    }
}

/// Of each run, at the places of samples.
fn add_tallies(profile: &mut Profile) {
    let places: Vec<Place> = profile.samples.iter().filter_map(|sample| sample.place).collect();
    let tallies = places.iter().enumerate().map(|(row, &place)| Tally {
        run: RunId((row % profile.runs.len()) as u32),
        place,
        executions: row as u64,
        cpu_ns: 1 << 40,
        variance: 3 * row as u64,
    });
    profile.tallies = tallies.collect();
}

/// Branches between the places of samples.
fn add_branches(profile: &mut Profile) {
    let places: Vec<Place> = profile.samples.iter().filter_map(|sample| sample.place).collect();
    let branches = places.windows(2).enumerate().map(|(row, pair)| TakenBranch {
        process: ProcessId((row % profile.processes.len()) as u32),
        from: pair[0],
        to: pair[1],
        next: (row % 2 == 0).then_some(pair[0]),
        count: row as u64,
        weight: 900 * row as u64,
    });
    profile.taken_branches = branches.collect();
}

/// Of every second run, with all that was sampled as code.
fn add_simulation(profile: &mut Profile) {
    let places: Vec<Place> = profile.samples.iter().filter_map(|sample| sample.place).collect();
    for run in (0..profile.runs.len() as u32).step_by(2).map(RunId) {
        let simulation = SimulationId(profile.simulations.len() as u32);
        let (skipped, length) = (u64::from(run.0), (run.0 == 0).then_some(1 << 40));
        profile.simulations.push(Simulation {
            run,
            core: "toy".into(),
            core_hash: u64::MAX - skipped,
            part: SimulatedPart { skipped, length, windows: (run.0 < 4).then_some(3) },
            executed: (run.0 != 2).then_some(5000),
            instructions: 1000,
            cycles: 1234,
        });
        let before = profile.simulated_threads.len() as u32;
        let threads = (0..profile.threads.len() as u32).step_by(2).map(ThreadId);
        profile.simulated_threads.extend(threads.map(|thread| SimulatedThread {
            simulation,
            thread,
            image: thread.0 / 3,
            executable: format!("/bin/{}", thread.0).into_bytes(),
            instructions: u64::from(thread.0),
            cycles: 1234,
        }));
        let windows = (before..profile.simulated_threads.len() as u32).flat_map(|thread| [thread, thread]);
        profile.simulated_windows.extend((0..).zip(windows).map(|(row, thread)| SimulatedWindow {
            thread: SimulatedThreadId(thread),
            first_instruction: u64::MAX - row,
            instructions: row,
            cycles: 3 * row,
        }));
        for (row, &place) in places.iter().enumerate() {
            let executions = row as u64;
            profile.simulated_instructions.push(SimulatedInstruction { simulation, place, executions });
            let (state, events) = (CommitState::ALL[row % 5], CoreEvents(row as u16 * 37 % 512));
            let parts = 840 * executions + 120;
            profile.cycle_stacks.push(StackComponent { simulation, place, state, events, parts });
        }
    }
}

fn place((module, version, offset): RawPlace, modules: usize) -> Place {
    Place {
        module: ModuleId(module.index(modules) as u32),
        version: CodeVersion(version),
        offset: Offset(offset),
    }
}

fn opt() -> impl Strategy<Value = Option<Index>> {
    option::of(any::<Index>())
}

/// Bytes of the operating system: text, text with a zero byte in it, and what is no text.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![any::<String>().prop_map(String::into_bytes), vec(any::<u8>(), 0..12), Just(b"a\0b".to_vec())]
}

/// Sums of a few, for a block of a few bytes, are in bounds.
fn count() -> impl Strategy<Value = u64> {
    prop_oneof![0..10u64, 0..1u64 << 52]
}

fn exit() -> impl Strategy<Value = Exit> {
    prop_oneof![any::<i32>().prop_map(Exit::Code), any::<i32>().prop_map(Exit::Signal), Just(Exit::Unknown)]
}

fn run() -> impl Strategy<Value = Run> {
    let what = (
        select(vec![
            RunKind::Sampling,
            RunKind::Counting,
            RunKind::Branches,
            RunKind::Events,
            RunKind::Simulation,
        ]),
        vec(bytes(), 0..4),
        bytes(),
        vec((bytes(), bytes()), 0..4),
        exit(),
        vec(any::<String>(), 0..3),
    );
    let numbers = (any::<i64>(), any::<u64>(), any::<u64>(), any::<u64>(), count());
    let machine = (any::<String>(), any::<String>(), any::<u32>());
    let rest = (any::<bool>(), option::of(any::<u64>()), option::of(clock()), option::of(call_stacks()));
    (what, numbers, machine, rest).prop_map(|(what, numbers, machine, rest)| {
        let (kind, command, directory, environment, exit, warnings) = what;
        Run {
            kind,
            command,
            directory,
            environment,
            started_unix_ns: numbers.0,
            elapsed_ns: few(numbers.1),
            user_ns: few(numbers.2),
            kernel_ns: few(numbers.3),
            exit,
            randomised_addresses: rest.0,
            stdout_hash: rest.1,
            machine: Machine { processor: machine.0, kernel: machine.1, cpus: machine.2 },
            clock: rest.2,
            call_stacks: rest.3,
            lost_samples: numbers.4,
            lost_calls: Some(numbers.4).filter(|calls| calls % 2 == 0),
            counts_complete: numbers.4 % 2 == 0,
            warnings,
        }
    })
}

fn clock() -> impl Strategy<Value = Clock> {
    let hertz = || 1.0..1e10f64;
    let scope =
        proptest::option::of(select(vec![ClockScope::Processors, ClockScope::Threads, ClockScope::Looks]));
    let frequencies = (any::<u32>(), hertz(), hertz(), hertz());
    (any::<String>(), any::<bool>(), any::<u8>(), scope, frequencies).prop_map(
        |(event, counts_cycles, precise_level, scope, frequencies)| {
            let (frequency_hz, core_hz, core_hz_low, core_hz_high) = frequencies;
            Clock {
                event,
                counts_cycles,
                precise_level,
                frequency_hz,
                scope,
                core_hz,
                core_hz_low,
                core_hz_high,
            }
        },
    )
}

fn call_stacks() -> impl Strategy<Value = CallStacks> {
    use CallStackMethod::*;
    (select(vec![FramePointers, UnwindTables, Both]), any::<u64>(), any::<u64>(), any::<u64>())
        .prop_map(|(method, taken, cut_short, broken)| CallStacks { method, taken, cut_short, broken })
}

fn process() -> impl Strategy<Value = (Process, Index, Option<Index>)> {
    let process = (any::<u32>(), bytes(), exit(), any::<u16>()).prop_map(
        |(pid, executable, exit, count_uncertainty)| Process {
            run: RunId(0),
            pid,
            parent: None,
            executable,
            exit,
            count_uncertainty: count_uncertainty.into(),
        },
    );
    (process, any::<Index>(), opt())
}

fn thread() -> impl Strategy<Value = (Thread, Index)> {
    let thread = (any::<u32>(), any::<String>(), option::of(count()))
        .prop_map(|(tid, name, instructions)| Thread { process: ProcessId(0), tid, name, instructions });
    (thread, any::<Index>())
}

fn module() -> impl Strategy<Value = Module> {
    use ModuleKind::*;
    (select(vec![File, Vdso, Jit, Kernel, Unknown]), bytes(), vec(any::<u8>(), 0..20))
        .prop_map(|(kind, path, build_id)| Module { kind, path, build_id })
}

fn raw_place() -> impl Strategy<Value = RawPlace> {
    (any::<Index>(), 0..3u32, any::<u64>())
}

fn function() -> impl Strategy<Value = RawFunction> {
    (raw_place(), any::<u64>(), any::<String>(), any::<String>(), opt(), any::<u32>())
}

fn line() -> impl Strategy<Value = RawLine> {
    (raw_place(), opt(), any::<u32>())
}

fn block() -> impl Strategy<Value = RawBlock> {
    (raw_place(), any::<u32>(), vec(any::<u8>(), 1..30))
}

fn stack_node() -> impl Strategy<Value = RawNode> {
    (opt(), raw_place())
}

fn sample() -> impl Strategy<Value = RawSample> {
    let times = (any::<u64>(), any::<u64>(), option::of(any::<u64>()));
    (any::<Index>(), times, option::of(raw_place()), any::<bool>(), opt())
}

fn edge_kind() -> impl Strategy<Value = EdgeKind> {
    use EdgeKind::*;
    select(vec![Fallthrough, Jump, Branch, IndirectJump, Call, IndirectCall, Return, SystemCall, External])
}
