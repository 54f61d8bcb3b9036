//! Questions about one module, answered from all that is known of it; each source is read when it is
//! first needed.

use crate::debug_file;
use crate::dwarf::{Frame, InSource, LineRow, Lines};
use crate::error::ImageError;
use crate::functions::{Function, Functions};
use crate::image::Image;
use std::cell::OnceCell;
use std::fmt;
use std::ops::Range;
use std::path::Path;

/// Functions, lines and inlined calls of one module. It belongs to one thread; several modules are
/// symbolised in parallel by one symboliser each.
pub struct Symboliser {
    image: Image,
    debug: OnceCell<Option<Image>>,
    functions: OnceCell<Functions>,
    lines: OnceCell<Option<Lines>>,
}

impl Symboliser {
    /// For the file at `path`, which must have this build id if one is given.
    ///
    /// # Errors
    /// [`ImageError`] if the file tells nothing, or is not the one that ran.
    pub fn open(path: &Path, build_id: &[u8]) -> Result<Symboliser, ImageError> {
        Image::open_same(path, build_id).map(Symboliser::new)
    }

    /// For the vDSO of the running kernel.
    ///
    /// # Errors
    /// [`ImageError`] if there is none.
    pub fn vdso() -> Result<Symboliser, ImageError> {
        Image::vdso().map(Symboliser::new)
    }

    /// For an opened file.
    pub fn new(image: Image) -> Symboliser {
        Symboliser { image, debug: OnceCell::new(), functions: OnceCell::new(), lines: OnceCell::new() }
    }

    /// The module's file.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// All functions of the module.
    pub fn functions(&self) -> &Functions {
        self.functions.get_or_init(|| {
            let Some(elf) = self.image.elf() else { return Functions::default() };
            let debug = self.debug().and_then(Image::elf);
            let name = self.image.path().file_name().unwrap_or_default().to_string_lossy();
            Functions::of(&name, &elf, debug.as_ref(), self.image.segments().executable().collect())
        })
    }

    /// The function that holds `offset`, with the name to show.
    pub fn function(&self, offset: u64) -> Option<(&Function, String)> {
        let functions = self.functions();
        functions.at(offset).map(|function| (function, functions.name(function)))
    }

    /// Source position of `offset`, and of the calls by which it was inlined, innermost first; empty if
    /// nothing is known.
    pub fn frames(&self, offset: u64) -> Vec<Frame> {
        self.lines().map_or_else(Vec::new, |lines| lines.frames(offset))
    }

    /// What debug information says of the function that begins at `offset`.
    pub fn in_source(&self, offset: u64) -> Option<InSource> {
        self.lines()?.in_source(offset)
    }

    /// Source lines of the code in `range`, sorted, without overlap; what is in no row has no known line.
    pub fn lines_of(&self, range: Range<u64>) -> Vec<LineRow> {
        self.lines().map_or_else(Vec::new, |lines| lines.rows(range))
    }

    fn debug(&self) -> Option<&Image> {
        self.debug.get_or_init(|| debug_file::of(&self.image)).as_ref()
    }

    pub(crate) fn lines(&self) -> Option<&Lines> {
        let tables = || Lines::of(&self.image).or_else(|| Lines::of(self.debug()?));
        self.lines.get_or_init(tables).as_ref()
    }
}

impl fmt::Debug for Symboliser {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Symboliser").field("path", &self.image.path()).finish_non_exhaustive()
    }
}
