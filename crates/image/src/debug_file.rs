//! Finding the separate file that holds a module's symbols and line tables.

use crate::image::Image;
use crate::regular_file;
use object::Object;
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where distributions install debug files.
const SYSTEM: &str = "/usr/lib/debug";

/// So many bytes of a file are summed at once.
const PIECE: usize = 1 << 16;

/// The debug file of `image`, by build id or else by name and checksum.
pub fn of(image: &Image) -> Option<Image> {
    by_build_id(image.build_id()).or_else(|| by_link(image))
}

/// The file that a debug file shares with others of its package (as `dwz` makes them).
pub fn shared_by(image: &Image) -> Option<Image> {
    let elf = image.elf()?;
    let (name, build_id) = elf.gnu_debugaltlink().ok()??;
    // A relative name is meant from where the file really is, not from a link to it.
    let real = image.path().canonicalize().ok()?;
    let beside = real.parent()?.join(OsStr::from_bytes(name));
    Image::open_same(&beside, build_id).ok().or_else(|| by_build_id(build_id))
}

fn by_build_id(build_id: &[u8]) -> Option<Image> {
    let (first, rest) = build_id.split_first()?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = PathBuf::from(format!("{SYSTEM}/.build-id/{first:02x}/{rest}.debug"));
    Image::open_same(&path, build_id).ok()
}

fn by_link(image: &Image) -> Option<Image> {
    let elf = image.elf()?;
    let (name, checksum) = elf.gnu_debuglink().ok()??;
    let name = OsStr::from_bytes(name);
    let directory = image.path().parent()?;
    let system = Path::new(SYSTEM).join(directory.strip_prefix("/").unwrap_or(directory));
    let candidates = [directory.join(name), directory.join(".debug").join(name), system.join(name)];
    let mut others = candidates.iter().filter(|path| *path != image.path());
    let found = others.find(|path| checksum_of(path).is_ok_and(|found| found == checksum))?;
    Image::open(found).ok()
}

fn checksum_of(path: &Path) -> io::Result<u32> {
    let mut hasher = crc32fast::Hasher::new();
    let mut file = BufReader::with_capacity(PIECE, regular_file(path)?);
    loop {
        let piece = file.fill_buf()?;
        if piece.is_empty() {
            return Ok(hasher.finalize());
        }
        hasher.update(piece);
        let length = piece.len();
        file.consume(length);
    }
}
