//! Source files as they are today, and whether they are still those that a profile speaks of.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use timewise_image::regular_file;
use timewise_profile::Profile;
use timewise_report::annotate::SourceText;

/// More of a file is not read, in bytes: the largest that compilers are given have some ten millions.
const MOST: u64 = 1 << 28;

/// Source files, read when first asked for.
pub struct Sources {
    /// When the first run began, nanoseconds since the Unix epoch; the program was there already. `None`
    /// if the profile does not tell.
    started_unix_ns: Option<i64>,
    files: RefCell<HashMap<String, File>>,
}

enum File {
    /// It cannot be read.
    Unknown,
    /// It was written to after the program was made from it.
    Changed,
    Lines(Vec<String>),
}

impl Sources {
    /// Those of the program that was profiled.
    pub fn of(profile: &Profile) -> Sources {
        let started = profile.runs.iter().map(|run| run.started_unix_ns).filter(|&started| started > 0);
        Sources { started_unix_ns: started.min(), files: RefCell::default() }
    }

    /// The text of a line, counted from 1.
    pub fn line(&self, path: &str, line: u32) -> SourceText {
        let mut files = self.files.borrow_mut();
        let file = files
            .entry(path.to_string())
            .or_insert_with(|| read(path, self.started_unix_ns).unwrap_or(File::Unknown));
        match file {
            File::Unknown => SourceText::Unknown,
            File::Changed => SourceText::Changed,
            File::Lines(lines) => {
                let text = (line as usize).checked_sub(1).and_then(|at| lines.get(at));
                text.map_or(SourceText::Unknown, |text| SourceText::Line(text.clone()))
            }
        }
    }
}

fn read(path: &str, started_unix_ns: Option<i64>) -> io::Result<File> {
    let metadata = fs::metadata(path)?;
    let written_unix_ns =
        metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec());
    if started_unix_ns.is_some_and(|started| started < written_unix_ns) {
        return Ok(File::Changed);
    }
    let mut bytes = Vec::new();
    regular_file(Path::new(path))?.take(MOST).read_to_end(&mut bytes)?;
    Ok(File::Lines(String::from_utf8_lossy(&bytes).lines().map(str::to_string).collect()))
}
