//! Fills in a profile's functions, source files and lines from the files of its modules, so that it can
//! be read anywhere, also when those files are gone.

use crate::unnamed;
use crate::written::{self, Written};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use timewise_image::{Frame, Image, ImageError, Origin, Symboliser, frames_of};
use timewise_isa::{Control, walk};
use timewise_profile::{
    CodeVersion, FileId, Function, InlinedCall, Line, ModuleId, ModuleKind, Offset, Place, Profile,
    SourceFile,
};

/// Bytes of an instruction, at most.
const LONGEST_INSTRUCTION: u64 = 15;

/// So many blocks are compared with the file that they should stand in.
const BLOCKS_COMPARED: usize = 100;

/// Replaces functions, files and lines by those of all code that was sampled or executed. Gives a line
/// for each module whose file tells nothing, and for code that the program could have named.
pub fn symbolise(profile: &mut Profile) -> Vec<String> {
    let (mut warnings, mut foreign) = (Vec::new(), Vec::new());
    let mut names = Names::default();
    let mut written = None;
    let seen = sampled(profile);
    for ((module, version), offsets) in touched(profile, &seen) {
        if profile.modules[module.index()].kind == ModuleKind::Jit {
            let code = written.get_or_insert_with(|| Written::of(profile));
            names.add_written(profile, (module, version), code, &offsets);
        }
        // What replaced the code of a file is not in the file.
        if version != CodeVersion::default() {
            continue;
        }
        match open(profile, module) {
            Ok(Some(symboliser)) => {
                names.add(module, &symboliser, &offsets);
                let of_file = seen.range(place(module, 0)..=place(module, u64::MAX));
                let offsets: Vec<u64> = of_file.map(|place| place.offset.0).collect();
                for (&offset, frames) in offsets.iter().zip(frames_of(&symboliser, &offsets)) {
                    names.add_inlined(place(module, offset), &frames);
                }
            }
            Ok(None) => {}
            Err(error @ ImageError::Foreign { .. }) => foreign.push(error),
            Err(error) => warnings.push(error.to_string()),
        }
    }
    warnings.extend(no_elf_files(&foreign));
    profile.functions = names.functions;
    profile.lines = names.lines;
    profile.inlined_calls = names.inlined_calls;
    profile.files = names.files;
    warnings.extend(unnamed::how_to_name(profile));
    warnings
}

/// One line for all files that are of another kind: a program under Wine has dozens.
fn no_elf_files(foreign: &[ImageError]) -> Option<String> {
    match foreign {
        [] => None,
        [only] => Some(only.to_string()),
        [first, others @ ..] => Some(format!(
            "{first}, nor {} more: their functions and lines are unknown",
            match others.len() {
                1 => "is 1".into(),
                many => format!("are {many}"),
            }
        )),
    }
}

/// The places of samples and waits, and of the calls that led to them.
fn sampled(profile: &Profile) -> BTreeSet<Place> {
    let samples = profile.samples.iter().filter_map(|sample| sample.place);
    let waits = profile.waits.iter().filter_map(|wait| wait.place);
    let callers = profile.stacks.iter().map(|node| node.return_place.call_before());
    samples.chain(waits).chain(callers).collect()
}

/// A place in a module's file.
fn place(module: ModuleId, offset: u64) -> Place {
    Place { module, version: CodeVersion::default(), offset: Offset(offset) }
}

/// The offsets, in each version of a module's code, at which something was sampled or waited, a block begins, or a
/// branch was taken from or led to.
fn touched(profile: &Profile, sampled: &BTreeSet<Place>) -> BTreeMap<(ModuleId, CodeVersion), BTreeSet<u64>> {
    let blocks = profile.blocks.iter().map(|block| block.place);
    let branches = profile.taken_branches.iter().flat_map(|branch| [branch.from, branch.to]);
    let mut touched: BTreeMap<_, BTreeSet<u64>> = BTreeMap::new();
    for place in blocks.chain(branches).chain(sampled.iter().copied()) {
        touched.entry((place.module, place.version)).or_default().insert(place.offset.0);
    }
    touched
}

/// The module's file, if it is the one that ran; `None` for code that no file holds.
pub fn open(profile: &Profile, id: ModuleId) -> Result<Option<Symboliser>, ImageError> {
    open_at(profile, id, Path::new(OsStr::from_bytes(&profile.modules[id.index()].path)))
}

/// Likewise, where it is now.
pub fn open_at(profile: &Profile, id: ModuleId, path: &Path) -> Result<Option<Symboliser>, ImageError> {
    let module = &profile.modules[id.index()];
    match module.kind {
        ModuleKind::Vdso => Symboliser::vdso().map(Some),
        ModuleKind::File => {
            let image = Image::open_same(path, &module.build_id)?;
            if module.build_id.is_empty() && holds_other_code(profile, id, &image) {
                let found = image.build_id().to_vec();
                return Err(ImageError::Changed { path: path.to_owned(), expected: Vec::new(), found });
            }
            Ok(Some(Symboliser::new(image)))
        }
        ModuleKind::Jit | ModuleKind::Kernel | ModuleKind::Unknown => Ok(None),
    }
}

/// Whether code that was executed is not what stands in the file now, though the program did not change it itself.
fn holds_other_code(profile: &Profile, module: ModuleId, image: &Image) -> bool {
    match changed_since_run(profile, image) {
        true => !holds_all_code(profile, module, image),
        false => !holds_most_code(profile, module, image),
    }
}

/// Whether most code of a module that was executed is what stands in the file now: a program may change some of it before
/// it executes it.
fn holds_most_code(profile: &Profile, module: ModuleId, image: &Image) -> bool {
    let (mut same, mut other) = (0, 0);
    for stands_there in standing(profile, module, image).take(BLOCKS_COMPARED) {
        *if stands_there { &mut same } else { &mut other } += 1;
    }
    other <= same
}

/// Whether a file was written, or came where it is, after the first run of a profile had begun: what does not stand in it
/// may have stood in another one. True if that is not known.
fn changed_since_run(profile: &Profile, image: &Image) -> bool {
    let began_ns = profile.runs.iter().map(|run| i128::from(run.started_unix_ns)).min();
    let file = std::fs::metadata(image.path()).ok();
    let changed_ns =
        file.map(|file| 1_000_000_000 * i128::from(file.ctime()) + i128::from(file.ctime_nsec()));
    began_ns.zip(changed_ns).is_none_or(|(began, changed)| changed >= began)
}

/// Whether all code of a module that was executed is what stands in the file now, as far as the profile tells.
pub fn holds_all_code(profile: &Profile, module: ModuleId, image: &Image) -> bool {
    standing(profile, module, image).all(|stands_there| stands_there)
}

/// Of each block of a module that was executed, whether it stands in the file; of each branch that traces saw, whether
/// one stands there.
fn standing<'a>(profile: &'a Profile, module: ModuleId, image: &'a Image) -> impl Iterator<Item = bool> + 'a {
    let is_its = move |place: Place| place.module == module && place.version == CodeVersion::default();
    let blocks = profile.blocks.iter().filter(move |block| is_its(block.place));
    let blocks = blocks.map(|block| {
        let start = block.place.offset.0;
        image.code(start..start.saturating_add(block.code.len() as u64)) == Some(&block.code[..])
    });
    let branches = profile.taken_branches.iter().map(|branch| branch.from).filter(move |&from| is_its(from));
    blocks.chain(branches.map(|from| branches_at(image, from.offset.0)))
}

/// Whether there is an instruction from which control goes elsewhere than to the next one.
fn branches_at(image: &Image, start: u64) -> bool {
    // There may be no more than the instruction itself.
    let lengths = (1..=LONGEST_INSTRUCTION).rev();
    let code = lengths.filter_map(|length| image.code(start..start.saturating_add(length))).next();
    code.and_then(|code| walk(code, start).next()).is_some_and(|step| step.control != Control::Next)
}

/// What was found so far.
#[derive(Default)]
struct Names {
    functions: Vec<Function>,
    lines: Vec<Line>,
    inlined_calls: Vec<InlinedCall>,
    files: Vec<SourceFile>,
    known: HashMap<String, FileId>,
}

impl Names {
    /// The functions that hold `offsets`, and all their lines. Modules come in order, so that lines stay
    /// sorted.
    fn add(&mut self, module: ModuleId, symboliser: &Symboliser, offsets: &BTreeSet<u64>) {
        let place = |offset| Place { module, version: CodeVersion::default(), offset: Offset(offset) };
        let mut covered = 0;
        for &offset in offsets {
            if offset < covered {
                continue;
            }
            let Some((function, name)) = symboliser.function(offset) else { continue };
            let range = function.offset..function.end();
            covered = range.end;
            // Code between functions has no name; what connects it is found from how it runs.
            if function.origin != Origin::Gap {
                let in_source = symboliser.in_source(function.offset);
                let declared = in_source.as_ref();
                let file = declared.and_then(|declared| declared.file.as_deref()).map(|file| self.file(file));
                let unlisted = declared.and_then(|declared| declared.name.as_deref());
                let unlisted = unlisted.filter(|_| function.symbol.is_empty());
                self.functions.push(Function {
                    place: place(function.offset),
                    size: function.size,
                    name: unlisted.map_or(name, str::to_string),
                    symbol: function.symbol.clone(),
                    file,
                    line: declared.map_or(0, |declared| declared.line),
                });
            }
            self.add_lines(symboliser, range, place);
        }
    }

    /// The functions that stand at a place because the compiler put them where they were called. Places come
    /// in order, so that rows stay sorted.
    fn add_inlined(&mut self, place: Place, frames: &[Frame]) {
        // The last one is the function itself; each of the others was called at the line of the next.
        for (depth, (inlined, caller)) in (0..).zip(frames.iter().zip(frames.iter().skip(1))) {
            let file = caller.file.as_deref().map(|file| self.file(file));
            let function = inlined.function.as_deref().unwrap_or("?").to_string();
            self.inlined_calls.push(InlinedCall { place, depth, function, file, line: caller.line });
        }
    }

    /// The functions that a program announced, with their lines.
    fn add_written(
        &mut self,
        profile: &Profile,
        (module, version): (ModuleId, CodeVersion),
        code: &Written,
        offsets: &BTreeSet<u64>,
    ) {
        let Some(start) = written::start_of(&profile.modules[module.index()]) else { return };
        let place = |address: u64| Place { module, version, offset: Offset(address.wrapping_sub(start)) };
        let mut covered = 0;
        for address in offsets.iter().map(|&offset| start.wrapping_add(offset)) {
            let Some(function) = code.at(address) else { continue };
            let addresses = function.addresses.clone();
            if addresses.start < start.max(covered) {
                continue;
            }
            covered = addresses.end;
            let size = addresses.end - addresses.start;
            let first = function.lines.first();
            let file = first.map(|line| self.file(&line.file));
            self.functions.push(Function {
                place: place(addresses.start),
                size,
                name: function.name.clone(),
                symbol: function.name.clone(),
                file,
                line: first.map_or(0, |line| line.line),
            });
            for line in function.lines.iter().filter(|line| line.offset < size) {
                let file = Some(self.file(&line.file));
                self.add_line(Line { place: place(addresses.start + line.offset), file, line: line.line });
            }
            if !function.lines.is_empty() {
                self.add_line(Line { place: place(addresses.end), file: None, line: 0 });
            }
        }
    }

    fn add_lines(&mut self, symboliser: &Symboliser, range: Range<u64>, place: impl Fn(u64) -> Place) {
        for row in symboliser.lines_of(range) {
            let file = row.file.as_deref().map(|file| self.file(file));
            self.add_line(Line { place: place(row.offsets.start), file, line: row.line });
            // Ends the row, unless the next one begins there.
            self.add_line(Line { place: place(row.offsets.end), file: None, line: 0 });
        }
    }

    fn add_line(&mut self, line: Line) {
        if self.lines.last().is_some_and(|last| last.place == line.place) {
            self.lines.pop();
        }
        self.lines.push(line);
    }

    fn file(&mut self, path: &str) -> FileId {
        if let Some(&id) = self.known.get(path) {
            return id;
        }
        let id = FileId(self.files.len() as u32);
        self.files.push(SourceFile { path: path.to_string() });
        self.known.insert(path.to_string(), id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_another_kind_are_one_line() {
        let foreign = |name: &str| ImageError::Foreign { path: name.into(), what: "a script" };
        let all = ["/a", "/b", "/c"].map(foreign);
        let first = "'/a' is a script, not a 64-bit x86 ELF file";
        let unknown = "their functions and lines are unknown";
        assert_eq!(no_elf_files(&all[..0]), None);
        assert_eq!(no_elf_files(&all[..1]), Some(first.into()));
        assert_eq!(no_elf_files(&all[..2]), Some(format!("{first}, nor is 1 more: {unknown}")));
        assert_eq!(no_elf_files(&all), Some(format!("{first}, nor are 2 more: {unknown}")));
    }
}
