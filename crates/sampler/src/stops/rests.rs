//! What threads waited between the last look at them and their end, or all their life if nobody looked at them.
//!
//! When they began and ended is known, but their own accounts are gone. What they used of the processor is in those of
//! their process, and of whoever waited for that: the rest of the time they waited. How long they were queued for a
//! processor meanwhile nobody knows; it is taken to be as long, for the time that they used, as with all others.

use super::sleepers::Sleeper;
use crate::roster::{Ended, Roster};
use std::collections::HashMap;
use timewise_target::cpu_time;
use timewise_target::status::{Status, ticks_per_second};

/// A thread that has ended.
#[derive(Debug)]
pub struct Rest {
    pub pid: i32,
    pub tid: i32,
    /// From the last look at it, or its beginning, to its end.
    pub span_ns: u64,
    /// What is known of it up to then, and `span_ns` as if all of that were waiting.
    pub sleeper: Sleeper,
}

impl Rest {
    /// What is known of a thread, before anything is known of its CPU time since the last look at it.
    pub fn of(Ended { pid, tid, ended_ns, .. }: Ended, mut sleeper: Sleeper) -> Rest {
        let span_ns = sleeper.end(ended_ns);
        Rest { pid, tid, span_ns, sleeper }
    }

    /// Of what it did in that span nothing is known.
    fn without_span(mut self) -> Rest {
        self.sleeper.take_back(self.span_ns);
        Rest { span_ns: 0, ..self }
    }
}

/// What is known of all processes.
#[derive(Debug)]
pub struct Rests {
    books: HashMap<i32, Book>,
}

/// What threads and children of a process used that are no longer there to tell.
#[derive(Debug, Default)]
struct Book {
    of_threads: Account,
    of_children: Account,
    /// Some of them are gone since the last look.
    has_lost_children: bool,
    /// At the last look: what the process used, with all its threads.
    used_ns: u64,
    /// And what its children had used that it waited for, with theirs.
    children_ns: u64,
}

/// CPU time of those that ended, and what they were known to use.
#[derive(Debug, Default)]
struct Account {
    known_ns: u64,
    rests: Vec<Rest>,
}

impl Account {
    /// Divides what was used among those that used it. `used_ns` is what all used that ever ended; `queued` is how long
    /// threads are queued for the time that they use.
    fn settle(&mut self, used_ns: u64, queued: f64, told: &mut Vec<Rest>) {
        let span_ns: u64 = self.rests.iter().map(|rest| rest.span_ns).sum();
        let unknown_ns = used_ns.saturating_sub(self.known_ns).min(span_ns);
        self.known_ns += unknown_ns;
        let share = (unknown_ns as f64 * (1.0 + queued) / span_ns.max(1) as f64).min(1.0);
        for mut rest in self.rests.drain(..) {
            let not_waited_ns = (rest.span_ns as f64 * share) as u64;
            rest.span_ns -= not_waited_ns;
            rest.sleeper.take_back(not_waited_ns);
            told.push(rest);
        }
    }
}

impl Rests {
    /// Begins with processes of which all that was before is of no concern, and what their present threads used.
    pub fn of(present: &HashMap<i32, u64>) -> Rests {
        let known = |known_ns| Account { known_ns, rests: Vec::new() };
        let book = |(&pid, &ran_ns): (&i32, &u64)| Book {
            of_threads: known(used_ns(pid).unwrap_or(0).saturating_sub(ran_ns)),
            of_children: known(children_ns(pid).unwrap_or(0)),
            ..Book::default()
        };
        Rests { books: present.iter().map(|process| (*process.0, book(process))).collect() }
    }

    /// Adds threads that ended, each with its CPU time up to the last look at it, and gives those of which all is known
    /// now, after a look which found that the present threads of each process used so much. `queued` is how long threads
    /// are queued for the time that they use.
    pub fn settle(
        &mut self,
        ended: Vec<(Rest, u64)>,
        present: &HashMap<i32, u64>,
        queued: f64,
        roster: &Roster,
    ) -> Vec<Rest> {
        let mut told = Vec::new();
        let pids = present.keys().chain(self.books.keys()).chain(ended.iter().map(|(rest, _)| &rest.pid));
        let used: HashMap<i32, Option<u64>> = pids.map(|&pid| (pid, used_ns(pid))).collect();
        for (rest, known_ns) in ended {
            let account = &mut self.books.entry(rest.pid).or_default().of_threads;
            account.known_ns += known_ns;
            account.rests.push(rest);
        }
        let is_there = |pid: i32| used.get(&pid).map_or_else(|| used_ns(pid).is_some(), Option::is_some);
        for (&pid, _) in used.iter().filter(|(_, used)| used.is_none()) {
            let Some(ended) = self.books.remove(&pid) else { continue };
            let mut ancestor = roster.parent(pid);
            while let Some(pid) = ancestor.filter(|&pid| !is_there(pid)) {
                ancestor = roster.parent(pid);
            }
            let rests = ended.of_threads.rests.into_iter().chain(ended.of_children.rests);
            match ancestor {
                Some(ancestor) => {
                    let book = self.books.entry(ancestor).or_default();
                    book.has_lost_children = true;
                    book.of_children.known_ns += ended.used_ns + ended.children_ns;
                    book.of_children.rests.extend(rests);
                }
                None => told.extend(rests.map(Rest::without_span)),
            }
        }
        for (&pid, &used_ns) in &used {
            let Some(used_ns) = used_ns else { continue };
            let book = self.books.entry(pid).or_default();
            book.used_ns = used_ns;
            let ran_ns = present.get(&pid).copied().unwrap_or(0);
            book.of_threads.settle(used_ns.saturating_sub(ran_ns), queued, &mut told);
            if std::mem::take(&mut book.has_lost_children) {
                book.children_ns = children_ns(pid).unwrap_or(book.children_ns);
                // Of children that it did not wait for, its account tells nothing.
                book.of_children.known_ns = book.of_children.known_ns.min(book.children_ns);
                book.of_children.settle(book.children_ns, queued, &mut told);
            }
        }
        told
    }
}

fn used_ns(pid: i32) -> Option<u64> {
    cpu_time::of_process(pid).map(|used| used.as_nanos() as u64)
}

/// CPU time of the children that a process waited for, with theirs.
fn children_ns(pid: i32) -> Option<u64> {
    let (user, kernel) = Status::of_process(pid)?.waited_ticks;
    Some((user + kernel) * 1_000_000_000 / ticks_per_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What two of 300 and 100 ns waited, when that is settled with so much CPU time and so much in the queue for it.
    fn waited(account: &mut Account, used_ns: u64, queued: f64) -> Vec<u64> {
        account.rests = [300, 100]
            .map(|ended_ns| Rest::of(Ended { pid: 1, tid: 2, begun_ns: 0, ended_ns }, Sleeper::born(0)))
            .into();
        let mut told = Vec::new();
        account.settle(used_ns, queued, &mut told);
        told.iter().map(|rest| rest.span_ns).collect()
    }

    #[test]
    fn what_was_not_used_was_waited() {
        let mut account = Account { known_ns: 1000, rests: Vec::new() };
        assert_eq!(waited(&mut account, 1000, 0.5), [300, 100]);
        assert_eq!(waited(&mut account, 1100, 0.0), [225, 75]);
        // The same CPU time is not used twice; that of whoever is queued as long again leaves half.
        assert_eq!(waited(&mut account, 1100, 0.0), [300, 100]);
        assert_eq!(waited(&mut account, 1200, 1.0), [150, 50]);
        assert_eq!(waited(&mut account, 9000, 0.0), [0, 0]);
    }
}
