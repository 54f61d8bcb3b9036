//! One ELF file, opened: its identity, its segments, its code.

use crate::error::ImageError;
use crate::segments::Segments;
use object::elf::{EM_X86_64, FileHeader64};
use object::read::elf::{ElfFile64, FileHeader};
use object::{Endianness, Object};
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An ELF file as the library reads it.
pub(crate) type Elf<'data> = ElfFile64<'data, Endianness>;

/// A 64-bit x86 ELF file in memory.
#[derive(Clone, Debug)]
pub struct Image {
    path: PathBuf,
    data: Arc<[u8]>,
    segments: Segments,
    build_id: Vec<u8>,
}

impl Image {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// See [`ImageError`].
    pub fn open(path: &Path) -> Result<Image, ImageError> {
        let data = read(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ImageError::Missing(path.to_owned()),
            _ => ImageError::Unreadable { path: path.to_owned(), source },
        })?;
        Image::parse(path, data)
    }

    /// Reads the file at `path`, which must have the build id `expected`, unless that is empty: a file
    /// that was built without one cannot be told from its successors.
    ///
    /// # Errors
    /// [`ImageError::Changed`] if it has another.
    pub fn open_same(path: &Path, expected: &[u8]) -> Result<Image, ImageError> {
        let image = Image::open(path)?;
        if expected.is_empty() || image.build_id == expected {
            return Ok(image);
        }
        let found = image.build_id;
        Err(ImageError::Changed { path: path.to_owned(), expected: expected.to_vec(), found })
    }

    /// Takes `data` for the contents of the file at `path`.
    ///
    /// # Errors
    /// [`ImageError::Foreign`] or [`ImageError::Damaged`].
    pub fn parse(path: &Path, data: impl Into<Arc<[u8]>>) -> Result<Image, ImageError> {
        let data = data.into();
        let foreign = |what| ImageError::Foreign { path: path.to_owned(), what };
        let damaged = |what: String| ImageError::Damaged { path: path.to_owned(), what };
        match (data.get(..4), data.get(4)) {
            (Some(b"\x7fELF"), Some(2)) => {}
            (Some(b"\x7fELF"), Some(1)) => return Err(foreign("a 32-bit program")),
            (Some(b"\x7fELF"), _) => return Err(damaged("its class is unknown".into())),
            _ if data.starts_with(b"#!") => return Err(foreign("a script")),
            _ if data.is_empty() => return Err(foreign("an empty file")),
            _ => return Err(foreign("something else")),
        }
        let header = FileHeader64::<Endianness>::parse(&*data).map_err(|error| damaged(error.to_string()))?;
        let endian = header.endian().map_err(|error| damaged(error.to_string()))?;
        if header.e_machine(endian) != EM_X86_64 {
            return Err(foreign("for another processor"));
        }
        let segments = Segments::read(header, &*data).ok_or_else(|| damaged("no program headers".into()))?;
        let elf = Elf::parse(&*data).map_err(|error| damaged(error.to_string()))?;
        let build_id = elf.build_id().ok().flatten().unwrap_or_default().to_vec();
        Ok(Image { path: path.to_owned(), segments, build_id, data })
    }

    /// Where it was read from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its build id; empty if it was built without one.
    pub fn build_id(&self) -> &[u8] {
        &self.build_id
    }

    /// Its program headers.
    pub fn segments(&self) -> &Segments {
        &self.segments
    }

    /// The bytes at link-time offsets `range`, if the file holds them all.
    pub fn code(&self, range: Range<u64>) -> Option<&[u8]> {
        let length = range.end.checked_sub(range.start)?;
        let start = self.segments.file_offset_of(range.start)?;
        if length > 0 && self.segments.file_offset_of(range.end - 1)? != start.checked_add(length - 1)? {
            return None;
        }
        self.data.get(usize::try_from(start).ok()?..usize::try_from(start.checked_add(length)?).ok()?)
    }

    /// All bytes of the file.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.data
    }

    /// The library's view of it. Its headers were read once, so this does not fail.
    pub(crate) fn elf(&self) -> Option<Elf<'_>> {
        Elf::parse(&*self.data).ok()
    }
}

/// Reads a regular file; a pipe or a device would never end.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut data = Vec::with_capacity(usize::try_from(about.len()).unwrap_or(0));
    file.read_to_end(&mut data)?;
    Ok(data)
}
