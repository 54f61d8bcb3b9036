//! The shares that `timewise sample` finds.

use super::names::{Function, Symbols};
use super::{Found, Options, STACK_BYTES, execute};
use crate::suite::Workload;
use anyhow::{Result, ensure};
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use timewise_profile::{Offset, Place, Profile, StackId};

/// Records a workload into `file` and adds up the profile.
pub fn record(
    root: &Path,
    workload: &Workload,
    options: &Options,
    timewise: &Path,
    file: &Path,
) -> Result<Found> {
    let frequency = options.frequency.to_string();
    let stack = format!("auto,{STACK_BYTES}");
    let [timewise, path] = [timewise, file].map(|path| path.to_string_lossy().into_owned());
    let words = [timewise.as_str(), "sample", "-o", &path, "-F", &frequency, "--call-graph", &stack, "--"];
    execute(root, workload, options.size, &words.map(str::to_string))?;
    let profile = Profile::load(file)?;
    let found = add_up(&profile);
    ensure!(found.samples > 0, "{}: no samples", workload.name);
    Ok(found)
}

fn add_up(profile: &Profile) -> Found {
    let mut functions = Functions::of(profile);
    let mut found = Found { samples: profile.samples.len() as u64, ..Found::default() };
    let mut callers: HashMap<StackId, BTreeSet<usize>> = HashMap::new();
    for sample in &profile.samples {
        let own = sample.place.and_then(|place| functions.at(place));
        let mut all = match sample.stack {
            Some(stack) => callers.entry(stack).or_insert_with(|| functions.callers(stack)).clone(),
            None => BTreeSet::new(),
        };
        all.extend(own);
        // Code that no symbol table names: each tool divides it as it likes.
        let is_named = |function: &usize| !profile.functions[*function].symbol.is_empty();
        for function in all.into_iter().filter(is_named) {
            found.functions.entry(functions.named[function].clone()).or_default().total += 1.0;
        }
        if let Some(own) = own.filter(is_named) {
            found.functions.entry(functions.named[own].clone()).or_default().own += 1.0;
        }
    }
    found
}

/// The functions of a profile by place.
struct Functions<'a> {
    profile: &'a Profile,
    /// Beginning, end and row, sorted.
    ranges: Vec<(Place, u64, usize)>,
    named: Vec<Function>,
}

impl<'a> Functions<'a> {
    fn of(profile: &'a Profile) -> Functions<'a> {
        let mut symbols = Symbols::default();
        let named = profile.functions.iter().map(|function| {
            let module = Path::new(OsStr::from_bytes(&profile.modules[function.place.module.index()].path));
            let name = if function.symbol.is_empty() { &function.name } else { &function.symbol };
            let by_name = symbols.function(module, name);
            // Where we have it from a symbol table, we know where it is, whatever else is called so.
            let offset = if function.symbol.is_empty() { 0 } else { function.place.offset.0 };
            Function { offset: if by_name.offset == 0 { 0 } else { offset }, ..by_name }
        });
        let named = named.collect();
        let rows = profile.functions.iter().enumerate();
        let mut ranges: Vec<_> =
            rows.map(|(row, f)| (f.place, f.place.offset.0.saturating_add(f.size), row)).collect();
        ranges.sort();
        Functions { profile, ranges, named }
    }

    fn at(&self, place: Place) -> Option<usize> {
        let after = self.ranges.partition_point(|(start, ..)| *start <= place);
        let (start, end, row) = self.ranges[..after].last()?;
        let same = (start.module, start.version) == (place.module, place.version);
        (same && place.offset.0 < *end).then_some(*row)
    }

    fn callers(&mut self, stack: StackId) -> BTreeSet<usize> {
        let nodes = &self.profile.stacks;
        let up = std::iter::successors(Some(stack), |id| nodes[id.index()].parent);
        up.filter_map(|id| {
            let place = nodes[id.index()].return_place;
            // The call, not what follows it.
            self.at(Place { offset: Offset(place.offset.0.wrapping_sub(1)), ..place })
        })
        .collect()
    }
}
