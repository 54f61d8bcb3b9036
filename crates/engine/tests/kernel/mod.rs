//! Small programs in assembly, counted, and what is asked of their profiles.

use object::{Object, ObjectSymbol};
use std::path::{Path, PathBuf};
use std::process::Command;
use timewise_engine::{Counted, Options};
use timewise_profile::{BlockId, EdgeKind, Offset, ProcessId, Profile};
use timewise_target::launch::Launch;

/// A counted program.
pub struct Kernel {
    program: PathBuf,
    /// What was counted.
    pub counted: Counted,
    _folder: tempfile::TempDir,
}

/// An edge between labels; `None` is outside.
pub type LabelledEdge = (Option<&'static str>, Option<&'static str>, EdgeKind, u64);

impl Kernel {
    /// Assembles a freestanding program, counts it, and checks what holds of every profile.
    pub fn count(assembly: &str) -> Kernel {
        let kernel = Kernel::count_unchecked(assembly);
        assert_eq!(kernel.counted.failure, None);
        assert_eq!(kernel.counted.imbalance, 0, "{:?}", kernel.profile().runs[0].warnings);
        assert_eq!(kernel.profile().imbalances(), []);
        kernel
    }

    /// Likewise, of a program whose flow of control may not balance.
    pub fn count_unchecked(assembly: &str) -> Kernel {
        let folder = tempfile::tempdir().unwrap();
        let [source, program] = ["kernel.s", "kernel"].map(|name| folder.path().join(name));
        let intel = format!(".intel_syntax noprefix\n.globl _start\n{assembly}\n");
        std::fs::write(&source, intel).unwrap();
        let built = Command::new("cc")
            .args(["-nostdlib", "-static", "-Wl,-z,noexecstack", "-o"])
            .args([&program, &source])
            .status();
        assert!(built.expect("cc runs").success());
        let counted = timewise_engine::count(Launch::new(&program), &Options::default()).unwrap();
        counted.profile.check().unwrap();
        Kernel { program, counted, _folder: folder }
    }

    /// The profile.
    pub fn profile(&self) -> &Profile {
        &self.counted.profile
    }

    /// Path of the program.
    pub fn path(&self) -> &Path {
        &self.program
    }

    fn symbol(&self, name: &str) -> Offset {
        let data = std::fs::read(&self.program).unwrap();
        let file = object::File::parse(&*data).unwrap();
        let symbol = file.symbols().find(|symbol| symbol.name() == Ok(name));
        Offset(symbol.unwrap_or_else(|| panic!("no label {name}")).address())
    }

    /// The block that begins at a label.
    pub fn block(&self, label: &str) -> BlockId {
        let offset = self.symbol(label);
        let blocks = &self.profile().blocks;
        let block = blocks.iter().position(|block| block.place.offset == offset);
        BlockId(block.unwrap_or_else(|| panic!("no block at {label}: {blocks:x?}")) as u32)
    }

    /// Instructions of the block at a label, and its executions in a process.
    pub fn counts(&self, label: &str, process: u32) -> (u32, u64) {
        let block = self.block(label);
        let of = |c: &&timewise_profile::BlockCount| c.block == block && c.process == ProcessId(process);
        let executions = self.profile().block_counts.iter().find(of).map_or(0, |count| count.executions);
        (self.profile().blocks[block.index()].instructions, executions)
    }

    /// All edges of a process, by the labels that their blocks begin at.
    pub fn edges(&self, process: u32, labels: &[&'static str]) -> Vec<LabelledEdge> {
        let name = |id: Option<BlockId>| {
            id.map(|id| *labels.iter().find(|label| self.block(label) == id).expect("a label for each block"))
        };
        let edges = self.profile().edge_counts.iter().filter(|edge| edge.process == ProcessId(process));
        let mut edges: Vec<LabelledEdge> =
            edges.map(|edge| (name(edge.from), name(edge.to), edge.kind, edge.count)).collect();
        edges.sort_unstable();
        edges
    }
}
