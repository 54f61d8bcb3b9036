//! Basic block vectors: what each thread executed in one interval after the other, collected from the rings.

use super::Chunk;
use std::collections::HashMap;
use timewise_abi::NONE;
use timewise_abi::stream::{CONTROL, control};

/// The intervals of all threads.
#[derive(Debug, Default)]
pub struct Vectors {
    /// By stream.
    streams: Vec<Stream>,
}

/// Intervals of the threads that used one area, one thread after the other.
#[derive(Debug, Default)]
pub struct Stream {
    /// The process image.
    pub image: u64,
    /// Where its thread area lies in the shared file.
    pub area: u64,
    /// In order.
    pub intervals: Vec<Vector>,
    /// What is being told.
    open: Vector,
    /// Executions of each block that were told, by number.
    told: HashMap<u32, u64>,
}

/// What was executed in an interval.
#[derive(Debug, Default)]
pub struct Vector {
    /// Instructions that the thread had executed before.
    pub first: u64,
    /// Instructions that it had executed at the end; none if nobody told.
    pub end: Option<u64>,
    /// How often each block's counter was passed.
    pub counted: Vec<(u32, u64)>,
    /// Blocks that were left before their end: after how many instructions, and whether they had passed their
    /// counter.
    pub partly: Vec<(u32, u16, bool)>,
}

impl Vectors {
    /// Takes a part of a thread's stream. False if it makes no sense.
    pub fn take(&mut self, chunk: &Chunk) -> bool {
        if self.streams.len() <= chunk.stream {
            self.streams.resize_with(chunk.stream + 1, Stream::default);
        }
        let stream = &mut self.streams[chunk.stream];
        (stream.image, stream.area) = (chunk.image, chunk.area);
        let made_sense = stream.read(chunk).is_some();
        if chunk.is_last {
            stream.end(chunk);
        }
        made_sense
    }

    /// All streams.
    pub fn into_streams(self) -> Vec<Stream> {
        self.streams
    }
}

impl Stream {
    fn read(&mut self, chunk: &Chunk) -> Option<()> {
        let mut words =
            chunk.bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        while let Some(word) = words.next() {
            if word < CONTROL {
                return None;
            }
            let mut operands = [0; 5];
            for operand in operands.iter_mut().take(control::operands(word)?) {
                *operand = words.next()?;
            }
            let [first, second, ..] = operands;
            match word {
                control::COUNTED => {
                    self.open.counted.push((first, second.into()));
                    *self.told.entry(first).or_default() += u64::from(second);
                }
                control::PARTLY => {
                    let executed = u16::try_from(second).ok()?;
                    let record = chunk.record(first)?;
                    self.open.partly.push((first, executed, executed >= record.counter_at));
                }
                control::INTERVAL => {
                    let end = u64::from(first) | u64::from(second) << 32;
                    self.close(Some(end));
                    self.open.first = end;
                }
                control::THREAD => self.open.first = 0,
                _ => {}
            }
        }
        Some(())
    }

    /// The thread has ended: what was not told is what its counters hold beyond.
    fn end(&mut self, chunk: &Chunk) {
        let mut number = 0;
        while let Some(record) = chunk.record(number) {
            if record.counter != NONE {
                let told = self.told.get(&number).copied().unwrap_or(0);
                let rest = chunk.counter(record.counter).wrapping_sub(told);
                if rest > 0 {
                    self.open.counted.push((number, rest));
                }
            }
            number += 1;
        }
        self.close(None);
    }

    fn close(&mut self, end: Option<u64>) {
        let vector = std::mem::take(&mut self.open);
        if !vector.counted.is_empty() || !vector.partly.is_empty() {
            self.intervals.push(Vector { end, ..vector });
        }
    }
}
