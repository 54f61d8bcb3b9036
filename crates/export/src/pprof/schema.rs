//! The messages of pprof's `profile.proto`, as far as they are written. Texts are indexes into the table of
//! strings; numbers of fields are the format.

use prost::Message;

/// A whole profile.
#[derive(Clone, PartialEq, Message)]
pub struct Profile {
    /// What each value of a sample measures.
    #[prost(message, repeated, tag = "1")]
    pub sample_type: Vec<ValueType>,
    /// Stacks with their values.
    #[prost(message, repeated, tag = "2")]
    pub sample: Vec<Sample>,
    /// Files that hold code; the first is the program itself.
    #[prost(message, repeated, tag = "3")]
    pub mapping: Vec<Mapping>,
    /// Instructions.
    #[prost(message, repeated, tag = "4")]
    pub location: Vec<Location>,
    /// Functions.
    #[prost(message, repeated, tag = "5")]
    pub function: Vec<Function>,
    /// All texts; the first is empty.
    #[prost(string, repeated, tag = "6")]
    pub string_table: Vec<String>,
    /// Start of the recording, nanoseconds since the Unix epoch.
    #[prost(int64, tag = "9")]
    pub time_nanos: i64,
    /// From start to end.
    #[prost(int64, tag = "10")]
    pub duration_nanos: i64,
    /// What the period measures.
    #[prost(message, optional, tag = "11")]
    pub period_type: Option<ValueType>,
    /// The amount between two samples.
    #[prost(int64, tag = "12")]
    pub period: i64,
    /// Words for the reader.
    #[prost(int64, repeated, tag = "13")]
    pub comment: Vec<i64>,
    /// Which value to show unless another is asked for.
    #[prost(int64, tag = "14")]
    pub default_sample_type: i64,
}

/// A quantity and its unit.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct ValueType {
    /// Its name.
    #[prost(int64, tag = "1")]
    pub r#type: i64,
    /// Its unit.
    #[prost(int64, tag = "2")]
    pub unit: i64,
}

/// A stack and what was measured of it.
#[derive(Clone, PartialEq, Message)]
pub struct Sample {
    /// Ids of locations, innermost first.
    #[prost(uint64, repeated, tag = "1")]
    pub location_id: Vec<u64>,
    /// As many as there are types.
    #[prost(int64, repeated, tag = "2")]
    pub value: Vec<i64>,
    /// What else is known.
    #[prost(message, repeated, tag = "3")]
    pub label: Vec<Label>,
}

/// A property of a sample.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Label {
    /// Its name.
    #[prost(int64, tag = "1")]
    pub key: i64,
    /// Its value, if that is a text.
    #[prost(int64, tag = "2")]
    pub str: i64,
    /// Its value, if that is a number.
    #[prost(int64, tag = "3")]
    pub num: i64,
}

/// A file that holds code, and where it lies.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Mapping {
    /// Not 0.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// First address.
    #[prost(uint64, tag = "2")]
    pub memory_start: u64,
    /// Address behind the last.
    #[prost(uint64, tag = "3")]
    pub memory_limit: u64,
    /// Offset in the file of the first address.
    #[prost(uint64, tag = "4")]
    pub file_offset: u64,
    /// Path of the file.
    #[prost(int64, tag = "5")]
    pub filename: i64,
    /// Its build id in hexadecimal digits.
    #[prost(int64, tag = "6")]
    pub build_id: i64,
    /// Names of functions are in the profile.
    #[prost(bool, tag = "7")]
    pub has_functions: bool,
    /// Names of source files are in the profile.
    #[prost(bool, tag = "8")]
    pub has_filenames: bool,
    /// Source lines are in the profile.
    #[prost(bool, tag = "9")]
    pub has_line_numbers: bool,
    /// Inlined calls are in the profile.
    #[prost(bool, tag = "10")]
    pub has_inline_frames: bool,
}

/// An instruction.
#[derive(Clone, PartialEq, Message)]
pub struct Location {
    /// Not 0.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// The mapping that holds it; 0 if none does.
    #[prost(uint64, tag = "2")]
    pub mapping_id: u64,
    /// Its address.
    #[prost(uint64, tag = "3")]
    pub address: u64,
    /// Its source line, then those of the calls by which it was inlined.
    #[prost(message, repeated, tag = "4")]
    pub line: Vec<Line>,
}

/// A source line.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Line {
    /// Its function.
    #[prost(uint64, tag = "1")]
    pub function_id: u64,
    /// Its number; 0 if unknown.
    #[prost(int64, tag = "2")]
    pub line: i64,
}

/// A function.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct Function {
    /// Not 0.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Its name for people.
    #[prost(int64, tag = "2")]
    pub name: i64,
    /// Its name for the linker, if that is another.
    #[prost(int64, tag = "3")]
    pub system_name: i64,
    /// The source file.
    #[prost(int64, tag = "4")]
    pub filename: i64,
    /// The line where it begins.
    #[prost(int64, tag = "5")]
    pub start_line: i64,
}
