//! Source lines and inlined calls, from DWARF.

use crate::debug_file;
use crate::declarations::{Declarations, may_have_parts};
use crate::image::Image;
use crate::names::Names;
use addr2line::{Context, LookupContinuation, LookupResult, SplitDwarfLoad};
use flate2::{Decompress, FlushDecompress, Status};
use gimli::{Dwarf, DwarfPackage, EndianArcSlice, LittleEndian, Reader as _, SectionId, UnitRef};
use object::{CompressedData, CompressionFormat, Object, ObjectSection};
use std::cell::LazyCell;
use std::ffi::OsStr;
use std::iter::repeat_n;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// How bytes of debug information are read.
pub(crate) type Reader = EndianArcSlice<LittleEndian>;

type FoundFrame<'a> = addr2line::Frame<'a, Reader>;

/// One function in the chain of inlined calls at an offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The function's demangled name, if recorded.
    pub function: Option<Arc<str>>,
    /// Source file: of the code itself in the first frame, of the call in those that it was inlined into.
    pub file: Option<Arc<str>>,
    /// Line, 0 if unknown.
    pub line: u32,
}

/// What debug information says of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InSource {
    /// Its demangled name, if recorded; `None` of a part of it that was put elsewhere.
    pub name: Option<Arc<str>>,
    /// The file in which it is declared; that of its first instruction if that is not recorded.
    pub file: Option<Arc<str>>,
    /// The line there, 0 if unknown.
    pub line: u32,
}

/// Code that belongs to one source line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineRow {
    /// Link-time offsets.
    pub offsets: Range<u64>,
    /// Source file, if known.
    pub file: Option<Arc<str>>,
    /// Line, 0 if unknown: the compiler made the code for no line in particular.
    pub line: u32,
}

/// The line tables of a module.
pub struct Lines {
    tables: Arc<Tables>,
    /// What was read of them so far.
    context: Context<Reader>,
    declarations: Declarations,
    names: Names,
}

/// What all threads read that ask about a module.
struct Tables {
    dwarf: Arc<Dwarf<Reader>>,
    /// Where the file with them is.
    path: PathBuf,
    /// The package beside it, of units that were left in files of their own: opened when the first of them is asked for.
    package: OnceLock<Option<DwarfPackage<Reader>>>,
}

impl Lines {
    /// Those in `image`, if it has any that can be read.
    pub fn of(image: &Image) -> Option<Lines> {
        let elf = image.elf()?;
        elf.section_by_name(".debug_info").or_else(|| elf.section_by_name(".zdebug_info"))?;
        let mut dwarf = load(image, |id| Some(id.name()))?;
        if let Some(shared) = debug_file::shared_by(image) {
            dwarf.set_sup(load(&shared, |id| Some(id.name()))?);
        }
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        let path = image.path().to_owned();
        Lines::new(Arc::new(Tables { dwarf: Arc::new(dwarf), path, package: OnceLock::new() }))
    }

    fn new(tables: Arc<Tables>) -> Option<Lines> {
        let context = Context::from_arc_dwarf(Arc::clone(&tables.dwarf)).ok()?;
        let declarations = Declarations::of(Arc::clone(&tables.dwarf));
        Some(Lines { tables, context, declarations, names: Names::default() })
    }

    /// A way for another thread to make itself a reader of the same tables.
    pub fn for_thread(&self) -> impl Fn() -> Option<Lines> + Send + Sync + use<> {
        let tables = Arc::clone(&self.tables);
        move || Lines::new(Arc::clone(&tables))
    }

    /// The chain of inlined calls at `offset`, innermost first; empty if nothing is known.
    pub fn frames(&self, offset: u64) -> Vec<Frame> {
        let mut frames = Vec::new();
        let Ok(mut found) = self.answer(self.context.find_frames(offset)) else { return frames };
        let unit = LazyCell::new(|| self.unit_at(offset));
        while let Ok(Some(frame)) = found.next() {
            frames.push(self.frame(&frame, || *unit));
        }
        frames
    }

    fn frame<'u>(&self, frame: &FoundFrame, unit: impl FnOnce() -> Option<UnitRef<'u, Reader>>) -> Frame {
        let location = frame.location.as_ref();
        Frame {
            function: self.name(frame, unit),
            file: location.and_then(|l| l.file).map(|file| self.names.plain(file)),
            line: location.and_then(|l| l.line).unwrap_or(0),
        }
    }

    fn name<'u>(
        &self,
        frame: &FoundFrame,
        unit: impl FnOnce() -> Option<UnitRef<'u, Reader>>,
    ) -> Option<Arc<str>> {
        let function = frame.function.as_ref()?;
        let raw = function.raw_name().ok()?;
        let is_symbol = raw.starts_with("_Z") || raw.starts_with("_R");
        let entry = frame.dw_die_offset.filter(|_| !is_symbol && may_have_parts(function.language));
        let in_full = entry.and_then(|entry| self.declarations.name(unit()?, entry));
        Some(in_full.unwrap_or_else(|| self.names.demangled(&raw)))
    }

    /// What is said of the function whose code is at `offset`: not of those that were inlined there.
    pub fn in_source(&self, offset: u64) -> Option<InSource> {
        let mut found = self.answer(self.context.find_frames(offset)).ok()?;
        let mut outermost = None;
        while let Ok(Some(frame)) = found.next() {
            outermost = Some(frame);
        }
        let outermost = outermost?;
        let unit = self.unit_at(offset);
        let entry = unit.zip(outermost.dw_die_offset);
        let begins = entry.is_some_and(|(unit, entry)| self.declarations.begins_at(unit, entry, offset));
        let declared = entry.and_then(|(unit, entry)| self.declarations.declared(unit, entry));
        let Frame { function, file, line, .. } = self.frame(&outermost, || unit);
        let (file, line) = match declared {
            Some(declared) => (Some(self.names.plain(&declared.file)), declared.line),
            None => (file, line),
        };
        Some(InSource { name: function.filter(|_| begins), file, line })
    }

    /// The unit whose code is at `offset`.
    fn unit_at(&self, offset: u64) -> Option<UnitRef<'_, Reader>> {
        self.answer(self.context.find_dwarf_and_unit(offset))
    }

    /// What the tables answer, when the units are read that they ask for.
    fn answer<L: LookupContinuation<Buf = Reader>>(&self, mut lookup: LookupResult<L>) -> L::Output {
        loop {
            match lookup {
                LookupResult::Output(found) => return found,
                LookupResult::Load { load, continuation } => {
                    let unit = self.tables.split_unit(&load);
                    unit.iter().for_each(|unit| self.declarations.add(Arc::clone(unit)));
                    lookup = continuation.resume(unit);
                }
            }
        }
    }

    /// Source lines of `range`, sorted, without overlap; what is in none of them is of no known line.
    pub fn rows(&self, range: Range<u64>) -> Vec<LineRow> {
        let Ok(found) = self.context.find_location_range(range.start, range.end) else { return Vec::new() };
        let mut rows: Vec<LineRow> = Vec::new();
        for (begin, size, location) in found {
            // A row may begin before the range.
            let end = begin.saturating_add(size).min(range.end);
            let start = begin.max(range.start).max(rows.last().map_or(0, |row| row.offsets.end));
            if start >= end {
                continue;
            }
            let file = location.file.map(|file| self.names.plain(file));
            let line = location.line.unwrap_or(0);
            match rows.last_mut() {
                Some(last) if last.offsets.end == start && last.file == file && last.line == line => {
                    last.offsets.end = end;
                }
                _ => rows.push(LineRow { offsets: start..end, file, line }),
            }
        }
        rows
    }
}

impl Tables {
    /// A compilation unit that was left in an object file of its own, or in a package of such files.
    fn split_unit(&self, wanted: &SplitDwarfLoad<Reader>) -> Option<Arc<Dwarf<Reader>>> {
        self.packaged_unit(wanted).or_else(|| unit_of_object(wanted))
    }

    fn packaged_unit(&self, wanted: &SplitDwarfLoad<Reader>) -> Option<Arc<Dwarf<Reader>>> {
        let package = self.package.get_or_init(|| package_beside(&self.path)).as_ref()?;
        Some(Arc::new(package.find_cu(wanted.dwo_id, &wanted.parent).ok()??))
    }
}

fn package_beside(path: &Path) -> Option<DwarfPackage<Reader>> {
    let mut path = path.as_os_str().to_owned();
    path.push(".dwp");
    let package = Image::open(Path::new(&path)).ok()?;
    let section = |id: SectionId| Ok::<_, gimli::Error>(section(&package, id.dwo_name()));
    DwarfPackage::load(section, Reader::new(Arc::default(), LittleEndian)).ok()
}

fn unit_of_object(wanted: &SplitDwarfLoad<Reader>) -> Option<Arc<Dwarf<Reader>>> {
    let directory = wanted.comp_dir.as_ref().and_then(|directory| directory.to_slice().ok());
    let name = wanted.path.as_ref()?.to_slice().ok()?;
    let path = Path::new(OsStr::from_bytes(&directory.unwrap_or_default())).join(OsStr::from_bytes(&name));
    let mut unit = load(&Image::open(&path).ok()?, |id| id.dwo_name())?;
    let header = unit.units().next().ok()??;
    if unit.unit(header).ok()?.dwo_id != Some(wanted.dwo_id) {
        return None;
    }
    unit.make_dwo(&wanted.parent);
    Some(Arc::new(unit))
}

/// The tables of `image` that lines and inlined calls are found in, named by `name`.
fn load(image: &Image, name: impl Fn(SectionId) -> Option<&'static str>) -> Option<Dwarf<Reader>> {
    let needed = |id: &SectionId| !NOT_NEEDED.contains(id);
    Dwarf::load(|id| Ok::<_, gimli::Error>(section(image, Some(id).filter(needed).and_then(&name)))).ok()
}

/// Tables that say where variables are and what macros mean: often a third of all.
const NOT_NEEDED: [SectionId; 5] = [
    SectionId::DebugLoc,
    SectionId::DebugLocLists,
    SectionId::DebugMacinfo,
    SectionId::DebugMacro,
    SectionId::DebugNames,
];

/// No real section packs better. One that claims to is damaged, and unpacking it would take all memory.
const MOST_PACKED: u64 = 1000;

/// The section's data, unpacked; empty if it is not there or cannot be read.
fn section(image: &Image, name: Option<&str>) -> Reader {
    let elf = image.elf();
    let data = elf.as_ref().zip(name).and_then(|(elf, name)| {
        let packed = elf.section_by_name(name)?.compressed_data().ok()?;
        unpacked(&packed)
    });
    Reader::new(data.unwrap_or_default(), LittleEndian)
}

/// The bytes of a section, where they will stay: those of a C library are many megabytes, which take as long to copy as
/// to be made.
fn unpacked(packed: &CompressedData) -> Option<Arc<[u8]>> {
    if packed.uncompressed_size / MOST_PACKED > packed.data.len() as u64 {
        return None;
    }
    if packed.format != CompressionFormat::Zlib {
        return packed.decompress().ok().map(Arc::from);
    }
    let mut bytes: Arc<[u8]> = repeat_n(0, usize::try_from(packed.uncompressed_size).ok()?).collect();
    let place = Arc::get_mut(&mut bytes)?;
    let end = Decompress::new(true).decompress(packed.data, place, FlushDecompress::Finish).ok()?;
    (end == Status::StreamEnd).then_some(bytes)
}
