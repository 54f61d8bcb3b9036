//! What a process has mapped, and had mapped.

use crate::mappings::{Mappings, News};
use crate::threads::Threads;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use timewise_image::{Headers, regular_file};
use timewise_profile::{Module, ModuleId, ModuleKind, Offset, Place};
use timewise_target::address_space::{AddressSpace, Mapping, kind_of};
use timewise_target::mapped_file::{self, Identity};
use timewise_target::maps::{self, Mapped};
use timewise_target::{memory, modules};

/// The modules of one process, by address and time.
#[derive(Debug)]
pub struct Modules {
    pid: i32,
    /// None where the kernel refuses to tell: then the process is looked at from time to time.
    mappings: Option<Mappings>,
    known: modules::Modules,
    files: HashMap<(Vec<u8>, u64, u64), (ModuleId, Headers)>,
    present: Vec<Mapped>,
    space: AddressSpace,
    changes: Vec<Change>,
}

/// Something was mapped.
#[derive(Debug)]
struct Change {
    time_ns: u64,
    start: u64,
    mapping: Mapping,
}

impl Change {
    fn place(&self, address: u64) -> Option<Place> {
        (self.start..self.mapping.end).contains(&address).then(|| Place {
            module: self.mapping.module,
            version: Default::default(),
            offset: Offset(address.wrapping_sub(self.mapping.bias)),
        })
    }
}

impl Modules {
    /// Of process `pid`, which stands.
    pub fn of(pid: i32) -> Modules {
        let mut modules = Modules::new(pid, Mappings::of(pid).ok());
        let present = modules.appeared();
        modules.apply_all(present);
        modules
    }

    fn new(pid: i32, mappings: Option<Mappings>) -> Modules {
        Modules {
            pid,
            mappings,
            known: modules::Modules::default(),
            files: HashMap::new(),
            present: Vec::new(),
            space: AddressSpace::default(),
            changes: Vec::new(),
        }
    }

    /// What was mapped lately and is not applied yet, in order.
    pub fn news(&mut self) -> Vec<News> {
        self.mappings.as_mut().map(Mappings::news).unwrap_or_default()
    }

    /// Processes that the process made itself, by id; none where the kernel does not tell.
    pub fn made(&mut self) -> BTreeSet<i32> {
        self.mappings.as_mut().map(|mappings| std::mem::take(&mut mappings.made)).unwrap_or_default()
    }

    /// What threads that the process made did before traces could begin in them; nothing where the kernel does not tell.
    pub fn threads_made(&self, blind_ns: u64) -> Threads {
        self.mappings.as_ref().map(|mappings| mappings.threads(blind_ns)).unwrap_or_default()
    }

    /// What is mapped now and was not told of, when the process is looked at.
    pub fn appeared(&mut self) -> Vec<News> {
        let present = maps::executable(self.pid).unwrap_or_default();
        // Without memory, it is about to end.
        if present.is_empty() || present == self.present {
            return Vec::new();
        }
        let is_told = self.mappings.as_ref().is_some_and(|mappings| !mappings.is_incomplete);
        let news = present.iter().filter(|mapped| !is_told || self.place(mapped.start).is_none());
        let time_ns = self.latest_change_ns();
        let news = news.map(|mapped| News { time_ns, mapped: mapped.clone() }).collect();
        self.present = present;
        news
    }

    /// Whether the process has to be looked at all the time.
    pub fn must_look(&self) -> bool {
        self.mappings.as_ref().is_none_or(|mappings| mappings.is_incomplete)
    }

    /// How many threads the process has now.
    pub fn threads(&self) -> Option<u64> {
        use std::os::unix::fs::MetadataExt;
        let tasks = std::fs::metadata(format!("/proc/{}/task", self.pid)).ok()?;
        // As a folder it has two links besides.
        tasks.nlink().checked_sub(2)
    }

    /// Takes over what was mapped.
    pub fn apply_all(&mut self, news: Vec<News>) {
        for News { time_ns, mapped } in news {
            self.apply(time_ns.max(self.latest_change_ns()), &mapped);
        }
    }

    /// What lies nowhere any more keeps its place until something else lies there: traces of it may still be under
    /// way.
    fn apply(&mut self, time_ns: u64, mapped: &Mapped) {
        let mapping = match kind_of(&mapped.path) {
            ModuleKind::File => {
                let (module, headers) = self.file(mapped);
                let bias = mapped.start.wrapping_sub(headers.virtual_address(mapped.file_offset));
                Mapping { end: mapped.end, module, bias }
            }
            ModuleKind::Jit => self.known.written_code(&self.space, 0, mapped.start, mapped.end),
            kind => {
                let module = Module { kind, path: mapped.path.clone(), build_id: Vec::new() };
                Mapping { end: mapped.end, module: self.known.intern(0, module), bias: mapped.start }
            }
        };
        if !self.space.holds(mapped.start, &mapping) {
            self.space.map(mapped.start, mapping);
            self.changes.push(Change { time_ns, start: mapped.start, mapping });
        }
    }

    /// The module of a mapped file; one that cannot be read has no headers, and its offsets are those in the file.
    fn file(&mut self, mapped: &Mapped) -> (ModuleId, &Headers) {
        let key = (mapped.path.clone(), mapped.device, mapped.inode);
        let known = &mut self.known;
        let (id, headers) = self.files.entry(key).or_insert_with(|| {
            let identity = Identity { device: mapped.device, inode: mapped.inode };
            let found = mapped_file::find(&mapped.path, self.pid as u32, identity);
            let headers = found.as_deref().and_then(Headers::of_file).unwrap_or_default();
            let build_id = headers.build_id.clone();
            let is_named = !build_id.is_empty();
            let path = mapped_file::name(&mapped.path, &build_id, found.as_deref());
            let module = Module { kind: ModuleKind::File, path, build_id };
            // The kernel may have two numbers for one file: where file systems lie one over the other.
            (if is_named { known.intern(0, module) } else { known.add(module) }, headers)
        });
        (*id, headers)
    }

    fn latest_change_ns(&self) -> u64 {
        self.changes.last().map_or(0, |change| change.time_ns)
    }

    /// Whether nothing was mapped since this time.
    pub fn is_current(&self, time_ns: u64) -> bool {
        time_ns >= self.latest_change_ns()
    }

    /// The place of an address now.
    pub fn place(&self, address: u64) -> Option<Place> {
        self.space.place(address)
    }

    /// The place that an address had: the last mapping over it that is not younger.
    pub fn place_at(&self, address: u64, time_ns: u64) -> Option<Place> {
        let (before, since) =
            self.changes.split_at(self.changes.partition_point(|change| change.time_ns <= time_ns));
        if since.iter().all(|change| change.place(address).is_none()) {
            return self.place(address);
        }
        before.iter().rev().find_map(|change| change.place(address))
    }

    /// Fills `code` with what stood at an address at a time: what stands there still, or what the file holds of which it
    /// was mapped, as long as that is the same file. False if neither can be read.
    pub fn read_code(&self, address: u64, time_ns: u64, code: &mut [u8]) -> bool {
        let place = self.place_at(address, time_ns);
        let is_there = place.is_some() && place == self.place(address);
        if is_there && memory::read(self.pid, address, code) == code.len() {
            return true;
        }
        let Some(place) = place else { return false };
        let Some(((path, _, inode), (_, headers))) =
            self.files.iter().find(|(_, (module, _))| *module == place.module)
        else {
            return false;
        };
        let Ok(file) = regular_file(Path::new(OsStr::from_bytes(path))) else { return false };
        let is_same = file.metadata().is_ok_and(|metadata| metadata.ino() == *inode);
        let offset = headers.segments.file_offset_of(place.offset.0).filter(|_| is_same);
        offset.is_some_and(|offset| file.read_exact_at(code, offset).is_ok())
    }

    /// All modules, in the order of their ids.
    pub fn into_vec(self) -> Vec<Module> {
        self.known.into_vec()
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Modules of this process of which nothing is told but this: when, from where to where, and the name.
    pub fn mapped(changes: &[(u64, u64, u64, &str)]) -> Modules {
        let mut modules = Modules::new(std::process::id() as i32, None);
        for &(time_ns, start, end, name) in changes {
            let path = name.as_bytes().to_vec();
            modules.apply(time_ns, &Mapped { start, end, file_offset: 0, device: 0, inode: 0, path });
        }
        modules
    }

    #[test]
    fn an_address_belongs_to_what_lay_there_at_the_time() {
        let modules = mapped(&[
            (0, 100, 200, "[one]"),
            (10, 300, 400, "[two]"),
            (20, 340, 500, "[three]"),
            (30, 300, 400, "[two]"),
            (40, 300, 400, "[two]"),
        ]);
        let at = |address, time| {
            let place = modules.place_at(address, time)?;
            Some((place.module.0, place.offset.0))
        };
        assert_eq!([at(150, 5), at(150, 50)], [Some((0, 50)); 2]);
        assert_eq!([at(350, 5), at(350, 10), at(350, 19)], [None, Some((1, 50)), Some((1, 50))]);
        assert_eq!([at(350, 20), at(350, 30)], [Some((2, 10)), Some((1, 50))]);
        assert_eq!([at(450, 19), at(450, 25), at(450, 35)], [None, Some((2, 110)), Some((2, 110))]);
        // What was mapped again to the same place is nothing new.
        assert!(modules.is_current(30) && !modules.is_current(29));
    }

    /// A library may be mapped no more when its traces are looked at, and its file may be another one by then.
    #[test]
    fn code_is_read_where_it_stands_or_from_its_file() {
        let own = Modules::of(std::process::id() as i32);
        let mut code = [0; 4];
        let start = Modules::of as *const () as u64;
        assert!(own.read_code(start, u64::MAX, &mut code));
        // SAFETY: code of this function's module is mapped, and readable.
        assert_eq!(code, unsafe { *(start as *const [u8; 4]) });
        let file = std::env::current_exe().unwrap();
        let about = std::fs::metadata(&file).unwrap();
        let (device, inode) = (about.dev(), about.ino());
        let path = file.into_os_string().into_encoded_bytes();
        // Where nothing is ever mapped: what is told of it is over.
        let gone = |inode| {
            let mut modules = Modules::new(std::process::id() as i32, None);
            let (start, end) = (0x1000, 0x2000);
            modules.apply(0, &Mapped { start, end, file_offset: 0, device, inode, path: path.clone() });
            let mut code = [0; 4];
            modules.read_code(start, 0, &mut code).then_some(code)
        };
        assert_eq!(gone(inode), Some(*b"\x7fELF"));
        assert_eq!(gone(inode + 1), None);
    }
}
