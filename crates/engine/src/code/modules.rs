//! The modules of all processes: names and build ids of what was mapped, each once.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use timewise_abi::log::MappingRecord;
use timewise_image::{Headers, Image};
use timewise_profile::{Module, ModuleId, ModuleKind, Offset};
use timewise_target::address_space::{AddressSpace, Mapping, kind_of};
use timewise_target::modules;

/// A change of a process's address space.
#[derive(Clone, Debug)]
pub struct Mapped {
    /// What the runtime or the host says of it.
    pub record: MappingRecord,
    /// Path of the mapped file, or a name in brackets.
    pub path: Vec<u8>,
}

/// Modules by identity.
#[derive(Debug, Default)]
pub struct Modules {
    known: modules::Modules,
    /// By path, device and number.
    files: HashMap<(Vec<u8>, u64, u64), File>,
    /// Files that code was compared with, none for those that cannot be read as they were.
    images: HashMap<ModuleId, Option<Image>>,
    /// Paths of files that were gone by the time that they were looked at.
    pub gone: Vec<Vec<u8>>,
}

/// A file that was mapped.
#[derive(Debug)]
struct File {
    headers: Headers,
    /// The module that it is, once code is placed in it.
    module: Option<ModuleId>,
}

impl Modules {
    /// Reads the headers of a file that was mapped a moment ago: another may stand at its path later, such as the program's
    /// next build.
    pub fn note(&mut self, mapped: &Mapped) {
        if mapped.record.mapped != 0 && kind_of(&mapped.path) == ModuleKind::File {
            self.look_at(mapped);
        }
    }

    /// Makes a change to an address space. `owner` is the process image that logged it: memory without a
    /// file is the same only within one, and what descends from it.
    pub fn apply(&mut self, space: &mut AddressSpace, owner: u64, mapped: &Mapped) {
        let record = &mapped.record;
        // Of no bytes, or of no sense.
        if record.start >= record.end {
            return;
        }
        if record.mapped == 0 {
            space.unmap(record.start, record.end);
            return;
        }
        let end = record.end;
        let mapping = match kind_of(&mapped.path) {
            ModuleKind::File => {
                let (module, headers) = self.file(mapped);
                let offset = headers.virtual_address(record.file_offset);
                Mapping { end, module, bias: record.start.wrapping_sub(offset) }
            }
            ModuleKind::Jit => self.known.written_code(space, owner, record.start, end),
            // The same in all processes, at addresses of their own.
            kind => {
                let module = Module { kind, path: mapped.path.clone(), build_id: Vec::new() };
                Mapping { end, module: self.known.intern(0, module), bias: record.start }
            }
        };
        space.map(record.start, mapping);
    }

    fn file(&mut self, mapped: &Mapped) -> (ModuleId, &Headers) {
        let (known, File { headers, module }) = self.look_at(mapped);
        let id = *module.get_or_insert_with(|| {
            let build_id = headers.build_id.clone();
            known.add(Module { kind: ModuleKind::File, path: mapped.path.clone(), build_id })
        });
        (id, headers)
    }

    /// A file as it was when it was first looked at, and the modules that there are.
    fn look_at(&mut self, mapped: &Mapped) -> (&mut modules::Modules, &mut File) {
        let key = (mapped.path.clone(), mapped.record.device, mapped.record.inode);
        let file = self.files.entry(key).or_insert_with(|| {
            let path = Path::new(OsStr::from_bytes(&mapped.path));
            let headers = if is_gone(path, mapped) {
                self.gone.push(mapped.path.clone());
                None
            } else {
                // Run-time systems map images of memory that are no ELF files.
                Headers::of_file(path)
            };
            File { headers: headers.unwrap_or_default(), module: None }
        });
        (&mut self.known, file)
    }

    /// Stands for code outside of all known mappings; offsets are addresses.
    pub fn unmapped(&mut self) -> ModuleId {
        let path = b"[unmapped]".into();
        self.known.intern(0, Module { kind: ModuleKind::Unknown, path, build_id: Vec::new() })
    }

    /// Whether other code stands in a module's file at an offset; false if it is not there to be read as it was.
    pub fn contradicts(&mut self, module: ModuleId, offset: Offset, code: &[u8]) -> bool {
        let Module { kind, path, build_id } = self.known.get(module);
        let open = || {
            let path = Path::new(OsStr::from_bytes(path));
            (*kind == ModuleKind::File).then(|| Image::open_same(path, build_id).ok())?
        };
        let image = self.images.entry(module).or_insert_with(open);
        let end = offset.0.saturating_add(code.len() as u64);
        image.as_ref().and_then(|image| image.code(offset.0..end)).is_some_and(|there| there != code)
    }

    /// A module by id.
    pub fn get(&self, module: ModuleId) -> &Module {
        self.known.get(module)
    }

    /// What a module is.
    pub fn kind(&self, module: ModuleId) -> ModuleKind {
        self.known.kind(module)
    }

    /// All modules, in the order of their ids.
    pub fn into_vec(self) -> Vec<Module> {
        self.known.into_vec()
    }
}

/// Whether the file that was mapped does not stand at its path any more. Overlay file systems show two numbers for one
/// file, so only one that is gone from its path is known to be another one.
fn is_gone(path: &Path, mapped: &Mapped) -> bool {
    let deleted = mapped.path.ends_with(b" (deleted)");
    path.metadata().map_or(true, |found| deleted && found.ino() != mapped.record.inode)
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_profile::Offset;

    fn found(space: &AddressSpace, address: u64) -> Option<(ModuleId, Offset)> {
        space.place(address).map(|place| (place.module, place.offset))
    }

    fn mapped(start: u64, end: u64, path: &str, inode: u64) -> Mapped {
        let path_length = path.len() as u32;
        let record = MappingRecord { start, end, file_offset: 0, device: 0, inode, mapped: 1, path_length };
        Mapped { record, path: path.into() }
    }

    #[test]
    fn our_own_code_lands_on_its_link_time_addresses() {
        let program = std::env::current_exe().unwrap();
        let inode = program.metadata().unwrap().ino();
        let (mut modules, mut space) = (Modules::default(), AddressSpace::default());
        let path = program.to_str().unwrap();
        modules.apply(&mut space, 1, &mapped(0x5000_0000, 0x5000_1000, path, inode));
        assert_eq!(found(&space, 0x5000_0010), Some((ModuleId(0), Offset(0x10))));
        assert_eq!(modules.kind(ModuleId(0)), ModuleKind::File);
        modules.apply(&mut space, 1, &mapped(0x6000_0000, 0x6000_1000, "/gone (deleted)", 1));
        modules.apply(&mut space, 1, &mapped(0x7000_0000, 0x7000_1000, "/proc/self/cmdline", 1));
        assert_eq!(found(&space, 0x7000_0010).map(|(_, offset)| offset), Some(Offset(0x10)));
        assert_eq!(modules.gone, [b"/gone (deleted)"], "what is no ELF file is not gone");
    }

    #[test]
    fn a_file_is_what_stood_at_its_path_when_it_was_mapped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        std::fs::copy(std::env::current_exe().unwrap(), &path).unwrap();
        let [build_id, none] = [path.as_path(), Path::new("/proc/self/cmdline")]
            .map(|path| Headers::of_file(path).unwrap_or_default().build_id);
        assert_ne!(build_id, none);
        let mapped = mapped(0x5000_0000, 0x5000_1000, path.to_str().unwrap(), path.metadata().unwrap().ino());
        let (mut modules, mut space) = (Modules::default(), AddressSpace::default());
        modules.note(&mapped);
        std::fs::write(&path, "another").unwrap();
        modules.apply(&mut space, 1, &mapped);
        assert_eq!(modules.get(ModuleId(0)).build_id, build_id);
    }
}
