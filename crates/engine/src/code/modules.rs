//! The modules of all processes: names and build ids of what was mapped, each once.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use timewise_abi::log::MappingRecord;
use timewise_image::{Headers, Image};
use timewise_profile::{Module, ModuleId, ModuleKind, Offset};
use timewise_target::address_space::{AddressSpace, Mapping, kind_of};
use timewise_target::mapped_file::{self, Identity};
use timewise_target::modules;

/// A change of a process's address space.
#[derive(Clone, Debug)]
pub struct Mapped {
    /// What the runtime or the host says of it.
    pub record: MappingRecord,
    /// Path of the mapped file, or a name in brackets.
    pub path: Vec<u8>,
    /// The number of the file as it was when this was noted.
    file: Option<usize>,
}

impl Mapped {
    /// One that was not noted yet.
    pub fn new(record: MappingRecord, path: Vec<u8>) -> Mapped {
        Mapped { record, path, file: None }
    }
}

/// Modules by identity.
#[derive(Debug, Default)]
pub struct Modules {
    known: modules::Modules,
    /// All files, and others that came to stand in their place.
    files: Vec<File>,
    /// The latest by path, device and number, which a linker's next output often gets again.
    latest: HashMap<(Vec<u8>, u64, u64), usize>,
    /// Where the files of modules were found.
    found: HashMap<ModuleId, PathBuf>,
    /// Files that code was compared with, none for those that cannot be read as they were.
    images: HashMap<ModuleId, Option<Image>>,
    /// Paths of files that were gone by the time that they were looked at.
    pub gone: Vec<Vec<u8>>,
}

/// A file that was mapped.
#[derive(Debug)]
struct File {
    headers: Headers,
    /// Where it was found, and its state then.
    found: Option<(PathBuf, State)>,
    /// The module that it is, once code is placed in it.
    module: Option<ModuleId>,
}

impl File {
    fn state(&self) -> Option<State> {
        self.found.as_ref().map(|(_, state)| *state)
    }

    /// Whether it is the one with these headers, of which something else may have changed, such as its owner.
    fn is_still(&self, headers: &Headers, state: State) -> bool {
        let content = |state: State| (state.size, state.written);
        *headers == self.headers
            && (!headers.build_id.is_empty() || self.state().map(content) == Some(content(state)))
    }
}

/// What the system says of a file and changes when the file does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct State {
    size: u64,
    /// In seconds and nanoseconds.
    written: (i64, i64),
    /// Likewise, also when it got another name or owner.
    changed: (i64, i64),
}

impl State {
    fn of(path: &Path) -> Option<State> {
        let found = path.metadata().ok()?;
        Some(State {
            size: found.size(),
            written: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

impl Modules {
    /// Reads the headers of a file that process `pid` mapped a moment ago: another may stand at its path later, such as
    /// the program's next build.
    pub fn note(&mut self, mapped: &mut Mapped, pid: u32) {
        if mapped.record.mapped != 0 && kind_of(&mapped.path) == ModuleKind::File {
            mapped.file = Some(self.look_at(mapped, pid));
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
        let number = mapped.file.unwrap_or_else(|| self.look_at(mapped, std::process::id()));
        let File { headers, found, module } = &mut self.files[number];
        let id = *module.get_or_insert_with(|| {
            let build_id = headers.build_id.clone();
            let found = found.as_ref().map(|(path, _)| path);
            let path = mapped_file::name(&mapped.path, &build_id, found.map(PathBuf::as_path));
            let id = self.known.add(Module { kind: ModuleKind::File, path, build_id });
            self.found.extend(found.map(|path| (id, path.clone())));
            id
        });
        (id, headers)
    }

    /// The number of a file of process `pid` as it is now.
    fn look_at(&mut self, mapped: &Mapped, pid: u32) -> usize {
        let MappingRecord { device, inode, .. } = mapped.record;
        let path = mapped_file::find(&mapped.path, pid, Identity { device, inode });
        let found = path.and_then(|path| State::of(&path).map(|state| (path, state)));
        let key = (mapped.path.clone(), device, inode);
        let known = self.latest.get(&key).copied();
        let state = found.as_ref().map(|(_, state)| *state);
        if let Some(known) = known.filter(|&known| state.is_none() || state == self.files[known].state()) {
            return known;
        }
        // Run-time systems map images of memory that are no ELF files.
        let headers = found.as_ref().and_then(|(path, _)| Headers::of_file(path)).unwrap_or_default();
        if let Some(known) = known
            && state.is_some_and(|state| self.files[known].is_still(&headers, state))
        {
            self.files[known].found = found;
            return known;
        }
        if found.is_none() {
            self.gone.push(mapped.path.clone());
        }
        self.files.push(File { headers, found, module: None });
        self.latest.insert(key, self.files.len() - 1);
        self.files.len() - 1
    }

    /// Stands for code outside of all known mappings; offsets are addresses.
    pub fn unmapped(&mut self) -> ModuleId {
        let path = b"[unmapped]".into();
        self.known.intern(0, Module { kind: ModuleKind::Unknown, path, build_id: Vec::new() })
    }

    /// Whether other code stands in a module's file at an offset; false if it is not there to be read as it was.
    pub fn contradicts(&mut self, module: ModuleId, offset: Offset, code: &[u8]) -> bool {
        let build_id = &self.known.get(module).build_id;
        let open = || Image::open_same(self.found.get(&module)?, build_id).ok();
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use timewise_profile::Offset;

    fn found(space: &AddressSpace, address: u64) -> Option<(ModuleId, Offset)> {
        space.place(address).map(|place| (place.module, place.offset))
    }

    fn mapped(start: u64, end: u64, path: &str, inode: u64) -> Mapped {
        let path_length = path.len() as u32;
        let record = MappingRecord { start, end, file_offset: 0, device: 0, inode, mapped: 1, path_length };
        Mapped::new(record, path.into())
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
        let number = || path.metadata().unwrap().ino();
        let mapped = |start: u64| mapped(start, start + 0x1000, path.to_str().unwrap(), number());
        let (mut modules, mut space) = (Modules::default(), AddressSpace::default());
        let noted = |modules: &mut Modules, start: u64| {
            let mut mapped = mapped(start);
            modules.note(&mut mapped, std::process::id());
            mapped
        };
        let first = noted(&mut modules, 0x5000_0000);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        let again = noted(&mut modules, 0x5100_0000);
        std::fs::write(&path, "another").unwrap();
        let other = noted(&mut modules, 0x5200_0000);
        assert_eq!(first.record.inode, other.record.inode);
        for mapped in [&other, &first, &again] {
            modules.apply(&mut space, 1, mapped);
        }
        let module = |start: u64| found(&space, start).unwrap().0;
        assert_eq!(module(0x5000_0000), module(0x5100_0000), "of which but the rights changed");
        assert_eq!(modules.get(module(0x5000_0000)).build_id, build_id);
        assert!(modules.get(module(0x5200_0000)).build_id.is_empty());
    }
}
