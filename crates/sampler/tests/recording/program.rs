//! The program under test: built once, its functions found by `nm`.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use timewise_profile::{Profile, Sample};
use timewise_sampler::{Means, Options, record};
use timewise_target::launch::Launch;

/// Path of the built program.
pub fn path() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let flags = ["-O1", "-g", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread"];
    BUILT.get_or_init(|| built("work", &["work.c"], &flags))
}

/// A program built from `sources` beside this file, unless it is there already.
pub fn built(name: &str, sources: &[&str], flags: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recording");
    let sources: Vec<PathBuf> = sources.iter().map(|source| folder.join(source)).collect();
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // Another test, of another process, may be building or running it.
    let _lock = lock("building");
    let age = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    if sources.iter().all(|source| age(&built) > age(source)) {
        return built;
    }
    let new = built.with_extension("new");
    let mut compiler = Command::new("cc");
    compiler.args(flags).arg("-o").arg(&new).args(sources);
    assert!(compiler.status().expect("cc runs").success());
    std::fs::rename(new, &built).unwrap();
    built
}

/// Options that take every sample.
pub fn options(frequency_hz: u32) -> Options {
    Options { frequency_hz, cost_limit: None, ..Options::default() }
}

/// Waits for other recordings to end. Each interrupts every processor thousands of times a second, and
/// a dozen at once would measure each other.
pub fn alone() -> File {
    lock("recording")
}

/// A lock between all tests, of this process and others, until it is dropped.
fn lock(name: &str) -> File {
    let file = File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)).unwrap();
    file.lock().unwrap();
    file
}

/// A recording of the program in `mode`; `None`, with a remark, where sampling is refused.
pub fn recorded(mode: &str, millions: u32, options: &Options) -> Option<Profile> {
    recorded_of(path(), mode, millions, options)
}

/// The same of another program with the same arguments.
pub fn recorded_of(program: &Path, mode: &str, millions: u32, options: &Options) -> Option<Profile> {
    if options.means != Means::Stops
        && let Err(why) = timewise_sampler::choose(options, None)
    {
        eprintln!("skipped: {why}");
        return None;
    }
    let _alone = alone();
    Some(recorded_now(program, mode, millions, options))
}

/// The same for a caller that is [`alone`] and knows what it may.
pub fn recorded_now(program: &Path, mode: &str, millions: u32, options: &Options) -> Profile {
    let mut launch = Launch::new(program);
    launch.arguments = vec![mode.into(), millions.to_string().into()];
    let profile = record(launch.stopped().unwrap(), options).unwrap();
    profile.check().unwrap();
    profile
}

/// First offset and length of a function of the program.
pub fn function(name: &str) -> std::ops::Range<u64> {
    let output = Command::new("nm").arg("-S").arg(path()).output().expect("nm (package binutils) runs");
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find(|line| line.ends_with(&format!(" {name}"))).expect("the function is there");
    let mut numbers = line.split(' ').map(|field| u64::from_str_radix(field, 16));
    let (start, size) = (numbers.next().unwrap().unwrap(), numbers.next().unwrap().unwrap());
    start..start + size
}

/// Whether a place of a sample or stack lies in a function of the program.
pub fn lies_in(profile: &Profile, place: timewise_profile::Place, function: &std::ops::Range<u64>) -> bool {
    let module = &profile.modules[place.module.index()];
    module.path.ends_with(b"/work") && function.contains(&place.offset.0)
}

/// Seconds of all samples that `wanted` picks.
pub fn seconds(profile: &Profile, wanted: impl Fn(&Sample) -> bool) -> f64 {
    let core_hz = profile.runs[0].clock.as_ref().unwrap().core_hz;
    let weigh = |sample: &Sample| match sample.weight_cycles {
        Some(cycles) => cycles as f64 / core_hz,
        None => sample.weight_ns as f64 / 1e9,
    };
    profile.samples.iter().filter(|sample| wanted(sample)).map(weigh).sum()
}
