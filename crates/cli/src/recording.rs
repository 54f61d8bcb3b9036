//! What the commands that run a program have in common: the way into a recording, and the way out of it.

use crate::arguments::{DEFAULT_FILE, Output};
use crate::talk::{complain, is_quiet, say};
use crate::{progress, signals, symbolise};
use anyhow::{Context, bail};
use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use timewise_profile::store::replace::{self, parent};
use timewise_profile::{Exit, Profile, Run};
use timewise_report::visible::visible;
use timewise_target::launch::{Launch, Stopped};

/// Launches a program and has `watch` record it to its end. Signals that ask us to stop are the program's
/// until then.
///
/// # Errors
/// If it cannot be launched, or those of `watch`.
pub fn record<E: Into<anyhow::Error>>(
    launch: Launch,
    watch: impl FnOnce(Stopped) -> Result<Profile, E>,
) -> anyhow::Result<Profile> {
    let stopped = signals::launch(launch)?;
    let profile = watch(stopped);
    signals::program_ended();
    profile.map_err(Into::into)
}

/// A program that waited longer has something to show, also if it computed next to nothing. Loading one from disk
/// takes less.
const WORTH_SAVING_NS: u64 = 100_000_000;

/// Names what was recorded, says what it comes to, and saves it. If it is nothing at all, that is said, and the status of a
/// program that did its work stands; a former profile is kept as `FILE.old` alone, so that nobody takes it for this run's.
///
/// Gives where it was saved.
///
/// # Errors
/// If it cannot be saved, or if there is nothing, nor a program that we launched.
pub fn keep(
    mut profile: Profile,
    output: &Output,
    summary: impl FnOnce(&Profile) -> String,
) -> anyhow::Result<PathBuf> {
    let shown = progress::show("reading symbols");
    let unknown = symbolise::symbolise(&mut profile);
    drop(shown);
    profile.runs[0].warnings.extend(unknown);
    let waited_ns = profile.waits.iter().fold(0, |sum: u64, wait| sum.saturating_add(wait.duration_ns));
    let empty = profile.samples.is_empty()
        && profile.blocks.is_empty()
        && profile.taken_branches.is_empty()
        && profile.os_events.is_empty();
    if empty && waited_ns < WORTH_SAVING_NS {
        let reasons = profile.runs.iter().flat_map(|run| &run.warnings).cloned().collect::<Vec<_>>();
        let why = format!("nothing to save: {}", reasons.join("; "));
        if profile.runs[0].exit == Exit::Unknown {
            bail!(why);
        }
        complain(why);
        set_aside(output)?;
        return Ok(output.path.clone());
    }
    say(summary(&profile).trim_end());
    if is_quiet() {
        // What is missing from counts is wrong, also where nothing else is to be said.
        let incomplete = profile.runs.iter().filter(|run| !run.counts_complete);
        incomplete.flat_map(|run| &run.warnings).for_each(complain);
    }
    // Recordings that end together, as of the ranks of one program, save one after the other.
    let _turn = turn(parent(&output.path));
    let path = output.place();
    save(&profile, &path)?;
    let place = visible(&path.to_string_lossy()).into_owned();
    match path == output.path {
        true => say(format_args!("saved as {place}")),
        // Whoever looks for it by its name has to know.
        false => complain(format_args!(
            "saved as {place}, as another recording was saved as {} meanwhile",
            visible(&output.path.to_string_lossy())
        )),
    }
    Ok(path)
}

/// Leaves the file that a recording came to nothing for to `FILE.old`, unless another recording has saved it meanwhile.
///
/// # Errors
/// If it cannot be.
pub fn set_aside(output: &Output) -> anyhow::Result<()> {
    let _turn = turn(parent(&output.path));
    if output.place() != output.path {
        return Ok(());
    }
    let shown = output.path.display();
    let kept = replace::set_aside(&output.path)
        .with_context(|| format!("cannot rename the former '{shown}', which is not of this run"))?;
    if let Some(kept) = kept {
        complain(format_args!("the former '{shown}' is '{}' now", kept.display()));
    }
    Ok(())
}

/// How long is waited for others to save: a profile of gigabytes takes seconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// Waits until no other recording saves in a folder, though not for long; where that cannot be told, not at all. The folder
/// itself may be locked for others' reasons, so the turn is a name that one process can have at a time.
fn turn(folder: &Path) -> Option<UnixDatagram> {
    let about = folder.metadata().ok()?;
    let name = format!("timewise saves in {}:{}", about.dev(), about.ino());
    let (address, begun) = (SocketAddr::from_abstract_name(name).ok()?, Instant::now());
    loop {
        match UnixDatagram::bind_addr(&address) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && begun.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(10));
            }
            bound => return bound.ok(),
        }
    }
}

/// Saves what took a run of the program: if that cannot be where it was to go, among temporary files.
///
/// # Errors
/// Why it could not be saved there, and where it is now.
pub fn save(profile: &Profile, path: &Path) -> anyhow::Result<()> {
    profile.save(path).with_context(|| match save_elsewhere(profile) {
        Some(path) => format!("what was recorded is in '{}' instead", path.display()),
        None => "what was recorded is lost".into(),
    })
}

/// Saves it among temporary files, where it was to go being full or gone.
fn save_elsewhere(profile: &Profile) -> Option<PathBuf> {
    let folder = tempfile::Builder::new().prefix("timewise-").tempdir().ok()?;
    profile.save(&folder.path().join(DEFAULT_FILE)).ok()?;
    Some(folder.keep().join(DEFAULT_FILE))
}

/// The warnings of a run below `summary`, a line each.
pub fn with_warnings(summary: String, run: &Run) -> String {
    run.warnings.iter().fold(summary, |text, warning| text + "\nwarning: " + &visible(warning))
}
