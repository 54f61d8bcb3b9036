//! The modules of a recording: names and build ids of what was mapped, each once.

use std::collections::HashMap;
use std::path::PathBuf;
use timewise_image::{Headers, Image};
use timewise_profile::{CodeVersion, Module, ModuleId, ModuleKind, Offset, Place};
use timewise_target::address_space::{AddressSpace, Mapping, kind_of};
use timewise_target::mapped_file::{self, Identity};
use timewise_target::maps::{self, Mapped};
use timewise_target::modules;
use timewise_target::perf::{FileIdentity, RawMapping};

/// Modules by identity, and the program headers of those that are files.
#[derive(Debug, Default)]
pub struct Modules {
    known: modules::Modules,
    kernel: Option<ModuleId>,
    headers: HashMap<ModuleId, Headers>,
    /// Where the files of modules were found.
    found: HashMap<ModuleId, PathBuf>,
    files: HashMap<(Vec<u8>, FileIdentity), ModuleId>,
    /// Paths whose file was gone or another one by the time that it was looked at.
    pub unreadable: Vec<Vec<u8>>,
}

impl Modules {
    /// Enters a mapping into the address space of its process.
    pub fn map(&mut self, space: &mut AddressSpace, raw: &RawMapping) {
        let end = raw.address.saturating_add(raw.length);
        let mapping = match kind_of(&raw.path) {
            ModuleKind::File => {
                let module = self.file(raw);
                let offset = match self.headers.get(&module) {
                    Some(headers) => headers.virtual_address(raw.file_offset),
                    None => raw.file_offset,
                };
                Mapping { end, module, bias: raw.address.wrapping_sub(offset) }
            }
            // One for all processes that have such code at this address.
            ModuleKind::Jit => self.known.written_code(space, 0, raw.address, end),
            kind => {
                let module = Module { kind, path: raw.path.clone(), build_id: Vec::new() };
                Mapping { end, module: self.known.intern(0, module), bias: raw.address }
            }
        };
        space.map(raw.address, mapping);
    }

    fn file(&mut self, raw: &RawMapping) -> ModuleId {
        let key = (raw.path.clone(), raw.identity.clone());
        if let Some(&id) = self.files.get(&key) {
            return id;
        }
        let found = find_file(raw);
        let headers = found.as_deref().and_then(Headers::of_file);
        if headers.is_none() && !is_jitdump(&raw.path) {
            self.unreadable.push(raw.path.clone());
        }
        let headers = headers.unwrap_or_default();
        let build_id = match &raw.identity {
            FileIdentity::BuildId(id) => id.clone(),
            FileIdentity::Inode { .. } => headers.build_id.clone(),
        };
        let path = mapped_file::name(&raw.path, &build_id, found.as_deref());
        let module = Module { kind: ModuleKind::File, path, build_id };
        let id = self.known.intern(0, module);
        self.headers.insert(id, headers);
        self.found.extend(found.map(|path| (id, path)));
        self.files.insert(key, id);
        id
    }

    /// The file of a module, or the kernel's code in every process; `None` if there is none or it changed.
    pub fn image(&self, id: ModuleId) -> Option<Image> {
        match self.known.kind(id) {
            ModuleKind::Vdso => Image::vdso().ok(),
            _ => Image::open_same(self.found.get(&id)?, &self.headers.get(&id)?.build_id).ok(),
        }
    }

    /// A place in the kernel, by run-time address.
    pub fn kernel_place(&mut self, address: u64) -> Place {
        let module = *self.kernel.get_or_insert_with(|| {
            let path = b"[kernel]".to_vec();
            self.known.intern(0, Module { kind: ModuleKind::Kernel, path, build_id: Vec::new() })
        });
        Place { module, version: CodeVersion::default(), offset: Offset(address) }
    }

    /// What a module is.
    pub fn kind(&self, module: ModuleId) -> ModuleKind {
        self.known.kind(module)
    }

    /// A module by id.
    pub fn get(&self, module: ModuleId) -> &Module {
        self.known.get(module)
    }

    /// All modules, in the order of their ids.
    pub fn into_vec(self) -> Vec<Module> {
        self.known.into_vec()
    }
}

/// Whether a path is that of a list of written code, which a program maps as a sign for profilers. It holds no
/// code that is executed.
fn is_jitdump(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    name.starts_with(b"jit-") && name.ends_with(b".dump")
}

/// The file that was mapped, at its path as we see it or as the process sees it.
fn find_file(raw: &RawMapping) -> Option<PathBuf> {
    match &raw.identity {
        FileIdentity::Inode { device, inode } => {
            mapped_file::find(&raw.path, raw.pid, Identity { device: *device, inode: *inode })
        }
        FileIdentity::BuildId(id) => mapped_file::candidates(&raw.path, raw.pid)?
            .into_iter()
            .find(|path| Headers::of_file(path).is_some_and(|headers| headers.build_id == *id)),
    }
}

/// The executable mappings that a process has now, as its map file tells.
///
/// # Errors
/// The system's, if the process is gone or hidden.
pub fn present_mappings(pid: u32) -> std::io::Result<Vec<RawMapping>> {
    let raw = |Mapped { start, end, file_offset, device, inode, path }: Mapped| RawMapping {
        pid,
        address: start,
        length: end.saturating_sub(start),
        file_offset,
        identity: FileIdentity::Inode { device, inode },
        path,
    };
    Ok(maps::executable(pid as i32)?.into_iter().map(raw).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    /// Our own code, found through our own map file, must land on its link-time address; the
    /// difference between two functions is the same there as in memory.
    #[test]
    fn own_functions_keep_their_distance() {
        let mut modules = Modules::default();
        let mut space = AddressSpace::default();
        for raw in present_mappings(std::process::id()).unwrap() {
            modules.map(&mut space, &raw);
        }
        let (here, there) =
            (own_functions_keep_their_distance as *const () as u64, parse_list as *const () as u64);
        let (a, b) = (space.place(here).unwrap(), space.place(there).unwrap());
        assert_eq!(a.module, b.module);
        assert_eq!(a.offset.0.wrapping_sub(b.offset.0), here.wrapping_sub(there));
        let all = modules.into_vec();
        let path = std::env::current_exe().unwrap();
        assert_eq!(all[a.module.index()].path, path.as_os_str().as_bytes());
        assert!(all.iter().any(|m| m.kind == ModuleKind::Vdso));
    }

    fn parse_list() {}

    #[test]
    fn replaced_files_are_not_taken_for_the_mapped_one() {
        let program = std::env::current_exe().unwrap();
        let mut raw = present_mappings(std::process::id())
            .unwrap()
            .into_iter()
            .find(|raw| raw.path == program.as_os_str().as_bytes())
            .unwrap();
        assert_eq!(find_file(&raw), Some(program));
        raw.identity = FileIdentity::BuildId(vec![1, 2, 3]);
        assert_eq!(find_file(&raw), None);
    }
}
