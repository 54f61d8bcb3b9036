//! The modules of a recording, each once.

use crate::address_space::{AddressSpace, Mapping};
use std::collections::HashMap;
use timewise_profile::{Module, ModuleId, ModuleKind};

/// Modules by identity.
#[derive(Debug, Default)]
pub struct Modules {
    all: Vec<Module>,
    ids: HashMap<(u64, Module), ModuleId>,
}

impl Modules {
    /// The module like this one, which is added if there is none. `owner` tells apart what is equal but of
    /// several processes; 0 for what is the same in all.
    pub fn intern(&mut self, owner: u64, module: Module) -> ModuleId {
        let all = &mut self.all;
        *self.ids.entry((owner, module)).or_insert_with_key(|(_, module)| push(all, module.clone()))
    }

    /// Adds a module, whatever is like it.
    pub fn add(&mut self, module: Module) -> ModuleId {
        push(&mut self.all, module)
    }

    /// What stands for code from `start` to `end` that was written at run time. Such code is announced again
    /// whenever its protection changes, in pieces or as a whole: what touches a known region continues it,
    /// so that offsets keep their meaning.
    pub fn written_code(&mut self, space: &AddressSpace, owner: u64, start: u64, end: u64) -> Mapping {
        let known = space.touching(start, end);
        let known = known.filter(|m| self.kind(m.module) == ModuleKind::Jit && m.bias <= start);
        if let Some(region) = known {
            return Mapping { end, ..region };
        }
        let path = format!("[jit {start:#x}]").into_bytes();
        let module = self.intern(owner, Module { kind: ModuleKind::Jit, path, build_id: Vec::new() });
        Mapping { end, module, bias: start }
    }

    /// A module by id.
    pub fn get(&self, module: ModuleId) -> &Module {
        &self.all[module.index()]
    }

    /// What a module is.
    pub fn kind(&self, module: ModuleId) -> ModuleKind {
        self.get(module).kind
    }

    /// All modules, in the order of their ids.
    pub fn into_vec(self) -> Vec<Module> {
        self.all
    }
}

fn push(all: &mut Vec<Module>, module: Module) -> ModuleId {
    all.push(module);
    ModuleId(all.len() as u32 - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_profile::Offset;

    #[test]
    fn code_written_in_pieces_is_one_module() {
        let mut modules = Modules::default();
        let mut space = AddressSpace::default();
        let pieces = [
            (0x10000, 0x11000),
            (0x11000, 0x12000),
            (0x10000, 0x13000),
            (0x10800, 0x10900),
            (0x90000, 0x91000),
        ];
        for (start, end) in pieces {
            let mapping = modules.written_code(&space, 1, start, end);
            space.map(start, mapping);
        }
        let found =
            |space: &AddressSpace, address| space.place(address).map(|place| (place.module, place.offset));
        assert_eq!(found(&space, 0x12345), Some((ModuleId(0), Offset(0x2345))));
        assert_eq!(found(&space, 0x10880), Some((ModuleId(0), Offset(0x880))));
        let mut stranger = AddressSpace::default();
        let mapping = modules.written_code(&stranger, 2, 0x10000, 0x11000);
        stranger.map(0x10000, mapping);
        assert_eq!(found(&stranger, 0x10000), Some((ModuleId(2), Offset(0))));
        let names: Vec<Vec<u8>> = modules.into_vec().into_iter().map(|module| module.path).collect();
        assert_eq!(names, [&b"[jit 0x10000]"[..], b"[jit 0x90000]", b"[jit 0x10000]"]);
    }
}
