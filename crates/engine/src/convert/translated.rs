//! What each process image translated itself, as pieces.

use super::pieces::{Found, PieceId, Pieces};
use crate::code::Modules;
use crate::harvest::{Image, Images};
use timewise_profile::Offset;
use timewise_target::address_space::AddressSpace;

/// The pieces that an image's own blocks are, as far as they were logged when last looked at.
#[derive(Debug, Default)]
pub struct Translated {
    /// In the order of its blocks.
    pub pieces: Vec<PieceId>,
    /// Its memory when it translated the last of them.
    space: AddressSpace,
    /// Changes, inherited ones first, that led to that.
    applied: usize,
}

impl Translated {
    /// Goes on with what was logged since.
    pub fn extend(&mut self, modules: &mut Modules, pieces: &mut Pieces, images: &Images, record: u64) {
        // To find out what there is to it takes longer the more generations there are before it.
        let is_behind = |image: &&Image| self.pieces.len() < image.blocks.len();
        let Some(image) = images.get(record).filter(is_behind) else { return };
        let parts = images.parts(record, 2);
        let changes = parts.iter().flat_map(|(ancestor, range)| {
            ancestor.mappings[range.clone()].iter().map(|change| (ancestor.record, change))
        });
        let mut changes = changes.skip(self.applied);
        for (number, block) in image.blocks.iter().enumerate().skip(self.pieces.len()) {
            while self.applied < block.mappings as usize
                && let Some((owner, change)) = changes.next()
            {
                modules.apply(&mut self.space, owner, change);
                self.applied += 1;
            }
            let code = image.code(number);
            // What a program wrote over the records may place code behind the last address.
            let last = u64::MAX - code.len() as u64;
            let place = self.space.place(block.address).filter(|place| place.offset.0 <= last);
            let nowhere = || (modules.unmapped(), Offset(block.address.min(last)));
            let (module, offset) = place.map_or_else(nowhere, |place| (place.module, place.offset));
            let found = Found {
                owner: record,
                module,
                offset,
                version: block.version,
                instructions: block.instructions,
                code,
            };
            self.pieces.push(pieces.add(modules, &found));
        }
    }
}
