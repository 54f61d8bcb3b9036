//! What the blocks are that streams name, while the program runs.

use super::Chunk;
use crate::code::Modules;
use crate::convert::{PieceId, Pieces, Translated};
use std::collections::HashMap;
use timewise_profile::{Module, Place};

/// Places of streamed blocks, before there is a profile of the run: modules are numbered as they are met.
#[derive(Debug, Default)]
pub struct Locator {
    modules: Modules,
    pieces: Pieces,
    /// Each image's own blocks.
    translated: HashMap<u64, Translated>,
}

impl Locator {
    /// Module, code version and offset of the first instruction of a block of a chunk's process image.
    pub fn place(&mut self, chunk: &Chunk, block: u32) -> Option<Place> {
        self.find(chunk, block).map(|piece| self.pieces.get(piece).place)
    }

    /// A number for the code of a block: that of all blocks which have the same bytes at the same place.
    pub fn piece(&mut self, chunk: &Chunk, block: u32) -> Option<u32> {
        self.find(chunk, block).map(|piece| piece.0)
    }

    /// Forgets what an image's own blocks are: it has ended. Asked again, it finds it out again.
    pub fn forget(&mut self, image: u64) {
        self.translated.remove(&image);
    }

    fn find(&mut self, chunk: &Chunk, block: u32) -> Option<PieceId> {
        let (image, at) = chunk.find(block)?;
        let translated = self.translated.entry(image.record).or_default();
        translated.extend(&mut self.modules, &mut self.pieces, chunk.images, image.record);
        translated.pieces.get(at).copied()
    }

    /// The module of a place that was given.
    pub fn module(&self, place: Place) -> &Module {
        self.modules.get(place.module)
    }
}
