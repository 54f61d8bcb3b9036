//! The format of pprof (`profile.proto`), not compressed: `go tool pprof`, and what else reads it.
//!
//! Each sample has three values. Stacks carry `samples` and `cpu`; counted code carries `instructions`, as
//! stacks of one frame, because counts do not tell by which callers each execution came about. That is the
//! function that holds the code: what was inlined is known of places that were sampled or called from only.
//! With several runs, time and instructions are those of an average run, as there may be more runs of one
//! kind than of the other. Modules, which the system places anew in each process, are laid side by side at
//! addresses of their own.

mod schema;

use crate::costs::costs;
use crate::owners::{Owner, Owners, one_line};
use crate::places::build_id;
use crate::rounding::Rounding;
use crate::stacks::{Frame, Name, Stacks, Step};
use crate::weights::Weights;
use prost::Message;
use schema::{Function, Label, Line, Location, Mapping, Profile, Sample, ValueType};
use std::collections::{BTreeMap, HashMap};
use timewise_flow::Analysis;
use timewise_profile::{ModuleId, ModuleKind, Place, RunKind, ThreadId};

/// The whole profile.
pub fn export(analysis: &Analysis) -> Vec<u8> {
    let owners = Owners::new(analysis);
    let mut writer = Writer::new(analysis, &owners);
    writer.samples();
    writer.counts();
    writer.finish().encode_to_vec()
}

/// Values of a sample, in the order of their types.
type Values = [i64; 3];

struct Writer<'a> {
    analysis: &'a Analysis<'a>,
    owners: &'a Owners<'a>,
    texts: Texts,
    functions: HashMap<Name<'a>, u64>,
    /// A place has one with the functions that were inlined there, and one without for its counts.
    locations: HashMap<Frame, u64>,
    /// Lowest and highest offset of each module that was met.
    extent: BTreeMap<ModuleId, (u64, u64)>,
    profile: Profile,
}

impl<'a> Writer<'a> {
    fn new(analysis: &'a Analysis<'a>, owners: &'a Owners<'a>) -> Writer<'a> {
        Writer {
            analysis,
            owners,
            texts: Texts::default(),
            functions: HashMap::new(),
            locations: HashMap::new(),
            extent: BTreeMap::new(),
            profile: Profile::default(),
        }
    }

    /// Equal stacks of a thread are one sample.
    fn samples(&mut self) {
        let stacks = Stacks::new(self.analysis, self.owners);
        let weights = Weights::new(self.analysis.profile);
        let runs = self.analysis.profile.runs_to_average(RunKind::Sampling) as f64;
        let mut sums: BTreeMap<(ThreadId, Vec<u64>), (i64, f64)> = BTreeMap::new();
        for sample in &self.analysis.profile.samples {
            let stack: Vec<u64> = stacks.of(sample, self.owners).map(|frame| self.location(frame)).collect();
            let sum = sums.entry((sample.thread, stack)).or_default();
            sum.0 += 1;
            sum.1 += weights.of(sample).ns / runs;
        }
        let mut rounding = Rounding::default();
        for ((thread, stack), (count, ns)) in sums {
            let label = self.labels(thread);
            self.add(stack, [count, rounding.next(ns) as i64, 0], label);
        }
    }

    fn counts(&mut self) {
        for (place, cost) in costs(self.analysis, self.owners, &Weights::new(self.analysis.profile)) {
            let executions = cost.executions.unwrap_or_default();
            if executions > 0 {
                let location = self.location(Frame::at(place, self.owners.at(place)));
                self.add(vec![location], [0, 0, i64::try_from(executions).unwrap_or(i64::MAX)], Vec::new());
            }
        }
    }

    fn add(&mut self, location_id: Vec<u64>, value: Values, label: Vec<Label>) {
        self.profile.sample.push(Sample { location_id, value: value.to_vec(), label });
    }

    fn labels(&mut self, id: ThreadId) -> Vec<Label> {
        let profile = self.analysis.profile;
        let thread = &profile.threads[id.index()];
        let pid = profile.processes[thread.process.index()].pid;
        let name = one_line(&thread.name);
        vec![
            Label { key: self.texts.of("thread"), str: self.texts.of(&name), num: 0 },
            Label { key: self.texts.of("pid"), str: 0, num: pid.into() },
            Label { key: self.texts.of("tid"), str: 0, num: thread.tid.into() },
        ]
    }

    fn location(&mut self, frame: Frame) -> u64 {
        if let Some(&known) = self.locations.get(&frame) {
            return known;
        }
        let id = self.locations.len() as u64 + 1;
        self.locations.insert(frame, id);
        let steps = frame.steps(self.analysis.profile).into_iter();
        let line = steps.map(|step| Line {
            function_id: self.function(step),
            line: step.line.map_or(0, |line| line.line.into()),
        });
        let line = line.collect();
        let mut location = Location { id, line, ..Location::default() };
        if let Some(place) = frame.place {
            location.mapping_id = u64::from(place.module.0) + 1;
            location.address = self.address(place);
            let extent = self.extent.entry(place.module).or_insert((u64::MAX, 0));
            *extent = (extent.0.min(place.offset.0), extent.1.max(place.offset.0));
        }
        self.profile.location.push(location);
        id
    }

    fn function(&mut self, step: Step<'a>) -> u64 {
        if let Some(&known) = self.functions.get(&step.name) {
            return known;
        }
        let id = self.functions.len() as u64 + 1;
        self.functions.insert(step.name, id);
        let name = step.name.text(self.owners);
        let profile = self.analysis.profile;
        // What has but one name is taken for a symbol, and cut: `<a::B as c::D>::next` would be `::next`.
        let symbol = match step.name {
            Name::Owner(Owner::Function(function)) => one_line(&profile.functions[function.index()].symbol),
            _ => String::new(),
        };
        let symbol = Some(symbol).filter(|symbol| *symbol != name).unwrap_or_default();
        // Of an inlined function it is only known which lines of it ran.
        let met = step.line.map(|line| (one_line(&profile.files[line.file.index()].path), 0));
        let (file, line) = step.name.declared(self.owners).or(met).unwrap_or_default();
        self.profile.function.push(Function {
            id,
            name: self.texts.of(&name),
            system_name: self.texts.of(&symbol),
            filename: self.texts.of(&file),
            start_line: line.into(),
        });
        id
    }

    /// Where a place lies when modules lie side by side. Addresses of the kernel are real.
    fn address(&self, place: Place) -> u64 {
        match self.analysis.profile.modules[place.module.index()].kind {
            ModuleKind::Kernel => place.offset.0,
            _ => base(place.module).wrapping_add(place.offset.0),
        }
    }

    fn mappings(&mut self) {
        for (module, (lowest, highest)) in std::mem::take(&mut self.extent) {
            let row = &self.analysis.profile.modules[module.index()];
            let kernel = row.kind == ModuleKind::Kernel;
            let start = lowest & !(PAGE - 1);
            let base = if kernel { 0 } else { base(module) };
            let filename = self.owners.module_path(module);
            let mapping = Mapping {
                id: u64::from(module.0) + 1,
                memory_start: base.wrapping_add(start),
                memory_limit: base.wrapping_add(highest | (PAGE - 1)).saturating_add(1),
                // Linkers place code in files as in memory, but for whole pages.
                file_offset: if kernel { 0 } else { start },
                filename: self.texts.of(&filename),
                build_id: self.texts.of(&build_id(row)),
                has_functions: true,
                has_filenames: true,
                has_line_numbers: true,
                has_inline_frames: true,
            };
            self.profile.mapping.push(mapping);
        }
    }

    fn finish(mut self) -> Profile {
        self.mappings();
        let mut quantity = |name, unit| ValueType { r#type: self.texts.of(name), unit: self.texts.of(unit) };
        let cpu = quantity("cpu", "nanoseconds");
        self.profile.sample_type = vec![quantity("samples", "count"), cpu, quantity("instructions", "count")];
        self.profile.period_type = Some(cpu);
        let sampled = !self.analysis.profile.samples.is_empty();
        self.profile.default_sample_type = self.texts.of(if sampled { "cpu" } else { "instructions" });
        let run = self.analysis.profile.runs.first();
        if let Some(run) = run {
            self.profile.time_nanos = run.started_unix_ns;
            self.profile.duration_nanos = i64::try_from(run.elapsed_ns).unwrap_or(i64::MAX);
            let frequency_hz = run.clock.as_ref().map_or(0, |clock| clock.frequency_hz);
            self.profile.period = 1_000_000_000 / i64::from(frequency_hz.max(1));
            for warning in &run.warnings {
                let comment = self.texts.of(&one_line(warning));
                self.profile.comment.push(comment);
            }
        }
        self.profile.string_table = self.texts.list;
        self.profile
    }
}

const PAGE: u64 = 0x1000;

/// What is added to offsets of a module. No module is that large.
fn base(module: ModuleId) -> u64 {
    u64::from(module.0) << 40
}

/// Texts, each once.
struct Texts {
    list: Vec<String>,
    known: HashMap<String, i64>,
}

impl Default for Texts {
    fn default() -> Texts {
        // The format wants the first one to be empty.
        Texts { list: vec![String::new()], known: HashMap::from([(String::new(), 0)]) }
    }
}

impl Texts {
    fn of(&mut self, text: &str) -> i64 {
        if let Some(&known) = self.known.get(text) {
            return known;
        }
        let id = self.list.len() as i64;
        self.list.push(text.to_string());
        self.known.insert(text.to_string(), id);
        id
    }
}
