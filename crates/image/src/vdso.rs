//! The vDSO: code that the kernel maps into every process, and that no file holds.

use crate::error::ImageError;
use crate::image::Image;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Its name in memory maps.
const NAME: &str = "[vdso]";

impl Image {
    /// The vDSO of the running kernel, read from our own memory: it is the same in every process.
    ///
    /// # Errors
    /// [`ImageError::Missing`] if the kernel maps none, [`ImageError::Unreadable`] without `/proc`.
    pub fn vdso() -> Result<Image, ImageError> {
        let path = Path::new(NAME);
        let unreadable = |cause| ImageError::Unreadable { path: path.to_owned(), cause };
        let maps = std::fs::read_to_string("/proc/self/maps").map_err(unreadable)?;
        let line = maps.lines().find(|line| line.ends_with(NAME));
        let range = line.and_then(address_range).ok_or_else(|| ImageError::Missing(path.to_owned()))?;
        Image::parse(path, read_own_memory(range).map_err(unreadable)?)
    }
}

fn address_range(line: &str) -> Option<(u64, u64)> {
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?))
}

fn read_own_memory((start, end): (u64, u64)) -> io::Result<Vec<u8>> {
    let mut data = vec![0; end.saturating_sub(start) as usize];
    File::open("/proc/self/mem")?.read_exact_at(&mut data, start)?;
    Ok(data)
}
