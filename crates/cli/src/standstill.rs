//! A counting run that waits for what came only once: a FIFO's writer, a peer behind a socket. It would wait
//! for ever, and nobody would know why.

use crate::talk::say;
use crate::ticker::Ticker;
use std::collections::BTreeMap;
use std::time::Duration;
use timewise_target::family;

/// How often the program is looked at.
const GLANCE: Duration = Duration::from_millis(500);

/// A program that does nothing for less is not worth a word.
const SHORTEST: Duration = Duration::from_secs(2);

/// Says so once if the program `pid` and its descendants use no CPU time at all for longer than the whole
/// native run took, `native_elapsed`, in which all its waiting was contained. However much slower counting
/// is, it computes then or it waits. Only looks; ends when dropped.
pub fn watch(pid: i32, native_elapsed: Duration) -> Ticker {
    let mut used = BTreeMap::new();
    // Glances, not time: while we are stopped ourselves, nothing stands still.
    let mut idle = 0;
    let too_long = 1 + ((native_elapsed + SHORTEST).as_nanos() / GLANCE.as_nanos()) as u64;
    Ticker::start(GLANCE, move || {
        let before = std::mem::take(&mut used);
        used = family::cpu_ticks(pid, &before);
        // Once it has ended its counts are read, for as long as that takes.
        let lives = used.contains_key(&pid);
        // Nor does it wait for others while a processor is all that it lacks.
        idle = if lives && used == before && !family::runs(used.keys().copied()) { idle + 1 } else { 0 };
        if idle == too_long {
            let seconds = (GLANCE * idle as u32).as_secs();
            say(format_args!(
                "timewise: the counting run has waited for {seconds} s, longer than the whole first run took: \
                 perhaps for input that came only once, as from a FIFO or a socket; Ctrl-C ends it and keeps \
                 what was counted, --once does without it"
            ));
        }
    })
}
