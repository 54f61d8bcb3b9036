//! One ELF file, opened: its identity, its segments, its code.

use crate::contents::Contents;
use crate::error::ImageError;
use crate::headers::Headers;
use crate::regular_file;
use crate::segments::Segments;
use crate::{linkage, sections};
use object::elf::{EM_X86_64, FileHeader64};
use object::read::elf::{ElfFile64, FileHeader};
use object::{Endianness, ReadCache, ReadRef};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An ELF file as the library reads it.
pub(crate) type Elf<'data> = ElfFile64<'data, Endianness, &'data ReadCache<Contents>>;

/// A 64-bit x86 ELF file. Only what is asked for is read, and kept from then on.
#[derive(Debug)]
pub struct Image {
    path: PathBuf,
    contents: ReadCache<Contents>,
    headers: Headers,
}

impl Image {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// See [`ImageError`].
    pub fn open(path: &Path) -> Result<Image, ImageError> {
        let contents =
            regular_file(path).and_then(Contents::of_file).map_err(|cause| match cause.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                    ImageError::Missing(path.to_owned())
                }
                _ => ImageError::Unreadable { path: path.to_owned(), cause },
            })?;
        Image::read(path, contents)
    }

    /// Opens the file at `path`, which must have the build id `expected`, unless that is empty: a file
    /// that was built without one cannot be told from its successors.
    ///
    /// # Errors
    /// [`ImageError::Changed`] if it has another.
    pub fn open_same(path: &Path, expected: &[u8]) -> Result<Image, ImageError> {
        let image = Image::open(path)?;
        if expected.is_empty() || image.build_id() == expected {
            return Ok(image);
        }
        let found = image.headers.build_id;
        Err(ImageError::Changed { path: path.to_owned(), expected: expected.to_vec(), found })
    }

    /// Takes `data` for the contents of the file at `path`.
    ///
    /// # Errors
    /// [`ImageError::Foreign`] or [`ImageError::Damaged`].
    pub fn parse(path: &Path, data: impl Into<Arc<[u8]>>) -> Result<Image, ImageError> {
        Image::read(path, Contents::of_memory(data.into()))
    }

    fn read(path: &Path, contents: Contents) -> Result<Image, ImageError> {
        let contents = ReadCache::new(contents);
        let data = &contents;
        let foreign = |what| ImageError::Foreign { path: path.to_owned(), what };
        let damaged = |what: String| ImageError::Damaged { path: path.to_owned(), what };
        let length = data.len().unwrap_or(0);
        match data.read_bytes_at(0, length.min(5)).unwrap_or_default() {
            b"\x7fELF\x02" => {}
            b"\x7fELF\x01" => return Err(foreign("a 32-bit program")),
            [0x7f, b'E', b'L', b'F', ..] => return Err(damaged("its class is unknown".into())),
            [b'#', b'!', ..] => return Err(foreign("a script")),
            [b'M', b'Z', ..] => return Err(foreign("a Windows program or library")),
            [] => return Err(foreign("an empty file")),
            _ => return Err(foreign("of another kind")),
        }
        let header = FileHeader64::<Endianness>::parse(data).map_err(|error| damaged(error.to_string()))?;
        let endian = header.endian().map_err(|error| damaged(error.to_string()))?;
        if header.e_machine(endian) != EM_X86_64 {
            return Err(foreign("for another processor"));
        }
        let headers = Headers::read(data).ok_or_else(|| damaged("no program headers".into()))?;
        Elf::parse(data).map_err(|error| damaged(error.to_string()))?;
        Ok(Image { path: path.to_owned(), headers, contents })
    }

    /// Where it was read from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its build id; empty if it was built without one.
    pub fn build_id(&self) -> &[u8] {
        &self.headers.build_id
    }

    /// Its program headers.
    pub fn segments(&self) -> &Segments {
        &self.headers.segments
    }

    /// The bytes at link-time offsets `range`, if the file holds them all.
    pub fn code(&self, range: Range<u64>) -> Option<&[u8]> {
        let length = range.end.checked_sub(range.start)?;
        let start = self.segments().file_offset_of(range.start)?;
        if length > 0 && self.segments().file_offset_of(range.end - 1)? != start.checked_add(length - 1)? {
            return None;
        }
        (&self.contents).read_bytes_at(start, length).ok()
    }

    /// Link-time offsets of its procedure linkage tables.
    pub fn linkage(&self) -> Vec<Range<u64>> {
        let Some(elf) = self.elf() else { return Vec::new() };
        let sections = sections::of(&elf);
        sections.into_iter().filter(linkage::holds_stubs).map(|section| section.offsets).collect()
    }

    /// Whether there is code of Go in it, all of which keeps frame pointers.
    pub fn is_go(&self) -> bool {
        self.elf().is_some_and(|elf| crate::pclntab::is_in(&elf))
    }

    /// The library's view of it. Its headers were read once, so this does not fail.
    pub(crate) fn elf(&self) -> Option<Elf<'_>> {
        Elf::parse(&self.contents).ok()
    }
}
