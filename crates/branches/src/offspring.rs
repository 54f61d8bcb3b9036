//! What a traced process brought about that was not traced: other processes, and other programs.

use std::path::PathBuf;

/// CPU time of children that is worth a word, in clock ticks of 10 ms.
const WORTH_TELLING: u64 = 5;

/// The file that a process executes.
pub fn executable(pid: i32) -> PathBuf {
    std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default()
}

/// What process `pid` left untraced, if anything: to be asked at the end, before its parent takes note of that.
pub fn untraced(pid: i32) -> Option<String> {
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // SAFETY: passes no memory.
    let ticks_per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as f64;
    let ticks = of_children(&line)?;
    (ticks >= WORTH_TELLING).then(|| {
        let seconds = ticks as f64 / ticks_per_second;
        format!(
            "processes that it made took {seconds:.2} s of CPU time, and were not traced: launch the one of interest \
             itself, or attach to it by --pid"
        )
    })
}

/// CPU time of children that were waited for, by proc(5): the sum of fields 16 and 17.
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
