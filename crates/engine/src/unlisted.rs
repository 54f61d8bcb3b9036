//! Where functions lie of which programs have no table in memory, as static ones and assembly: their files tell.

use crate::arena::Arena;
use crate::count::CountError;
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use timewise_abi::process::Row;
use timewise_image::{Image, Named, Unlisted};
use timewise_target::maps::Mapped;

/// What tells a file from others and from what it was before: device, number, size and time of the last change. And
/// where in it the code begins that is mapped.
type Identity = (u64, u64, u64, (i64, i64), u64);

/// Where rows were laid down, and how many they are.
type Rows = [u64; 2];

/// By file, its rows of functions that are described, and of those that are named: laid down once, however often the file
/// is executed.
#[derive(Debug, Default)]
pub struct LaidDown(Mutex<HashMap<Identity, [Rows; 2]>>);

/// Tells the runtime of the functions of the executable of process `pid` that it cannot see.
///
/// # Errors
/// What the system refused. A file that cannot be read tells nothing, which is no error.
pub fn tell(arena: &Arena, process: u64, pid: i32, mappings: &[Mapped]) -> Result<(), CountError> {
    let path = format!("/proc/{pid}/exe");
    let Ok(file) = fs::metadata(&path) else { return Ok(()) };
    // Some file systems name another device in mappings than here.
    let Some(mapped) = mappings.iter().find(|mapped| mapped.inode == file.ino()) else { return Ok(()) };
    let changed = (file.mtime(), file.mtime_nsec());
    let identity = (file.dev(), file.ino(), file.size(), changed, mapped.file_offset);
    let mut laid_down = arena.laid_down().0.lock().unwrap_or_else(PoisonError::into_inner);
    let rows = match laid_down.get(&identity) {
        Some(&known) => known,
        None => *laid_down.entry(identity).or_insert(lay_down(arena, &path, mapped.file_offset)?),
    };
    let unlisted = &arena.shared().process(process).unlisted;
    unlisted.origin.store(mapped.start.wrapping_sub(mapped.file_offset), Ordering::Relaxed);
    for (list, [offset, count]) in [&unlisted.described, &unlisted.named].into_iter().zip(rows) {
        list.offset.store(offset, Ordering::Relaxed);
        list.count.store(count, Ordering::Relaxed);
    }
    Ok(())
}

fn lay_down(arena: &Arena, path: &str, file_offset: u64) -> Result<[Rows; 2], CountError> {
    let Ok(image) = Image::open(Path::new(path)) else { return Ok([[0; 2]; 2]) };
    let Some(start) = image.segments().offset_of_file_offset(file_offset) else { return Ok([[0; 2]; 2]) };
    let origin = start.wrapping_sub(file_offset);
    let far = |address: u64| i32::try_from(address.wrapping_sub(origin) as i64).ok();
    let Unlisted { described, named } = Unlisted::of(&image);
    let described = described.into_iter().filter_map(|(start, place)| Some([far(start)?, far(place)?]));
    let named = named.into_iter().filter_map(|Named { offsets, is_part }| {
        let length = i32::try_from(offsets.end - offsets.start).ok()?;
        Some([far(offsets.start)?, if is_part { -length } else { length }])
    });
    Ok([write(arena, described.collect())?, write(arena, named.collect())?])
}

fn write(arena: &Arena, rows: Vec<Row>) -> Result<Rows, CountError> {
    if rows.is_empty() {
        return Ok([0; 2]);
    }
    let bytes: Vec<u8> = rows.iter().flatten().flat_map(|number| number.to_le_bytes()).collect();
    let room = arena.shared().allocate(bytes.len() as u64).map_err(|_| CountError::Full)?;
    let written = arena.file().file().write_all_at(&bytes, room);
    written.map_err(|cause| CountError::System { what: "write shared memory", cause })?;
    Ok([room, rows.len() as u64])
}
