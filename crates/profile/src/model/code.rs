//! Code: where it lies, what it belongs to, and what it is.

use super::{FileId, ModuleId, Profile};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Link-time virtual address within a module; for code without a file, relative to its mapping.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Offset(pub u64);

/// Which code stood at an address when it ran: 0 for code of a file, counting up for code
/// written at run time, whose bytes change while the address stays.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct CodeVersion(pub u32);

/// One place in code, independent of where the module was loaded.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Place {
    /// The module that holds the code.
    pub module: ModuleId,
    /// Which of the codes that stood there.
    pub version: CodeVersion,
    /// Where in the module.
    pub offset: Offset,
}

impl Place {
    /// The last byte of the call that returns here: what it returns to may belong to another function or line, or lie
    /// behind all code, where the call never does.
    pub fn call_before(self) -> Place {
        Place { offset: Offset(self.offset.0.saturating_sub(1)), ..self }
    }
}

impl Profile {
    /// Rows of the calls that the compiler replaced by what they call, and which stand at a place: innermost first.
    pub fn inlined_at(&self, place: Place) -> Range<usize> {
        let first = self.inlined_calls.partition_point(|call| call.place < place);
        first..first + self.inlined_calls[first..].partition_point(|call| call.place == place)
    }
}

/// What kind of code a module is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ModuleKind {
    /// A file that was mapped.
    File,
    /// Code that the kernel provides (`[vdso]`).
    Vdso,
    /// Memory that the program wrote code into.
    Jit,
    /// The kernel (samples only).
    Kernel,
    /// Anything else.
    Unknown,
}

/// A file or mapping that holds code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Module {
    /// What it is.
    pub kind: ModuleKind,
    /// Path as mapped, or a name such as `[vdso]`, `[jit 0x7f0012340000]`.
    pub path: Vec<u8>,
    /// Build id of the file, empty if it has none.
    pub build_id: Vec<u8>,
}

/// A source file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceFile {
    /// Path as the compiler recorded it, made absolute where it says how.
    pub path: String,
}

/// A function, or the nearest thing to it in a stripped module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// First instruction.
    pub place: Place,
    /// Length in bytes.
    pub size: u64,
    /// Demangled name; made from the module and offset when there is no symbol.
    pub name: String,
    /// Name as in the symbol table; empty when there is no symbol.
    pub symbol: String,
    /// Where it is declared, if line tables say so.
    pub file: Option<FileId>,
    /// First line, 0 if unknown.
    pub line: u32,
}

/// Source position of code from `place` up to the next row of the same module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// First byte that the row speaks of.
    pub place: Place,
    /// Source file; `None` ends a sequence.
    pub file: Option<FileId>,
    /// Line, 0 if unknown.
    pub line: u32,
}

/// A function whose code the compiler put where it was called, at one place that was sampled or called from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlinedCall {
    /// The place.
    pub place: Place,
    /// How many further functions were put into this one there: 0 for the innermost.
    pub depth: u32,
    /// Demangled name.
    pub function: String,
    /// Where it was called, in the function of the next depth, or else in that of the symbol table.
    pub file: Option<FileId>,
    /// Line of the call, 0 if unknown.
    pub line: u32,
}

/// A block in the compiler's sense: one way in at the top, one way out at the bottom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// First instruction.
    pub place: Place,
    /// Instructions in the block.
    pub instructions: u32,
    /// The code itself, as executed.
    pub code: Vec<u8>,
}
