//! The processed format of the Firefox Profiler (<https://profiler.firefox.com>): threads of all processes
//! over time, with names and lines, so that no symbols are looked up when it is opened.

mod schema;
mod thread;

use crate::owners::{Owners, one_line};
use crate::places::build_id;
use crate::stacks::{Frame, Stacks};
use crate::weights::Weights;
use schema::{Category, Extensions, Library, Markers, Meta, Profile, Thread, Units, VERSION};
use std::collections::BTreeMap;
use thread::Tables;
use timewise_flow::Analysis;
use timewise_profile::{Module, ModuleId, Run, RunKind, ThreadId};

/// In the order of their indexes.
const CATEGORIES: [Category; 2] = [
    Category { name: "User", color: "yellow", subcategories: ["Other"] },
    Category { name: "Kernel", color: "orange", subcategories: ["Other"] },
];

/// All samples.
///
/// # Errors
/// None in practice: memory does not fail.
pub fn export(analysis: &Analysis) -> serde_json::Result<String> {
    let owners = Owners::new(analysis);
    let stacks = Stacks::new(analysis, &owners);
    let weights = Weights::new(analysis.profile);
    let start_ns = sampled(analysis).map(|run| run.started_unix_ns).min().unwrap_or(0);
    let mut threads: BTreeMap<ThreadId, Tables> = BTreeMap::new();
    for sample in &analysis.profile.samples {
        let frames: Vec<Frame> = stacks.of(sample, &owners).collect();
        let since_ns = run_of(analysis, sample.thread).started_unix_ns.saturating_sub(start_ns);
        let time_ms = (since_ns as f64 + sample.time_ns as f64) / 1e6;
        let tables = threads.entry(sample.thread).or_default();
        tables.add(analysis, &owners, &frames, time_ms, weights.of(sample).ns);
    }
    let mut threads: Vec<Thread> =
        threads.into_iter().map(|(id, tables)| thread(analysis, id, start_ns, tables)).collect();
    // The profiler takes the first thread of a process for what to show of it.
    threads.sort_by_key(|thread| !thread.is_main_thread);
    let modules = analysis.profile.modules.iter().zip(0..);
    let profile = Profile {
        meta: meta(analysis, start_ns),
        libs: modules.map(|(module, id)| library(&owners, ModuleId(id), module)).collect(),
        threads,
        pages: [],
        overhead: [],
        counters: [],
    };
    serde_json::to_string(&profile)
}

fn sampled<'a>(analysis: &'a Analysis) -> impl Iterator<Item = &'a Run> {
    analysis.profile.runs_of(RunKind::Sampling)
}

fn run_of<'a>(analysis: &'a Analysis, thread: ThreadId) -> &'a Run {
    let process = analysis.profile.threads[thread.index()].process;
    &analysis.profile.runs[analysis.profile.processes[process.index()].run.index()]
}

fn meta(analysis: &Analysis, start_ns: i64) -> Meta {
    let frequency_hz = sampled(analysis).filter_map(|run| run.clock.as_ref()).map(|clock| clock.frequency_hz);
    let program = sampled(analysis).next().and_then(|run| run.command.first());
    Meta {
        categories: CATEGORIES,
        debug: false,
        extensions: Extensions::default(),
        interval: 1e3 / f64::from(frequency_hz.max().unwrap_or(0).max(1)),
        preprocessed_profile_version: VERSION,
        process_type: 0,
        product: program.map(|program| last_part(program)).unwrap_or_default(),
        oscpu: "Linux x86_64",
        sample_units: Units { time: "ms", delay: "ms", busy: "µs" },
        start_time: start_ns as f64 / 1e6,
        symbolicated: true,
        paused_ranges: [],
        version: 24,
        uses_only_one_stack_type: true,
        source_code_is_not_on_searchfox: true,
        marker_schema: [],
    }
}

fn thread(analysis: &Analysis, id: ThreadId, start_ns: i64, tables: Tables<'_>) -> Thread {
    let row = &analysis.profile.threads[id.index()];
    let process = &analysis.profile.processes[row.process.index()];
    let run = run_of(analysis, id);
    let begin_ms = run.started_unix_ns.saturating_sub(start_ns) as f64 / 1e6;
    let Tables { samples, stacks, frames, functions, resources, symbols, texts, .. } = tables;
    Thread {
        process_type: "default",
        process_startup_time: begin_ms,
        process_shutdown_time: None,
        register_time: begin_ms,
        unregister_time: None,
        paused_ranges: [],
        process_name: last_part(&process.executable),
        name: one_line(&row.name),
        is_main_thread: row.tid == process.pid,
        show_markers_in_timeline: false,
        pid: process.pid.to_string(),
        tid: row.tid,
        samples,
        markers: Markers::default(),
        stack_table: stacks,
        frame_table: frames,
        func_table: functions,
        resource_table: resources,
        native_symbols: symbols,
        string_array: texts,
    }
}

fn last_part(path: &[u8]) -> String {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
    one_line(&String::from_utf8_lossy(name))
}

fn library(owners: &Owners, id: ModuleId, module: &Module) -> Library {
    let (name, path) = (owners.module_name(id), owners.module_path(id));
    Library {
        debug_name: name.clone(),
        name,
        debug_path: path.clone(),
        path,
        breakpad_id: breakpad_id(&module.build_id),
        code_id: Some(build_id(module)).filter(|id| !id.is_empty()),
        arch: "x86_64",
    }
}

/// The first half of a build id as a GUID, whose first three numbers are written the other way round, and an
/// age of 0: what symbol servers know ELF files by.
fn breakpad_id(build_id: &[u8]) -> String {
    let mut guid = [0; 16];
    for (byte, &known) in guid.iter_mut().zip(build_id) {
        *byte = known;
    }
    guid[..4].reverse();
    guid[4..6].reverse();
    guid[6..8].reverse();
    guid.iter().map(|byte| format!("{byte:02X}")).chain(["0".to_string()]).collect()
}

#[cfg(test)]
mod tests {
    use super::breakpad_id;

    #[test]
    fn ids_of_libraries_are_those_of_symbol_servers() {
        let build_id = [
            0xf0, 0xfc, 0x29, 0x16, 0x5c, 0xbe, 0x60, 0x88, 0xc0, 0xe1, 0xad, 0xf0, 0x3b, 0x00, 0x48, 0xfb,
            0xec,
        ];
        assert_eq!(breakpad_id(&build_id), "1629FCF0BE5C8860C0E1ADF03B0048FB0");
        assert_eq!(breakpad_id(&[]), "0".repeat(33));
    }
}
