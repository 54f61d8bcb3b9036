//! A processor as one record: every size, width and latency of the model, read from a TOML file.
//!
//! Records of known processors are in `processors/`, each number with its source in a comment. One's own is
//! made by copying the nearest and changing it. All latencies are in cycles of the core.

mod backend;
mod frontend;
mod ranges;
mod storage;

pub use backend::{Backend, Commit, Kind, Ordering, ShortStrings, Timing, Treatment};
pub use frontend::{BranchPredictor, Fetch, OpCache, Rename, Tage};
pub(crate) use frontend::{INTEGERS, VECTORS};
pub use storage::{CacheRecord, Loads, Memory, Prefetch, Stores, Tlb, Translation};

use crate::code::Code;
pub(crate) use backend::MOST_PORTS;
pub(crate) use ranges::part;
use serde::Deserialize;
use timewise_target::machine::Core;

/// A processor.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Processor {
    /// Its name, as given on the command line.
    pub name: String,
    /// What it is, in a line.
    pub about: String,
    /// Fetching.
    pub fetch: Fetch,
    /// The cache of decoded instructions, if there is one.
    pub op_cache: Option<OpCache>,
    /// Branch prediction.
    pub branches: BranchPredictor,
    /// Decoding, renaming and dispatch.
    pub rename: Rename,
    /// Schedulers, ports and what instructions take there.
    pub backend: Backend,
    /// Commit.
    pub commit: Commit,
    /// Loads.
    pub loads: Loads,
    /// Stores.
    pub stores: Stores,
    /// Caches and memory.
    pub memory: Memory,
    /// Address translation.
    pub translation: Translation,
}

/// Why there is no such processor.
#[derive(Debug, thiserror::Error)]
pub enum ProcessorError {
    /// None has this name.
    #[error("no processor is called {0}: give a TOML file, or one of {names}", names = names().collect::<Vec<_>>().join(", "))]
    Unknown(String),
    /// The record cannot be read.
    #[error("{0}")]
    Malformed(String),
    /// It can be read, but makes no processor.
    #[error("{0}")]
    Senseless(String),
}

const RECORDS: [(&str, &str); 6] = [
    ("boom-4w-tea", include_str!("../../processors/boom-4w-tea.toml")),
    ("boom-4w-tip", include_str!("../../processors/boom-4w-tip.toml")),
    ("raptor-cove", include_str!("../../processors/raptor-cove.toml")),
    ("zen-1", include_str!("../../processors/zen-1.toml")),
    ("zen-4", include_str!("../../processors/zen-4.toml")),
    ("zen-5", include_str!("../../processors/zen-5.toml")),
];

/// The names of the processors that come with the program.
pub fn names() -> impl Iterator<Item = &'static str> {
    RECORDS.into_iter().map(|(name, _)| name)
}

/// The name of the one that is such a core.
pub fn name_of(core: Core) -> &'static str {
    match core {
        Core::Zen => "zen-1",
        Core::Zen4 => "zen-4",
        Core::Zen5 => "zen-5",
        Core::GoldenCove => "raptor-cove",
    }
}

impl Processor {
    /// The processor of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn named(name: &str) -> Result<Processor, ProcessorError> {
        let record = RECORDS.iter().find(|(known, _)| *known == name);
        let (_, text) = record.ok_or_else(|| ProcessorError::Unknown(name.to_string()))?;
        Processor::parse(text)
    }

    /// The processor that a TOML file describes.
    ///
    /// # Errors
    /// If a field is missing, unknown or of another type, numbers contradict each other, or something is named that is
    /// not there. What is no error here can be simulated.
    pub fn parse(text: &str) -> Result<Processor, ProcessorError> {
        let processor: Processor = toml::from_str(text).map_err(|error| malformed(text, &error))?;
        processor.check().map_err(ProcessorError::Senseless)?;
        // Whether all that it names is there.
        Code::new(&processor)?;
        Ok(processor)
    }

    /// All that describes the processor, with the table of instructions if it uses that: what is described alike takes
    /// the same cycles, as long as the model itself stays as it is.
    pub fn description(&self) -> String {
        let table = self.backend.model.as_ref().map_or("", |_| crate::code::TABLE);
        format!("{self:?}\n{table}")
    }

    /// Whether every number is in its range, which stands next to the part of the record that it is of.
    fn check(&self) -> Result<(), String> {
        if self.name.trim().is_empty() {
            return Err("name is empty: say what the core is called".to_string());
        }
        part("fetch", self.fetch.check())?;
        part("op_cache", self.op_cache.as_ref().map_or(Ok(()), OpCache::check))?;
        part("branches", self.branches.check())?;
        part("rename", self.rename.check())?;
        part("backend", self.backend.check())?;
        part("commit", self.commit.check())?;
        part("loads", self.loads.check())?;
        part("stores", self.stores.check())?;
        part("memory", self.memory.check())?;
        part("translation", self.translation.check())
    }
}

/// Where a text is no record, and why, in one line.
fn malformed(text: &str, error: &toml::de::Error) -> ProcessorError {
    let reason = error.message().lines().collect::<Vec<_>>().join(", ");
    let Some(span) = error.span() else { return ProcessorError::Malformed(reason) };
    let before = text.get(..span.start).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    // Of a value, the name of its field.
    let field = before.trim_end().strip_suffix('=').and_then(|before| before.split_whitespace().next_back());
    let field = field.map(|field| format!("{field}: ")).unwrap_or_default();
    ProcessorError::Malformed(format!("line {line}: {field}{reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_records_are_records() {
        for name in names() {
            let processor = Processor::named(name).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(processor.name, name);
        }
    }

    #[test]
    fn cores_have_records() {
        let cores = [Core::Zen, Core::Zen4, Core::Zen5, Core::GoldenCove];
        assert!(cores.into_iter().all(|core| names().any(|known| known == name_of(core))));
    }

    #[test]
    fn what_differs_is_described_otherwise() {
        let zen = Processor::named("zen-4").unwrap();
        assert_eq!(zen.description(), Processor::named("zen-4").unwrap().description());
        let mut slower = zen.clone();
        slower.memory.latency += 1;
        assert_ne!(zen.description(), slower.description());
        // Without the table it would have to be told what instructions take.
        let mut plain = zen.clone();
        plain.backend.model = None;
        assert_ne!(zen.description(), plain.description());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let unknown = Processor::named("pentium").unwrap_err().to_string();
        assert!(unknown.contains("pentium") && unknown.contains("zen-4"), "{unknown}");
        let text = RECORDS[4].1;
        let wide = text.replacen("[commit]\nwidth = 8", "[commit]\nwidth = 64", 1);
        assert_ne!(wide, text);
        assert!(Processor::parse(&wide).unwrap_err().to_string().contains("commit.width"));
        let odd = text.replacen("[commit]\n", "[commit]\nheight = 3\n", 1);
        assert!(Processor::parse(&odd).unwrap_err().to_string().contains("height"));
        let unknown = Processor::parse("[x]").unwrap_err().to_string();
        assert!(unknown.starts_with("line 1: unknown field `x`, expected "), "{unknown}");
        let fault = |from: &str, to: &str| {
            let changed = text.replacen(from, to, 1);
            assert_ne!(changed, text, "{from}");
            Processor::parse(&changed).unwrap_err().to_string()
        };
        let no_port = "there is no port X";
        let not_in_the_buffer = "commit.delay is 0: give 1 to ";
        for (from, to, said) in [
            ("model = \"znver4\"", "model = \"znver9\"", "backend.model is znver9: give one of "),
            ("\ndelay = 1 ", "\ndelay = 0 ", not_in_the_buffer),
            ("data_ports = [", "data_ports = [\"X\", ", &format!("stores.data_ports: {no_port}")),
            ("vector_ports = [", "vector_ports = [\"X\", ", &format!("loads.vector_ports: {no_port}")),
            ("\"FP45.1\", \"FDIV\"]", "\"FP45.1\", \"X\"]", &format!("backend.queues.ports: {no_port}")),
            ("model_memory_ports = [", "model_memory_ports = [\"X\", ", no_port),
            ("\"Divsd_*\"", "\"Dvisd_*\"", "backend.instructions.\"Dvisd_*\": there is no such encoding"),
            ("[[\"FDIV\"], ", "[[\"X\"], ", no_port),
            ("[[\"FDIV\"], ", "[[], ", "a µop has no port to go to"),
            ("\"STORE0\"", "\"STORE1\"", "backend.ports: there are two called STORE1"),
        ] {
            let fault = fault(from, to);
            assert!(fault.contains(said) && !fault.contains('\n'), "{fault}");
        }
        let nameless = fault("name = \"zen-4\"", "name = \" \"");
        assert_eq!(nameless, "name is empty: say what the core is called");
        let word = text.replacen("[commit]\nwidth = 8", "[commit]\nwidth = 'wide'", 1);
        let word = Processor::parse(&word).unwrap_err().to_string();
        assert!(word.contains(": width: invalid type") && !word.contains('\n'), "{word}");
    }
}
