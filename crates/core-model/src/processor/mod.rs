//! A processor as one record: every size, width and latency of the model, read from a TOML file.
//!
//! Records of known processors are in `processors/`, each number with its source in a comment. One's own is
//! made by copying the nearest and changing it. All latencies are in cycles of the core.

mod backend;
mod frontend;
mod storage;

pub use backend::{Backend, Commit, Kind, Ordering, Timing, Treatment};
pub use frontend::{BranchPredictor, Fetch, OpCache, Rename, Tage};
pub use storage::{CacheRecord, Loads, Memory, Prefetch, Stores, Tlb, Translation};

use serde::Deserialize;

/// A processor.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Processor {
    /// Its name, as given on the command line.
    pub name: String,
    /// What it is, in a line.
    pub about: String,
    /// Core clock in GHz, by which cycles become seconds.
    pub clock_ghz: f64,
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
    #[error("the processor's record is no such record: {0}")]
    Malformed(#[from] toml::de::Error),
    /// It can be read, but makes no processor.
    #[error("the processor's record makes no sense: {0}")]
    Senseless(String),
}

const RECORDS: [(&str, &str); 4] = [
    ("boom-4w-tea", include_str!("../../processors/boom-4w-tea.toml")),
    ("boom-4w-tip", include_str!("../../processors/boom-4w-tip.toml")),
    ("raptor-cove", include_str!("../../processors/raptor-cove.toml")),
    ("zen-4", include_str!("../../processors/zen-4.toml")),
];

/// The names of the processors that come with the program.
pub fn names() -> impl Iterator<Item = &'static str> {
    RECORDS.into_iter().map(|(name, _)| name)
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
    /// If a field is missing, unknown or of another type, or numbers contradict each other.
    pub fn parse(text: &str) -> Result<Processor, ProcessorError> {
        let processor: Processor = toml::from_str(text)?;
        processor.check().map_err(ProcessorError::Senseless)?;
        Ok(processor)
    }

    /// All that describes the processor, with the table of instructions if it uses that: what is described alike takes
    /// the same cycles, as long as the model itself stays as it is.
    pub fn description(&self) -> String {
        let table = self.backend.model.as_ref().map_or("", |_| crate::code::TABLE);
        format!("{self:?}\n{table}")
    }

    fn check(&self) -> Result<(), String> {
        let widths = [
            ("fetch.width", self.fetch.width),
            ("fetch.bytes", self.fetch.bytes),
            ("fetch.buffer", self.fetch.buffer),
            ("op_cache.bytes", self.op_cache.as_ref().map_or(1, |cache| cache.bytes)),
            ("rename.width", self.rename.width),
            ("rename.reorder_buffer", self.rename.reorder_buffer),
            ("commit.width", self.commit.width),
            ("loads.queue", self.loads.queue),
            ("stores.queue", self.stores.queue),
        ];
        if let Some((name, _)) = widths.into_iter().find(|(_, width)| *width == 0) {
            return Err(format!("{name} is 0, nothing would ever happen"));
        }
        if self.commit.width as usize > timewise_trace::WIDTH {
            return Err(format!("commit.width is over {}, the most that is recorded", timewise_trace::WIDTH));
        }
        if self.rename.reorder_buffer > 4096 || self.fetch.buffer > 4096 {
            return Err("rename.reorder_buffer and fetch.buffer can be 4096 at most".into());
        }
        for (name, cache) in self.memory.caches() {
            cache.check().map_err(|fault| format!("memory.{name}: {fault}"))?;
        }
        self.backend.check()
    }
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
        let text = RECORDS[3].1;
        let wide = text.replacen("[commit]\nwidth = 8", "[commit]\nwidth = 64", 1);
        assert_ne!(wide, text);
        assert!(Processor::parse(&wide).unwrap_err().to_string().contains("commit.width"));
        let odd = text.replacen("[commit]\n", "[commit]\nheight = 3\n", 1);
        assert!(Processor::parse(&odd).unwrap_err().to_string().contains("height"));
    }
}
