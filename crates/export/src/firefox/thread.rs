//! The tables of one thread as they grow.

use super::schema::{Frames, Functions, Resources, Samples, Stacks, Symbols};
use crate::owners::{Owner, Owners, one_line};
use crate::stacks::{Frame, Name, Step};
use std::collections::HashMap;
use std::hash::Hash;
use timewise_flow::Analysis;
use timewise_profile::{ModuleId, Place};

/// Everything that the samples of a thread refer to. Equal rows are one.
#[derive(Default)]
pub struct Tables<'p> {
    pub samples: Samples,
    pub stacks: Stacks,
    pub frames: Frames,
    pub functions: Functions,
    pub resources: Resources,
    pub symbols: Symbols,
    pub texts: Vec<String>,
    known_stacks: HashMap<(Option<usize>, usize), usize>,
    known_frames: HashMap<(Option<Place>, Owner, u32), usize>,
    known_functions: HashMap<Name<'p>, usize>,
    known_resources: HashMap<ModuleId, usize>,
    known_symbols: HashMap<Owner, usize>,
    known_texts: HashMap<String, usize>,
    last_ms: f64,
}

/// Indexes of categories.
pub const USER: usize = 0;
pub const KERNEL: usize = 1;

/// The index of `key`, and whether it is new.
fn intern<K: Hash + Eq>(known: &mut HashMap<K, usize>, key: K) -> (usize, bool) {
    let next = known.len();
    let index = *known.entry(key).or_insert(next);
    (index, index == next)
}

impl<'p> Tables<'p> {
    /// Adds a sample, whose frames come innermost first.
    pub fn add(&mut self, analysis: &Analysis<'p>, owners: &Owners, frames: &[Frame], time_ms: f64, ns: f64) {
        let mut stack = None;
        for frame in frames.iter().rev() {
            for (depth, step) in (0..).zip(frame.steps(analysis.profile).into_iter().rev()) {
                let frame = self.frame(analysis, owners, frame, (depth, step));
                let (index, new) = intern(&mut self.known_stacks, (stack, frame));
                if new {
                    self.stacks.prefix.push(stack);
                    self.stacks.frame.push(frame);
                    self.stacks.length += 1;
                }
                stack = Some(index);
            }
        }
        let samples = &mut self.samples;
        samples.weight_type = "samples";
        samples.stack.push(stack);
        samples.time_deltas.push(time_ms - self.last_ms);
        samples.weight.push(1);
        samples.busy.push((ns / 1e3).round() as u64);
        samples.length += 1;
        self.last_ms = time_ms;
    }

    /// The function of the source at a depth of inlining in a frame.
    fn frame(
        &mut self,
        analysis: &Analysis,
        owners: &Owners,
        frame: &Frame,
        (depth, step): (u32, Step<'p>),
    ) -> usize {
        let Frame { place, owner, .. } = *frame;
        let (index, new) = intern(&mut self.known_frames, (place, owner, depth));
        if new {
            let func = self.function(analysis, owners, step, place);
            let kernel = place.is_some_and(|place| owners.is_kernel(place));
            let within = place.filter(|_| !kernel);
            let symbol = within.and_then(|place| self.symbol(analysis, owners, owner, place.module));
            let frames = &mut self.frames;
            frames.address.push(within.map_or(-1, |place| i64::try_from(place.offset.0).unwrap_or(-1)));
            frames.inline_depth.push(depth);
            frames.category.push(if kernel { KERNEL } else { USER });
            frames.subcategory.push(0);
            frames.func.push(func);
            frames.native_symbol.push(symbol);
            frames.window.push(0);
            frames.line.push(step.line.map(|line| line.line));
            frames.column.push(None);
            frames.length += 1;
        }
        index
    }

    fn function(
        &mut self,
        analysis: &Analysis,
        owners: &Owners,
        step: Step<'p>,
        place: Option<Place>,
    ) -> usize {
        let (index, new) = intern(&mut self.known_functions, step.name);
        if new {
            let name = self.text(&step.name.text(owners));
            let resource = place.map(|place| self.resource(owners, place.module));
            let (file, line) = step.name.declared(owners).unzip();
            // Of an inlined function it is only known which lines of it ran.
            let met = step.line.map(|line| one_line(&analysis.profile.files[line.file.index()].path));
            let file = file.or(met).map(|file| self.text(&file));
            let functions = &mut self.functions;
            functions.name.push(name);
            functions.is_script.push(false);
            functions.is_relevant_for_script.push(false);
            functions.resource.push(resource.map_or(-1, |resource| resource as i64));
            functions.file_name.push(file);
            functions.line_number.push(line);
            functions.column_number.push(None);
            functions.length += 1;
        }
        index
    }

    fn resource(&mut self, owners: &Owners, module: ModuleId) -> usize {
        const LIBRARY: u32 = 1;
        let (index, new) = intern(&mut self.known_resources, module);
        if new {
            let name = self.text(&owners.module_name(module));
            self.resources.lib.push(module.index());
            self.resources.name.push(name);
            self.resources.host.push(None);
            self.resources.kind.push(LIBRARY);
            self.resources.length += 1;
        }
        index
    }

    fn symbol(
        &mut self,
        analysis: &Analysis,
        owners: &Owners,
        owner: Owner,
        module: ModuleId,
    ) -> Option<usize> {
        let Owner::Function(function) = owner else { return None };
        let (index, new) = intern(&mut self.known_symbols, owner);
        if new {
            let name = self.text(&owners.name(owner));
            let function = &analysis.profile.functions[function.index()];
            self.symbols.address.push(function.place.offset.0);
            self.symbols.function_size.push(Some(function.size));
            self.symbols.lib_index.push(module.index());
            self.symbols.name.push(name);
            self.symbols.length += 1;
        }
        Some(index)
    }

    fn text(&mut self, text: &str) -> usize {
        if let Some(&known) = self.known_texts.get(text) {
            return known;
        }
        self.known_texts.insert(text.to_string(), self.texts.len());
        self.texts.push(text.to_string());
        self.texts.len() - 1
    }
}
