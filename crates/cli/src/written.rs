//! What programs said of the code that they wrote at run time: perf maps and jitdumps of the processes of a
//! profile.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use timewise_image::{WrittenCode, WrittenFunction};
use timewise_profile::{Module, ModuleKind, Place, Profile};
use timewise_target::family::own_number;
use timewise_target::{mapped_file, status};

/// The announced code of all processes, those with most samples or branches in such code or with most events first: where two processes had
/// different code at one address, a profile has one place for both.
pub struct Written {
    processes: Vec<WrittenCode>,
}

impl Written {
    /// Reads what the profile's processes left behind.
    pub fn of(profile: &Profile) -> Written {
        let dumps: BTreeMap<u32, PathBuf> = profile.modules.iter().filter_map(jitdump).collect();
        let started_unix_ns = profile.runs.iter().map(|run| run.started_unix_ns).min().unwrap_or(0);
        let mut processes = Vec::new();
        for pid in in_order_of_use(profile) {
            // A process in a container, while it lives, has another number and another root for itself than for us.
            let own = own_number(pid as i32).map_or(pid, |own| own as u32);
            // An id is used again and again: what an older process left is not meant.
            let began_unix_ns = status::began_unix_ns(pid as i32).unwrap_or(i64::MAX).min(started_unix_ns);
            let left = |path: &Path| {
                let [seen, inside] = mapped_file::candidates(path.as_os_str().as_bytes(), pid)?;
                [inside, seen].into_iter().find(|path| is_younger(path, began_unix_ns))
            };
            let map = left(Path::new(&format!("/tmp/perf-{own}.map")));
            processes.extend(map.and_then(|path| WrittenCode::of_perf_map(&path).ok()));
            let dump = dumps.get(&own).and_then(|path| left(path));
            processes.extend(dump.and_then(|path| WrittenCode::of_jitdump(&path).ok()));
        }
        Written { processes }
    }

    /// The function at an address.
    pub fn at(&self, address: u64) -> Option<&WrittenFunction> {
        self.processes.iter().find_map(|code| code.at(address))
    }
}

/// Where a module of written code begins, by which its offsets become addresses.
pub fn start_of(module: &Module) -> Option<u64> {
    let name = str::from_utf8(&module.path).ok()?;
    u64::from_str_radix(name.strip_prefix("[jit 0x")?.strip_suffix(']')?, 16).ok()
}

/// A process announces its dump by mapping it; the name holds its id.
fn jitdump(module: &Module) -> Option<(u32, PathBuf)> {
    let path = Path::new(OsStr::from_bytes(&module.path));
    let name = path.file_name()?.to_str()?;
    let pid = name.strip_prefix("jit-")?.strip_suffix(".dump")?.parse().ok()?;
    Some((pid, path.to_owned()))
}

fn in_order_of_use(profile: &Profile) -> Vec<u32> {
    let mut seen = vec![0_u64; profile.processes.len()];
    let weight = |place: Option<Place>| match place {
        Some(place) if profile.modules[place.module.index()].kind == ModuleKind::Jit => 1 << 32,
        _ => 1,
    };
    for sample in &profile.samples {
        seen[profile.threads[sample.thread.index()].process.index()] += weight(sample.place);
    }
    for branch in &profile.taken_branches {
        seen[branch.process.index()] += weight(Some(branch.from));
    }
    for event in profile.os_events.iter().filter(|event| event.stack.is_some()) {
        seen[profile.threads[event.thread.index()].process.index()] += 1;
    }
    let mut order: Vec<usize> = (0..seen.len()).filter(|&process| seen[process] > 0).collect();
    order.sort_by_key(|&process| std::cmp::Reverse(seen[process]));
    order.into_iter().map(|process| profile.processes[process].pid).collect()
}

fn is_younger(path: &Path, started_unix_ns: i64) -> bool {
    fs::metadata(path).is_ok_and(|about| {
        about.mtime().saturating_mul(1_000_000_000).saturating_add(about.mtime_nsec()) >= started_unix_ns
    })
}
