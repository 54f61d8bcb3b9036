//! From the streams of a run to what a [`Walker`] follows: which blocks of an edge profile each thread executes.

use crate::walker::Walker;
use std::collections::HashMap;
use timewise_engine::streams::{Chunk, Locator};
use timewise_flow::Analysis;
use timewise_isa::boundaries;
use timewise_profile::{BlockId, Module, ModuleId, Offset, Place};
use timewise_replay::{Event, Replay};

/// Reads the streams of one run of a program that an edge profile is of.
#[derive(Debug)]
pub struct Feed<'a> {
    analysis: &'a Analysis<'a>,
    modules: HashMap<&'a Module, ModuleId>,
    replay: Replay,
    locator: Locator,
    /// Of streamed blocks, by image and number: of each instruction, where in the profile's blocks it is.
    marks: HashMap<u64, Vec<Option<Box<[Mark]>>>>,
    /// Streams that were seen.
    streams: usize,
}

/// Where an instruction is.
#[derive(Clone, Copy, Debug)]
struct Mark {
    block: Option<BlockId>,
    is_first: bool,
    is_last: bool,
}

const NOWHERE: Mark = Mark { block: None, is_first: false, is_last: false };

impl<'a> Feed<'a> {
    /// Of a run whose edge profile was analysed.
    pub fn new(analysis: &'a Analysis<'a>) -> Feed<'a> {
        let modules = analysis.profile.modules.iter().zip((0..).map(ModuleId));
        Feed {
            analysis,
            modules: modules.collect(),
            replay: Replay::new(false),
            locator: Locator::default(),
            marks: HashMap::new(),
            streams: 0,
        }
    }

    /// Takes the next chunk of any stream; the walker's threads are streams. False if it makes no sense.
    pub fn chunk(&mut self, chunk: &Chunk, walker: &mut Walker) -> bool {
        while self.streams <= chunk.stream {
            walker.begin(self.streams);
            self.streams += 1;
        }
        let thread = chunk.stream;
        let Feed { analysis, modules, replay, locator, marks, .. } = self;
        let marks = marks.entry(chunk.image).or_default();
        let made_sense = replay.chunk(chunk, |event| match event {
            Event::Executed(step) => {
                let number = step.block as usize;
                if marks.len() <= number {
                    marks.resize(number + 1, None);
                }
                let of_block = marks[number].get_or_insert_with(|| {
                    locator.place(chunk, step.block).map_or_else(Box::default, |place| {
                        let module = modules.get(locator.module(place)).copied();
                        let place = module.map(|module| Place { module, ..place });
                        place.map_or_else(Box::default, |place| mark(analysis, place, chunk, step.block))
                    })
                });
                let mark = of_block.get(usize::from(step.position)).copied().unwrap_or(NOWHERE);
                match mark.block {
                    Some(block) => {
                        if mark.is_first {
                            walker.arrive(thread, block);
                        } else if step.position == 0 {
                            walker.resume(thread, block);
                        }
                        if mark.is_last {
                            walker.complete(thread, block);
                        }
                    }
                    None => walker.unknown(thread),
                }
            }
            Event::Signal { .. } => walker.signal(thread),
            Event::Handled => walker.handled(thread),
            Event::Thread { .. } => walker.begin(thread),
            Event::GivenUp(_) | Event::Begin { .. } | Event::End { .. } | Event::Lost { .. } => {}
        });
        if chunk.is_last {
            walker.end(thread);
        }
        made_sense
    }
}

/// Where the instructions of a streamed block are, whose first one is at `place`.
fn mark(analysis: &Analysis, place: Place, chunk: &Chunk, number: u32) -> Box<[Mark]> {
    let Some(streamed) = chunk.block(number) else { return Box::default() };
    let mut at = 0usize;
    let marks = boundaries(streamed.code, streamed.address).map(|(length, _)| {
        let from = at;
        at += usize::from(length);
        let here = Place { offset: Offset(place.offset.0.wrapping_add(from as u64)), ..place };
        let Some(instruction) = analysis.code.instruction_at(here) else { return NOWHERE };
        let id = analysis.code.instructions[instruction.index()].block;
        let block = &analysis.code.blocks[id.index()];
        // Code that was written at run time may be other code than the edge profile has there.
        let before = (here.offset.0 - block.place.offset.0) as usize;
        let known = analysis.profile.blocks[id.index()].code.get(before..before + usize::from(length));
        if known != streamed.code.get(from..at) {
            return NOWHERE;
        }
        let end = Offset(here.offset.0 + u64::from(length));
        Mark { block: Some(id), is_first: before == 0, is_last: end == block.end }
    });
    marks.take(streamed.instructions.into()).collect()
}
