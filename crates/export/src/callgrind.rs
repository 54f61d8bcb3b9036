//! The format of Valgrind's callgrind, for `callgrind_annotate` and KCachegrind: costs by instruction and
//! source line, and inclusive costs by call.
//!
//! Events that were not collected are not declared: instructions are counted, cycles and samples are sampled.

use crate::calls::{Call, Calls, calls};
use crate::costs::{Cost, costs};
use crate::owners::{Owner, Owners, one_line};
use crate::rounding::Rounding;
use crate::stacks::Stacks;
use crate::weights::Weights;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use timewise_flow::Analysis;
use timewise_flow::lines::line_at;
use timewise_profile::{CodeVersion, FileId, ModuleId, Offset, Place};

/// The whole profile as one part.
pub fn export(analysis: &Analysis) -> String {
    let owners = Owners::new(analysis);
    let stacks = Stacks::new(analysis, &owners);
    let weights = Weights::new(analysis.profile);
    let events = Events::of(analysis);
    let calls = match events.missing_of_calls(analysis) {
        None => calls(analysis, &owners, &stacks, &weights),
        Some(_) => Calls::new(),
    };
    let mut body = Body {
        analysis,
        owners: &owners,
        calls: &calls,
        events,
        text: String::new(),
        objects: Names::default(),
        files: Names::default(),
        functions: Names::default(),
        own: Costs::default(),
        inclusive: Costs::default(),
    };
    body.write(costs(analysis, &owners, &weights));
    let mut text = header(analysis, events);
    text += &body.text;
    // Written last: it is the sum of what was written.
    let _ = writeln!(text, "\ntotals:{}", body.own.totals(events));
    text
}

fn header(analysis: &Analysis, events: Events) -> String {
    let profile = analysis.profile;
    let mut text =
        format!("# callgrind format\nversion: 1\ncreator: timewise {}\n", env!("CARGO_PKG_VERSION"));
    if let Some(process) = profile.processes.first() {
        let _ = writeln!(text, "pid: {}", process.pid);
    }
    if let Some(run) = profile.runs.first() {
        let words: Vec<_> = run.command.iter().map(|word| one_line(&String::from_utf8_lossy(word))).collect();
        let _ = writeln!(text, "cmd: {}", words.join(" "));
    }
    if let Some(missing) = events.missing_of_calls(analysis) {
        let _ = writeln!(text, "desc: Note: no inclusive costs: {missing}");
    }
    if events.sampled && !events.exact_cycles {
        text += "desc: Note: cycles are estimated from time\n";
    }
    let _ = writeln!(text, "positions: instr line\nevents: {}", events.names().join(" "));
    text
}

/// What was collected.
#[derive(Clone, Copy, Debug)]
struct Events {
    counted: bool,
    sampled: bool,
    /// Cycles come from a clock of cycles, not from time.
    exact_cycles: bool,
}

impl Events {
    fn of(analysis: &Analysis) -> Events {
        Events {
            counted: !analysis.code.blocks.is_empty(),
            sampled: !analysis.profile.samples.is_empty(),
            exact_cycles: analysis.quality.clock.as_ref().is_some_and(|clock| clock.counts_cycles),
        }
    }

    /// Names, in the order of the columns.
    fn names(self) -> Vec<&'static str> {
        let counted = if self.counted { &["Instructions"][..] } else { &[] };
        let sampled = if self.sampled { &["Cycles", "Samples"][..] } else { &[] };
        [counted, sampled].concat()
    }

    /// Why calls cannot be written: readers take the inclusive cost of a function from its calls, in all
    /// events, and would show none where one was not collected.
    fn missing_of_calls(self, analysis: &Analysis) -> Option<&'static str> {
        if self.counted && !analysis.code.has_call_costs {
            return Some("costs of calls were not counted");
        }
        (self.sampled && analysis.profile.stacks.is_empty()).then_some("call stacks were not sampled")
    }
}

/// Sums of what was written, as it was rounded.
#[derive(Clone, Copy, Debug, Default)]
struct Costs {
    instructions: u64,
    cycles: Rounding,
    samples: Rounding,
}

impl Costs {
    /// The columns of one line.
    fn next(&mut self, events: Events, instructions: u64, cycles: f64, samples: f64) -> String {
        let mut columns = String::new();
        if events.counted {
            self.instructions += instructions;
            let _ = write!(columns, " {instructions}");
        }
        if events.sampled {
            let _ = write!(columns, " {} {}", self.cycles.next(cycles), self.samples.next(samples));
        }
        columns
    }

    fn totals(self, events: Events) -> String {
        let mut columns = String::new();
        if events.counted {
            let _ = write!(columns, " {}", self.instructions);
        }
        if events.sampled {
            let _ = write!(columns, " {} {}", self.cycles.total(), self.samples.total());
        }
        columns
    }
}

/// What stands at a place: costs of its own, calls, or both.
type Lines = BTreeMap<Place, Cost>;

struct Body<'a> {
    analysis: &'a Analysis<'a>,
    owners: &'a Owners<'a>,
    calls: &'a Calls,
    events: Events,
    text: String,
    objects: Names<Option<ModuleId>>,
    files: Names<Option<FileId>>,
    functions: Names<Owner>,
    own: Costs,
    inclusive: Costs,
}

impl Body<'_> {
    fn write(&mut self, costs: Lines) {
        let mut by_owner: BTreeMap<Owner, Lines> = BTreeMap::new();
        for (place, cost) in costs {
            by_owner.entry(self.owners.at(place)).or_default().insert(place, cost);
        }
        for &site in self.calls.keys() {
            by_owner.entry(self.owners.at(site)).or_default().entry(site).or_default();
        }
        for (owner, lines) in by_owner {
            self.function(owner, &lines);
        }
        let nowhere = self.analysis.samples.nowhere;
        if nowhere.samples > 0.0 {
            let (object, file, name) = (self.object(None), self.file(None), self.name(Owner::Nowhere));
            let columns = self.own.next(self.events, 0, nowhere.cycles, nowhere.samples);
            let _ = write!(self.text, "\nob={object}\nfl={file}\nfn={name}\n0 0{columns}\n");
        }
    }

    fn function(&mut self, owner: Owner, lines: &Lines) {
        let Some(&first) = lines.keys().next() else { return };
        let home = self.file_of(owner, first);
        let (object, file, name) = (self.object(Some(first.module)), self.file(home), self.name(owner));
        let _ = write!(self.text, "\nob={object}\nfl={file}\nfn={name}\n");
        let mut current = home;
        for (&place, cost) in lines {
            let line = line_at(self.analysis.profile, place);
            let file = line.map_or(home, |line| Some(line.file));
            if file != current {
                let tag = if file == home { "fe" } else { "fi" };
                let name = self.file(file);
                let _ = writeln!(self.text, "{tag}={name}");
                current = file;
            }
            let (offset, line) = (place.offset.0, line.map_or(0, |line| line.line));
            let executions = cost.executions.unwrap_or_default();
            if executions > 0 || cost.samples > 0.0 {
                let columns = self.own.next(self.events, executions, cost.cycles, cost.samples);
                let _ = writeln!(self.text, "{offset:#x} {line}{columns}");
            }
            for (&callee, call) in self.calls.get(&place).into_iter().flatten() {
                self.call(callee, call, offset, line);
            }
        }
    }

    fn call(&mut self, callee: Owner, call: &Call, offset: u64, line: u32) {
        let entry = self.entry_of(callee);
        if let Some(entry) = entry {
            let (object, file) = (self.object(Some(entry.module)), self.file_of(callee, entry));
            let file = self.file(file);
            let _ = write!(self.text, "cob={object}\ncfi={file}\n");
        }
        let name = self.name(callee);
        let (to_offset, to_line) = entry.map_or((0, 0), |entry| {
            (entry.offset.0, line_at(self.analysis.profile, entry).map_or(0, |line| line.line))
        });
        let columns = self.inclusive.next(self.events, call.instructions, call.cycles, call.samples);
        let _ = write!(
            self.text,
            "cfn={name}\ncalls={} {to_offset:#x} {to_line}\n{offset:#x} {line}{columns}\n",
            call.count
        );
    }

    /// Where an owner begins.
    fn entry_of(&self, owner: Owner) -> Option<Place> {
        match owner {
            Owner::Function(function) => Some(self.analysis.profile.functions[function.index()].place),
            Owner::Routine(routine) => Some(self.analysis.routines[routine.index()].place),
            Owner::Module(module) => {
                Some(Place { module, version: CodeVersion::default(), offset: Offset(0) })
            }
            Owner::Nowhere => None,
        }
    }

    /// The file that a function is said to be in: where it is declared, or else the one of its first line.
    fn file_of(&self, owner: Owner, first: Place) -> Option<FileId> {
        let profile = self.analysis.profile;
        let declared = match owner {
            Owner::Function(function) => profile.functions[function.index()].file,
            _ => None,
        };
        let entry = self.entry_of(owner).unwrap_or(first);
        declared.or_else(|| line_at(profile, entry).map(|line| line.file))
    }

    fn object(&mut self, module: Option<ModuleId>) -> String {
        let path = |module| self.owners.module_path(module);
        self.objects.of(module, || module.map_or_else(|| UNKNOWN.into(), path))
    }

    fn file(&mut self, file: Option<FileId>) -> String {
        let path = |file: FileId| one_line(&self.analysis.profile.files[file.index()].path);
        self.files.of(file, || file.map_or_else(|| UNKNOWN.into(), path))
    }

    fn name(&mut self, owner: Owner) -> String {
        self.functions.of(owner, || self.owners.name(owner))
    }
}

/// What callgrind calls an unknown file.
const UNKNOWN: &str = "???";

/// Names that are written once and referred to by number from then on.
#[derive(Debug)]
struct Names<K>(HashMap<K, usize>);

impl<K> Default for Names<K> {
    fn default() -> Names<K> {
        Names(HashMap::new())
    }
}

impl<K: std::hash::Hash + Eq> Names<K> {
    /// `(3) name` the first time, `(3)` then.
    fn of(&mut self, key: K, name: impl FnOnce() -> String) -> String {
        let next = self.0.len() + 1;
        match self.0.entry(key) {
            std::collections::hash_map::Entry::Occupied(known) => format!("({})", known.get()),
            std::collections::hash_map::Entry::Vacant(new) => {
                new.insert(next);
                format!("({next}) {}", name())
            }
        }
    }
}
