//! What the processes that a traced one made did untraced, and which of them outlive it.

use std::collections::BTreeSet;
use timewise_target::status::Status;

/// CPU time that is worth a word, in clock ticks of 10 ms.
const WORTH_TELLING: u64 = 5;

/// CPU time of the children of process `pid` that were waited for, in clock ticks: to be asked at its end, before its
/// parent takes note of that.
pub fn cpu_ticks(pid: i32) -> u64 {
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    of_children(&line).unwrap_or(0)
}

/// What a reader must know if children took so many ticks untraced.
pub fn untraced(ticks: u64) -> Option<String> {
    // SAFETY: passes no memory.
    let ticks_per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as f64;
    (ticks >= WORTH_TELLING).then(|| {
        let seconds = ticks as f64 / ticks_per_second;
        format!(
            "processes that it made took {seconds:.2} s of CPU time untraced: what ends within a few hundredths of a \
             second is not followed"
        )
    })
}

/// How many of these processes still run.
pub fn still_running(pids: &BTreeSet<i32>) -> usize {
    let runs = |pid: &&i32| Status::of_process(**pid).is_some_and(|status| !status.is_at_its_end());
    pids.iter().filter(runs).count()
}

/// By proc(5): the sum of fields 16 and 17.
fn of_children(line: &str) -> Option<u64> {
    let (_, rest) = line.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(number(16)? + number(17)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_of_children_is_found_whatever_the_name() {
        let line = "7 (a) (b) S 3 7 7 0 -1 4194560 91 0 0 0 12 30 40 2 20 0 1 0 5 6 7";
        assert_eq!(of_children(line), Some(42));
        assert_eq!(of_children("7 (a"), None);
    }
}
