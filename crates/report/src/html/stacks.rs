//! Call stacks that lead to the kernel: where threads waited, and what the kernel was called for.

use super::columns::{Short, Strings};
use crate::labels;
use crate::rows::{self, InKernel, Stacked, Waited};
use serde::Serialize;
use timewise_flow::{Analysis, waiting};

/// What stacks are told apart by, as columns.
#[derive(Default, Serialize)]
struct Stacks {
    /// The function that called the kernel.
    function: Vec<u32>,
    /// The function that called that; null if there is none.
    caller: Vec<Option<u32>>,
    /// Source line of that call, or the function's module.
    place: Vec<u32>,
    /// All functions, innermost first.
    stack: Vec<u32>,
}

/// How threads waited, a row for each stack, longest first.
#[derive(Default, Serialize)]
pub struct Waiting {
    #[serde(flatten)]
    stacks: Stacks,
    duration_ns: Vec<Short>,
    /// Of the time of all threads, 0 to 1.
    share: Vec<Short>,
    threads: Vec<usize>,
    /// Null where threads were only looked at from time to time.
    times: Vec<Option<Short>>,
    /// How it was measured; null if nothing waited.
    how: Option<String>,
    stands_out: bool,
}

/// What the kernel took, a row for each stack, costliest first.
#[derive(Default, Serialize)]
pub struct Kernel {
    #[serde(flatten)]
    stacks: Stacks,
    /// Of all CPU time that was sampled, 0 to 1.
    share: Vec<Short>,
    samples: Vec<Short>,
    stands_out: bool,
}

impl Stacks {
    fn push<F>(&mut self, row: &Stacked<F>, strings: &mut Strings) {
        let ends = &row.ends;
        self.function.push(strings.add(&ends.function));
        self.caller.push(ends.caller.as_deref().map(|caller| strings.add(caller)));
        let place = labels::line_or_module(ends.file.as_deref(), ends.line, &ends.module);
        self.place.push(strings.add(&place));
        self.stack.push(strings.add(&row.whole.stack.join(" < ")));
    }
}

impl Waiting {
    pub fn new(analysis: &Analysis, strings: &mut Strings) -> Waiting {
        let rows = rows::waits(analysis);
        let whole = waiting::threads_time_ns(analysis).max(1.0);
        let how = crate::origin::waiting_in_words(analysis);
        let mut columns =
            Waiting { how, stands_out: rows::waiting_stands_out(analysis, &rows), ..Waiting::default() };
        for row in &rows {
            let Waited { threads, times, duration_ns } = &row.fields;
            columns.stacks.push(row, strings);
            columns.duration_ns.push((*duration_ns).into());
            columns.share.push((duration_ns / whole).into());
            columns.threads.push(threads.count());
            columns.times.push(times.map(Short::from));
        }
        columns
    }
}

impl Kernel {
    pub fn new(analysis: &Analysis, strings: &mut Strings) -> Kernel {
        let rows = rows::kernel(analysis);
        let mut columns = Kernel { stands_out: rows::kernel_stands_out(&rows), ..Kernel::default() };
        for row in &rows {
            let InKernel { samples, share, .. } = row.fields;
            columns.stacks.push(row, strings);
            columns.share.push(share.into());
            columns.samples.push(samples.into());
        }
        columns
    }
}
