//! What it takes to bring code under count, for who measures the engine.

use std::arch::x86_64::_rdtsc;
use std::time::{Duration, Instant};

/// How much code was translated, and how long that took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Translation {
    /// Blocks, in all processes.
    pub blocks: u64,
    /// Time that it took to translate them and to join them with others; zero if it was not asked for.
    pub elapsed: Duration,
}

/// The time stamp counter beside a clock.
#[derive(Debug)]
pub struct Ticks {
    begun: (u64, Instant),
}

impl Ticks {
    /// From now on.
    pub fn begin() -> Ticks {
        Ticks { begun: (ticks(), Instant::now()) }
    }

    /// How long so many ticks take, by how many there were since it began.
    pub fn duration(&self, number: u64) -> Duration {
        let (before, begun) = self.begun;
        let passed = ticks().wrapping_sub(before).max(1);
        begun.elapsed().mul_f64(number as f64 / passed as f64)
    }
}

fn ticks() -> u64 {
    // SAFETY: reads a counter, which no program can forbid to another.
    unsafe { _rdtsc() }
}
