//! Work on many things alike, shared among the processors. What comes out does not depend on how many there are.

use std::ops::Range;
use std::panic::resume_unwind;
use std::thread;

/// More threads would wait for each other's memory.
const MOST_THREADS: usize = 8;

/// What `work` makes of each part of `0..count`, in their order. Fewer things than `least` are no part of their
/// own.
pub fn in_parts<T: Send>(count: usize, least: usize, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let parts = threads.min(count / least.max(1)).max(1);
    let part = |at: usize| count * at / parts..count * (at + 1) / parts;
    let work = &work;
    thread::scope(|scope| {
        let others: Vec<_> = (1..parts).map(|at| scope.spawn(move || work(part(at)))).collect();
        let mut made = vec![work(part(0))];
        made.extend(
            others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic))),
        );
        made
    })
}

/// Both at once.
pub fn both<A: Send, B>(one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        (one.join().unwrap_or_else(|panic| resume_unwind(panic)), other)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_in_order_and_leave_nothing_out() {
        for (count, least) in [(0, 1), (1, 1), (5, 0), (7, 2), (1000, 1), (1000, 300), (1000, 5000)] {
            let parts = in_parts(count, least, |part| part.collect::<Vec<_>>());
            assert_eq!(parts.concat(), (0..count).collect::<Vec<_>>());
            assert!(parts.len() == 1 || parts.iter().all(|part| part.len() >= least));
        }
        assert_eq!(both(|| 1, || 2), (1, 2));
    }
}
