//! The same for programs: JSON in the schema `timewise-simulate/1`.

use super::covered::Fields;
use super::impact::impacts;
use super::rows::rows;
use super::words::{Waiting, meaning, reason, state_name};
use super::{Row, Simulated, part, threads};
use crate::request::By;
use serde::Serialize;
use std::collections::BTreeMap;
use timewise_attribution::category::Class;
use timewise_attribution::event_counts::EventCounts;
use timewise_attribution::{Category, Technique, Units};
use timewise_flow::{InstructionId, Modelled, ModelledCost};

/// Name and version of the schema. The number changes when a field changes its meaning or goes; new
/// fields do not change it.
pub const SCHEMA: &str = "timewise-simulate/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    origin: &'static str,
    core: &'a str,
    part: Option<String>,
    ended_by_signal: Option<i32>,
    threads: usize,
    programs: usize,
    processes: usize,
    by_thread: Vec<Thread>,
    instructions: u64,
    executed_instructions: Option<u64>,
    reached_instructions: Option<u64>,
    windows: Option<usize>,
    cycles: u64,
    estimated: Option<Fields>,
    unattributed_cycles: f64,
    system_calls: u64,
    class: Option<&'static str>,
    categories: Sums,
    functions: Vec<Function>,
    loops: Vec<Lines>,
    lines: Vec<Lines>,
    by_instruction: Vec<Instruction>,
    accuracy: Option<Accuracy>,
    events: Option<Events>,
}

/// Cycles by category.
#[derive(Default, Serialize)]
pub struct Sums {
    execution: f64,
    alu_stall: f64,
    load_stall: f64,
    store_stall: f64,
    front_end: f64,
    mispredict: f64,
    misc_flush: f64,
}

impl Sums {
    pub(super) fn of(cost: &ModelledCost) -> Sums {
        Sums::by(|category| cost.of(category).as_cycles())
    }

    /// Of each category what `cycles` says.
    pub fn by(cycles: impl Fn(Category) -> f64) -> Sums {
        Sums {
            execution: cycles(Category::Execution),
            alu_stall: cycles(Category::AluStall),
            load_stall: cycles(Category::LoadStall),
            store_stall: cycles(Category::StoreStall),
            front_end: cycles(Category::FrontEnd),
            mispredict: cycles(Category::Mispredict),
            misc_flush: cycles(Category::MiscFlush),
        }
    }
}

#[derive(Serialize)]
struct Thread {
    program: String,
    image: u32,
    number: usize,
    instructions: u64,
    cycles: u64,
}

#[derive(Serialize)]
struct Function {
    function: String,
    module: String,
    offset: Option<u64>,
    cycles: f64,
    instructions: u64,
    categories: Sums,
}

/// A loop, or a single line.
#[derive(Serialize)]
struct Lines {
    function: Option<String>,
    module: String,
    offset: Option<u64>,
    file: Option<String>,
    line: Option<u32>,
    line_last: Option<u32>,
    cycles: f64,
    instructions: u64,
    categories: Sums,
}

#[derive(Serialize)]
struct Instruction {
    function: String,
    module: String,
    version: u32,
    offset: Option<u64>,
    file: Option<String>,
    line: Option<u32>,
    text: Option<String>,
    executions: u64,
    cycles: f64,
    stack: Vec<Component>,
    sampled: Option<BTreeMap<&'static str, f64>>,
}

#[derive(Serialize)]
struct Component {
    state: &'static str,
    events: Vec<String>,
    why: String,
    cycles: f64,
}

#[derive(Serialize)]
struct Accuracy {
    samples: u64,
    period_cycles: u64,
    errors: Vec<Errors>,
}

#[derive(Serialize)]
struct Errors {
    technique: &'static str,
    instruction: f64,
    block: f64,
    function: f64,
    program: f64,
    instruction_systematic: f64,
    block_systematic: f64,
    function_systematic: f64,
}

/// How often executions were subject to events, and what that cost.
#[derive(Serialize)]
struct Events {
    /// Of the executions that were subject to an event, the part that was subject to several.
    combined: f64,
    by_event: Vec<Event>,
}

#[derive(Serialize)]
struct Event {
    event: String,
    why: &'static str,
    executions: u64,
    cycles: f64,
    correlation: Option<f64>,
}

/// The whole document, one line.
///
/// # Errors
/// None in practice: memory does not fail.
pub fn json(simulated: &Simulated) -> Result<String, serde_json::Error> {
    let whole = simulated.analysis.modelled_whole();
    let [threads, programs, processes] = threads::counts(simulated);
    let Modelled { simulation, coverage, sampled, .. } = simulated.modelled;
    let (coverage, sampled) = (coverage.as_ref(), sampled.as_ref());
    let rows = |by| rows(simulated, by).into_iter().flatten();
    let instruction = |row: Row| Some(instruction(simulated, row.instruction?, row));
    let document = Document {
        schema: SCHEMA,
        origin: "modelled",
        core: &simulation.core,
        part: part(simulation.part),
        ended_by_signal: simulated.signal(),
        threads,
        programs,
        processes,
        by_thread: threads::threads(simulated).iter().map(thread).collect(),
        instructions: simulation.instructions,
        executed_instructions: simulation.executed,
        reached_instructions: coverage.map(|coverage| coverage.reached),
        windows: coverage.map(|coverage| coverage.windows),
        cycles: simulation.cycles,
        estimated: coverage.zip(sampled).map(|(coverage, sampled)| Fields::of(coverage, sampled)),
        unattributed_cycles: simulated.modelled.unattributed().as_cycles(),
        system_calls: simulated.analysis.system_calls(),
        class: simulated.class().map(|class| match class {
            Class::ComputeIntensive => "compute-intensive",
            Class::FlushIntensive => "flush-intensive",
            Class::StallIntensive => "stall-intensive",
        }),
        categories: Sums::of(&whole),
        functions: rows(By::Function).map(function).collect(),
        loops: rows(By::Loop).map(lines).collect(),
        lines: rows(By::Line).map(lines).collect(),
        by_instruction: rows(By::Instruction).filter_map(instruction).collect(),
        accuracy: accuracy(simulated),
        events: simulated.events.map(|counts| events(simulated, counts)),
    };
    Ok(serde_json::to_string(&document)? + "\n")
}

/// Without its process's id, which is another one each time.
fn thread(thread: &threads::Thread) -> Thread {
    Thread {
        program: String::from_utf8_lossy(&thread.row.executable).into_owned(),
        image: thread.row.image,
        number: thread.number.unwrap_or(1),
        instructions: thread.row.instructions,
        cycles: thread.row.cycles,
    }
}

fn function(row: Row) -> Function {
    Function {
        function: row.site.function,
        module: row.site.module,
        offset: row.site.offset,
        cycles: row.cost.cycles().as_cycles(),
        instructions: row.cost.instructions,
        categories: Sums::of(&row.cost),
    }
}

fn lines(row: Row) -> Lines {
    Lines {
        function: Some(row.site.function).filter(|name| !name.is_empty()),
        module: row.site.module,
        offset: row.site.offset,
        file: row.site.file,
        line: row.site.line,
        line_last: row.site.last_line,
        cycles: row.cost.cycles().as_cycles(),
        instructions: row.cost.instructions,
        categories: Sums::of(&row.cost),
    }
}

fn instruction(simulated: &Simulated, id: InstructionId, row: Row) -> Instruction {
    let waiting = Waiting::of(simulated.analysis, id);
    let stack = simulated.modelled.stacks.stack(id.0).into_iter().map(|(component, parts)| Component {
        state: state_name(component.state()),
        events: component.events().events().map(|event| event.to_string()).collect(),
        why: reason(component, waiting),
        cycles: parts.as_cycles(),
    });
    Instruction {
        function: row.site.function,
        module: row.site.module,
        version: simulated.analysis.code.place(id).version.0,
        offset: row.site.offset,
        file: row.site.file,
        line: row.site.line,
        text: row.site.text,
        executions: row.cost.instructions,
        cycles: row.cost.cycles().as_cycles(),
        stack: stack.collect(),
        sampled: simulated.compared.map(|findings| {
            let of_technique =
                |technique: Technique| findings.found(technique.blame).height(id.0).as_cycles();
            Technique::WHERE.map(|technique| (technique.name, of_technique(technique))).into()
        }),
    }
}

fn events(simulated: &Simulated, counts: &EventCounts) -> Events {
    let by_event = impacts(simulated, counts).into_iter().map(|impact| Event {
        event: impact.event.to_string(),
        why: meaning(impact.event),
        executions: impact.executions,
        cycles: impact.cycles.as_cycles(),
        correlation: impact.correlation,
    });
    Events { combined: counts.combined(), by_event: by_event.collect() }
}

fn accuracy(simulated: &Simulated) -> Option<Accuracy> {
    let findings = simulated.compared?;
    let units = [Units::Instructions, simulated.blocks(), simulated.functions(), Units::Whole];
    let errors = Technique::all().map(|technique| {
        let errors = units.each_ref().map(|units| findings.errors(technique, units));
        let [instruction, block, function, program] = errors.map(|errors| errors.total);
        let [instruction_systematic, block_systematic, function_systematic, _] =
            errors.map(|errors| errors.systematic);
        Errors {
            technique: technique.name,
            instruction,
            block,
            function,
            program,
            instruction_systematic,
            block_systematic,
            function_systematic,
        }
    });
    Some(Accuracy { samples: findings.samples, period_cycles: findings.period, errors: errors.collect() })
}
