//! What a process has mapped, looked at from time to time.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use timewise_image::Headers;
use timewise_profile::{Module, ModuleId, ModuleKind, Place};
use timewise_target::address_space::{AddressSpace, Mapping, kind_of};
use timewise_target::maps::{self, Mapped};
use timewise_target::modules;

/// The modules of one process.
#[derive(Debug)]
pub struct Modules {
    pid: i32,
    known: modules::Modules,
    files: HashMap<(Vec<u8>, u64, u64), (ModuleId, Headers)>,
    present: Vec<Mapped>,
    space: AddressSpace,
}

impl Modules {
    /// Of process `pid`; nothing is known yet.
    pub fn of(pid: i32) -> Modules {
        Modules {
            pid,
            known: modules::Modules::default(),
            files: HashMap::new(),
            present: Vec::new(),
            space: AddressSpace::default(),
        }
    }

    /// What is mapped now, if that is anything else than before, and the process still has memory.
    pub fn change(&self) -> Option<Vec<Mapped>> {
        maps::executable(self.pid).ok().filter(|mapped| !mapped.is_empty() && *mapped != self.present)
    }

    /// How many threads the process has now.
    pub fn threads(&self) -> Option<u64> {
        use std::os::unix::fs::MetadataExt;
        let tasks = std::fs::metadata(format!("/proc/{}/task", self.pid)).ok()?;
        // As a folder it has two links besides.
        tasks.nlink().checked_sub(2)
    }

    /// Takes over what is mapped now. What lies nowhere any more keeps its place until something else lies
    /// there: traces of it may still be under way.
    pub fn apply(&mut self, present: Vec<Mapped>) {
        for mapped in &present {
            let mapping = match kind_of(&mapped.path) {
                ModuleKind::File => {
                    let (module, headers) = file(&mut self.known, &mut self.files, mapped);
                    let bias = mapped.start.wrapping_sub(headers.virtual_address(mapped.file_offset));
                    Mapping { end: mapped.end, module, bias }
                }
                ModuleKind::Jit => self.known.written_code(&self.space, 0, mapped.start, mapped.end),
                kind => {
                    let module = Module { kind, path: mapped.path.clone(), build_id: Vec::new() };
                    Mapping { end: mapped.end, module: self.known.intern(0, module), bias: mapped.start }
                }
            };
            self.space.map(mapped.start, mapping);
        }
        self.present = present;
    }

    /// The place of an address.
    pub fn place(&self, address: u64) -> Option<Place> {
        self.space.place(address)
    }

    /// All modules, in the order of their ids.
    pub fn into_vec(self) -> Vec<Module> {
        self.known.into_vec()
    }
}

/// The module of a mapped file; one that cannot be read has no headers, and its offsets are those in the file.
fn file<'a>(
    known: &mut modules::Modules,
    files: &'a mut HashMap<(Vec<u8>, u64, u64), (ModuleId, Headers)>,
    mapped: &Mapped,
) -> (ModuleId, &'a Headers) {
    let key = (mapped.path.clone(), mapped.device, mapped.inode);
    let (id, headers) = files.entry(key).or_insert_with(|| {
        let headers = Headers::of_file(Path::new(OsStr::from_bytes(&mapped.path))).unwrap_or_default();
        let build_id = headers.build_id.clone();
        (known.add(Module { kind: ModuleKind::File, path: mapped.path.clone(), build_id }), headers)
    });
    (*id, headers)
}
