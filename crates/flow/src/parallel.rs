//! Work on many things alike, shared among the processors. What comes out does not depend on how many there are.

use std::ops::Range;
use std::panic::resume_unwind;
use std::thread::{self, Builder};

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
        let begin = |at| Builder::new().spawn_scoped(scope, move || work(part(at)));
        let others: Vec<_> = (1..parts).map(begin).collect();
        let mut made = vec![work(part(0))];
        made.extend((1..parts).zip(others).map(|(at, other)| match other {
            Ok(other) => other.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // Where the system allows no further thread this one does the work.
            Err(_) => work(part(at)),
        }));
        made
    })
}

/// Both at once.
pub fn both<A: Send, B>(one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (A, B) {
    let mut one = Some(one);
    let mut begin = || one.take().map(|one| one());
    let (done, other) = thread::scope(|scope| {
        let thread = Builder::new().spawn_scoped(scope, &mut begin);
        let other = other();
        (thread.ok().and_then(|one| one.join().unwrap_or_else(|panic| resume_unwind(panic))), other)
    });
    (done.or_else(begin).expect("done by the one or the other"), other)
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
