//! CPU time of threads that stand.

use timewise_target::cpu_time::{self, ThreadAccount};

/// Accounts that stay open, of which each takes a descriptor of ours; others are opened each time.
const MOST_OPEN: usize = 256;

/// Where a thread's CPU time is read.
#[derive(Debug, Default)]
pub enum Account {
    /// The clock of its process, which has had this one thread only: cheaper to read than its own account.
    #[default]
    OfProcess,
    /// Its own account.
    Own(Option<ThreadAccount>),
}

/// How many of them are open.
#[derive(Debug, Default)]
pub struct Accounts {
    open: usize,
}

impl Accounts {
    /// CPU time of a thread, in nanoseconds; that of its process if `alone`.
    pub fn read(&mut self, account: &mut Account, (pid, tid): (i32, i32), alone: bool) -> Option<u64> {
        if let Account::OfProcess = account {
            if alone {
                return cpu_time::of_process(pid).map(|time| time.as_nanos() as u64);
            }
            let kept = (self.open < MOST_OPEN).then(|| ThreadAccount::open(pid, tid).ok()).flatten();
            self.open += usize::from(kept.is_some());
            *account = Account::Own(kept);
        }
        match account {
            Account::Own(Some(own)) => own.read().map(|turns| turns.ran_ns),
            _ => ThreadAccount::open(pid, tid).ok()?.read().map(|turns| turns.ran_ns),
        }
    }

    /// A thread has ended.
    pub fn close(&mut self, account: &Account) {
        self.open -= usize::from(matches!(account, Account::Own(Some(_))));
    }
}
