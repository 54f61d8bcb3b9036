//! The same for programs: JSON in the schema `timewise-simulate/1`.

use super::Simulated;
use super::words::{reason, state_name};
use crate::code_text::CodeText;
use crate::labels;
use serde::Serialize;
use std::collections::BTreeMap;
use timewise_attribution::category::Class;
use timewise_attribution::{Category, Technique, Units};
use timewise_flow::InstructionId;
use timewise_flow::lines::line_at;

/// Name and version of the schema. The number changes when a field changes its meaning or goes; new
/// fields do not change it.
pub const SCHEMA: &str = "timewise-simulate/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    origin: &'static str,
    core: &'a str,
    part: Option<&'a str>,
    threads: usize,
    instructions: u64,
    cycles: u64,
    unattributed_cycles: f64,
    class: &'static str,
    categories: BTreeMap<&'static str, f64>,
    functions: Vec<Function>,
    by_instruction: Vec<Instruction>,
    accuracy: Option<Accuracy>,
}

#[derive(Serialize)]
struct Function {
    function: String,
    module: String,
    offset: u64,
    cycles: f64,
    instructions: u64,
    categories: BTreeMap<&'static str, f64>,
}

#[derive(Serialize)]
struct Instruction {
    function: String,
    module: String,
    version: u32,
    offset: u64,
    file: Option<String>,
    line: Option<u32>,
    text: String,
    executions: u64,
    cycles: f64,
    stack: Vec<Component>,
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
}

/// The whole document, one line.
///
/// # Errors
/// None in practice: memory does not fail.
pub fn json(simulated: &Simulated) -> Result<String, serde_json::Error> {
    let sums = simulated.categories();
    let class = match Class::of(|category| sums.get(&category).copied().unwrap_or_default()) {
        Class::ComputeIntensive => "compute-intensive",
        Class::FlushIntensive => "flush-intensive",
        Class::StallIntensive => "stall-intensive",
    };
    let code = CodeText::new(simulated.analysis);
    let document = Document {
        schema: SCHEMA,
        origin: "modelled",
        core: simulated.core,
        part: simulated.part.as_deref(),
        threads: simulated.threads,
        instructions: simulated.instructions,
        cycles: simulated.cycles,
        unattributed_cycles: simulated.cycles as f64 - simulated.attributed().as_cycles(),
        class,
        categories: named(|category| sums.get(&category).copied().unwrap_or_default().as_cycles()),
        functions: functions(simulated),
        by_instruction: simulated
            .instruction_rows()
            .iter()
            .map(|(id, _)| instruction(simulated, &code, *id))
            .collect(),
        accuracy: accuracy(simulated),
    };
    Ok(serde_json::to_string(&document)? + "\n")
}

fn named(cycles: impl Fn(Category) -> f64) -> BTreeMap<&'static str, f64> {
    let name = |category| match category {
        Category::Execution => "execution",
        Category::AluStall => "alu_stall",
        Category::LoadStall => "load_stall",
        Category::StoreStall => "store_stall",
        Category::FrontEnd => "front_end",
        Category::Mispredict => "mispredict",
        Category::MiscFlush => "misc_flush",
    };
    Category::ALL.into_iter().map(|category| (name(category), cycles(category))).collect()
}

fn functions(simulated: &Simulated) -> Vec<Function> {
    let analysis = simulated.analysis;
    let rows = simulated.function_rows().into_iter().map(|row| {
        let place = analysis.routines[row.routine.index()].place;
        Function {
            function: analysis.name_of(row.routine),
            module: labels::module_path(analysis.profile, place.module),
            offset: place.offset.0,
            cycles: row.cycles().as_cycles(),
            instructions: row.instructions,
            categories: named(|category| row.of(category).as_cycles()),
        }
    });
    rows.collect()
}

fn instruction(simulated: &Simulated, code: &CodeText, id: InstructionId) -> Instruction {
    let analysis = simulated.analysis;
    let place = analysis.code.place(id);
    let line = line_at(analysis.profile, place);
    let block = analysis.code.instructions[id.index()].block;
    let stack = simulated.stacks.stack(id.0).into_iter().map(|(component, parts)| Component {
        state: state_name(component.state()),
        events: component.events().events().map(|event| event.to_string()).collect(),
        why: reason(component, simulated.kind(id.0)),
        cycles: parts.as_cycles(),
    });
    Instruction {
        function: analysis.name_of(analysis.owner[block.index()]),
        module: labels::module_path(analysis.profile, place.module),
        version: place.version.0,
        offset: place.offset.0,
        file: line.map(|line| labels::file_path(analysis.profile, line.file).to_owned()),
        line: line.map(|line| line.line),
        text: code.of(id),
        executions: simulated.executions.get(id.index()).copied().unwrap_or_default(),
        cycles: simulated.stacks.height(id.0).as_cycles(),
        stack: stack.collect(),
    }
}

fn accuracy(simulated: &Simulated) -> Option<Accuracy> {
    let findings = simulated.compared?;
    let units = [Units::Instructions, simulated.blocks(), simulated.functions(), Units::Whole];
    let errors = Technique::all().map(|technique| {
        let errors = units.each_ref().map(|units| findings.errors(technique, units));
        let [instruction, block, function, program] = errors.map(|errors| errors.total);
        let instruction_systematic = errors[0].systematic;
        Errors { technique: technique.name, instruction, block, function, program, instruction_systematic }
    });
    Some(Accuracy { samples: findings.samples, period_cycles: findings.period, errors: errors.collect() })
}
