//! Translated blocks by place: what several processes, or one process several times, translated alike is
//! one piece.

use crate::code::{KnownBytes, Modules};
use std::collections::HashMap;
use timewise_profile::{CodeVersion, ModuleId, ModuleKind, Offset, Place};

/// Index of a piece.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PieceId(pub u32);

impl PieceId {
    /// Position in [`Pieces::all`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Straight code with one way in, as it was translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// Its first instruction.
    pub place: Place,
    /// Bytes of code.
    pub length: u16,
    /// Instructions.
    pub instructions: u16,
}

/// All pieces of all processes.
#[derive(Debug, Default)]
pub struct Pieces {
    all: Vec<Piece>,
    ids: HashMap<Piece, PieceId>,
    bytes: KnownBytes,
    /// Versions of code without a file, by process image and its own numbering.
    written: HashMap<(ModuleId, u64, u32), CodeVersion>,
    versions: HashMap<ModuleId, u32>,
}

/// A translated block with all that tells it from others.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// The process image that translated it.
    pub owner: u64,
    /// Its module.
    pub module: ModuleId,
    /// Where in the module.
    pub offset: Offset,
    /// The image's own number for the code that stood there.
    pub version: u32,
    /// Instructions.
    pub instructions: u16,
    /// The code.
    pub code: &'a [u8],
}

impl Pieces {
    /// The piece that a translated block is.
    pub fn add(&mut self, modules: &mut Modules, found: &Found) -> PieceId {
        let place = self.place(modules, found);
        let piece = Piece { place, length: found.code.len() as u16, instructions: found.instructions };
        *self.ids.entry(piece).or_insert_with(|| {
            self.bytes.learn(place, found.code);
            self.all.push(piece);
            PieceId(self.all.len() as u32 - 1)
        })
    }

    /// Code of a file is the same wherever it is mapped, unless its bytes contradict that: then somebody
    /// wrote to it, and it gets a version of its own. What stood there before may not have been executed; so
    /// code that may have been written is compared with the file. Code without a file is told apart by image
    /// and version, for two of them may write different code to one address.
    fn place(&mut self, modules: &mut Modules, found: &Found) -> Place {
        let at = |version| Place { module: found.module, version, offset: found.offset };
        let written = modules.kind(found.module) == ModuleKind::Jit;
        let key = (found.module, found.owner, found.version);
        let may_be_written = found.version > 0 && !written;
        let is_others = may_be_written && modules.contradicts(found.module, found.offset, found.code);
        let versions = self.versions.entry(found.module).or_default();
        // The first is the file's.
        let first = u32::from(is_others);
        *versions = (*versions).max(first);
        let known = match written {
            true => self.written.get(&key).copied().filter(|&v| self.bytes.agrees(at(v), found.code)),
            false => (first..*versions).map(CodeVersion).find(|&v| self.bytes.agrees(at(v), found.code)),
        };
        let version = known.unwrap_or_else(|| {
            let new = CodeVersion(*versions);
            *versions += 1;
            if written {
                self.written.insert(key, new);
            }
            new
        });
        at(version)
    }

    /// All pieces, in the order of their ids.
    pub fn all(&self) -> &[Piece] {
        &self.all
    }

    /// A piece by id.
    pub fn get(&self, id: PieceId) -> Piece {
        self.all[id.index()]
    }

    /// Code by place.
    pub fn code(&self, place: Place, length: usize) -> Vec<u8> {
        self.bytes.read(place, length)
    }
}
