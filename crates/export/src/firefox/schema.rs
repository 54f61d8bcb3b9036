//! The processed format of the Firefox Profiler, version 55, as far as it is written
//! (`src/types/profile.ts` and `docs-developer/CHANGELOG-formats.md` of the profiler). Tables are columns of
//! one length; rows refer to each other by index. The profiler upgrades elder versions by itself.

use serde::Serialize;

/// The version of the format.
pub const VERSION: u32 = 55;

/// A whole profile.
#[derive(Debug, Serialize)]
pub struct Profile {
    pub meta: Meta,
    pub libs: Vec<Library>,
    pub threads: Vec<Thread>,
    pub pages: [(); 0],
    #[serde(rename = "profilerOverhead")]
    pub overhead: [(); 0],
    pub counters: [(); 0],
}

/// What holds for the whole recording.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    pub categories: [Category; 2],
    pub debug: bool,
    pub extensions: Extensions,
    /// Milliseconds between two samples.
    pub interval: f64,
    pub preprocessed_profile_version: u32,
    pub process_type: u32,
    pub product: String,
    pub oscpu: &'static str,
    pub sample_units: Units,
    /// Milliseconds since the Unix epoch.
    pub start_time: f64,
    pub symbolicated: bool,
    pub paused_ranges: [(); 0],
    /// Of the unprocessed format; not used.
    pub version: u32,
    pub uses_only_one_stack_type: bool,
    pub source_code_is_not_on_searchfox: bool,
    pub marker_schema: [(); 0],
}

/// Extensions of the browser: none.
#[derive(Debug, Default, Serialize)]
pub struct Extensions {
    pub length: usize,
    #[serde(rename = "baseURL")]
    pub urls: [(); 0],
    pub id: [(); 0],
    pub name: [(); 0],
}

/// Units of a sample's fields.
#[derive(Debug, Serialize)]
pub struct Units {
    pub time: &'static str,
    #[serde(rename = "eventDelay")]
    pub delay: &'static str,
    #[serde(rename = "threadCPUDelta")]
    pub busy: &'static str,
}

/// A kind of frames, shown in a colour.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Category {
    pub name: &'static str,
    pub color: &'static str,
    pub subcategories: [&'static str; 1],
}

/// A file that holds code.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Library {
    pub name: String,
    pub path: String,
    pub debug_name: String,
    pub debug_path: String,
    pub breakpad_id: String,
    pub code_id: Option<String>,
    pub arch: &'static str,
}

/// A thread with all that its samples refer to.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    pub process_type: &'static str,
    /// Milliseconds from the start of the recording, as all times.
    pub process_startup_time: f64,
    pub process_shutdown_time: Option<f64>,
    pub register_time: f64,
    pub unregister_time: Option<f64>,
    pub paused_ranges: [(); 0],
    pub process_name: String,
    pub name: String,
    pub is_main_thread: bool,
    pub show_markers_in_timeline: bool,
    pub pid: String,
    pub tid: u32,
    pub samples: Samples,
    pub markers: Markers,
    pub stack_table: Stacks,
    pub frame_table: Frames,
    pub func_table: Functions,
    pub resource_table: Resources,
    pub native_symbols: Symbols,
    pub string_array: Vec<String>,
}

/// Samples in order of time.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Samples {
    pub length: usize,
    pub weight_type: &'static str,
    pub stack: Vec<Option<usize>>,
    /// Milliseconds since the sample before.
    pub time_deltas: Vec<f64>,
    pub weight: Vec<u32>,
    /// Microseconds of CPU time since then.
    #[serde(rename = "threadCPUDelta")]
    pub busy: Vec<u64>,
}

/// Events of the browser: none.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Markers {
    pub length: usize,
    pub category: [(); 0],
    pub data: [(); 0],
    pub end_time: [(); 0],
    pub name: [(); 0],
    pub phase: [(); 0],
    pub start_time: [(); 0],
}

/// Stacks as a tree from the outermost caller.
#[derive(Debug, Default, Serialize)]
pub struct Stacks {
    pub length: usize,
    pub prefix: Vec<Option<usize>>,
    pub frame: Vec<usize>,
}

/// Frames: a function at a line.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Frames {
    pub length: usize,
    /// Address within the library; -1 if it is in none.
    pub address: Vec<i64>,
    /// How many inlined calls lie between the function of the symbol table and this one.
    pub inline_depth: Vec<u32>,
    pub category: Vec<usize>,
    pub subcategory: Vec<usize>,
    pub func: Vec<usize>,
    pub native_symbol: Vec<Option<usize>>,
    #[serde(rename = "innerWindowID")]
    pub window: Vec<u32>,
    pub line: Vec<Option<u32>>,
    pub column: Vec<Option<u32>>,
}

/// Functions of the source.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Functions {
    pub length: usize,
    pub name: Vec<usize>,
    #[serde(rename = "isJS")]
    pub is_script: Vec<bool>,
    #[serde(rename = "relevantForJS")]
    pub is_relevant_for_script: Vec<bool>,
    /// Where they come from; -1 if unknown.
    pub resource: Vec<i64>,
    pub file_name: Vec<Option<usize>>,
    pub line_number: Vec<Option<u32>>,
    pub column_number: Vec<Option<u32>>,
}

/// Where functions come from: libraries.
#[derive(Debug, Default, Serialize)]
pub struct Resources {
    pub length: usize,
    pub lib: Vec<usize>,
    pub name: Vec<usize>,
    pub host: Vec<Option<usize>>,
    /// 1: a library.
    #[serde(rename = "type")]
    pub kind: Vec<u32>,
}

/// Functions of symbol tables.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Symbols {
    pub length: usize,
    pub address: Vec<u64>,
    pub function_size: Vec<Option<u64>>,
    pub lib_index: Vec<usize>,
    pub name: Vec<usize>,
}
