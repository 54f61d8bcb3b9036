//! Source lines and inlined calls, from DWARF.

use crate::debug_file;
use crate::image::Image;
use crate::names::Names;
use addr2line::{Context, LookupContinuation, LookupResult, SplitDwarfLoad};
use flate2::{Decompress, FlushDecompress, Status};
use gimli::{Dwarf, EndianArcSlice, LittleEndian, Reader as _, SectionId};
use object::{CompressedData, CompressionFormat, Object, ObjectSection};
use std::ffi::OsStr;
use std::iter::repeat_n;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

type Reader = EndianArcSlice<LittleEndian>;

/// One function in the chain of inlined calls at an offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The function's demangled name, if recorded.
    pub function: Option<Arc<str>>,
    /// Source file: of the code itself in the first frame, of the call in those that it was inlined into.
    pub file: Option<Arc<str>>,
    /// Line, 0 if unknown.
    pub line: u32,
    /// Column, 0 if unknown.
    pub column: u32,
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
    dwarf: Arc<Dwarf<Reader>>,
    /// What was read of it so far.
    context: Context<Reader>,
    names: Names,
    /// Where the file with the tables is, for files beside it.
    path: PathBuf,
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
        Lines::new(Arc::new(dwarf), image.path().to_owned())
    }

    fn new(dwarf: Arc<Dwarf<Reader>>, path: PathBuf) -> Option<Lines> {
        let context = Context::from_arc_dwarf(Arc::clone(&dwarf)).ok()?;
        Some(Lines { dwarf, context, names: Names::default(), path })
    }

    /// A way for another thread to make itself a reader of the same tables.
    pub fn for_thread(&self) -> impl Fn() -> Option<Lines> + Send + Sync + use<> {
        let (dwarf, path) = (Arc::clone(&self.dwarf), self.path.clone());
        move || Lines::new(Arc::clone(&dwarf), path.clone())
    }

    /// The chain of inlined calls at `offset`, innermost first; empty if nothing is known.
    pub fn frames(&self, offset: u64) -> Vec<Frame> {
        let mut lookup = self.context.find_frames(offset);
        let found = loop {
            match lookup {
                LookupResult::Output(found) => break found,
                LookupResult::Load { load, continuation } => {
                    lookup = continuation.resume(self.split_unit(load));
                }
            }
        };
        let mut frames = Vec::new();
        let Ok(mut found) = found else { return frames };
        while let Ok(Some(frame)) = found.next() {
            let name = frame.function.and_then(|name| Some(self.names.demangled(&name.raw_name().ok()?)));
            let location = frame.location;
            frames.push(Frame {
                function: name,
                file: location.as_ref().and_then(|l| l.file).map(|file| self.names.plain(file)),
                line: location.as_ref().and_then(|l| l.line).unwrap_or(0),
                column: location.as_ref().and_then(|l| l.column).unwrap_or(0),
            });
        }
        frames
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

    /// A compilation unit that was left in an object file of its own, or in a package of such files.
    fn split_unit(&self, wanted: SplitDwarfLoad<Reader>) -> Option<Arc<Dwarf<Reader>>> {
        self.packaged_unit(&wanted).or_else(|| unit_of_object(&wanted))
    }

    fn packaged_unit(&self, wanted: &SplitDwarfLoad<Reader>) -> Option<Arc<Dwarf<Reader>>> {
        let mut path = self.path.clone().into_os_string();
        path.push(".dwp");
        let package = Image::open(Path::new(&path)).ok()?;
        let section = |id: SectionId| Ok::<_, gimli::Error>(section(&package, id.dwo_name()));
        let package = gimli::DwarfPackage::load(section, Reader::new(Arc::default(), LittleEndian)).ok()?;
        Some(Arc::new(package.find_cu(wanted.dwo_id, &wanted.parent).ok()??))
    }
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
