//! Programs that are recorded, and threads that are killed meanwhile.

use super::*;
use crate::price::Price;
use crate::record::{Options, record};
use timewise_target::group::apart;
use timewise_target::launch::Launch;

#[test]
fn a_run_tells_how_many_events_had_no_room() {
    let recorded = |most_events| {
        let stopped = Launch::new("true").stopped().unwrap();
        record(stopped, &Options { most_events, price: Price::default(), stacks: false }).unwrap()
    };
    let (whole, short) = (recorded(1 << 16), recorded(7));
    assert_eq!((whole.runs[0].lost_samples, short.os_events.len()), (0, 7));
    assert_eq!(short.runs[0].lost_samples, whole.os_events.len() as u64 - 7);
}

#[test]
fn where_a_thread_was_killed_it_stands_no_longer() {
    let halted = Launch::new("true").stopped().unwrap().halt().unwrap();
    let (stands, recorder, ended) = apart(|| {
        let pid = tracees::seize_launched(halted).unwrap();
        let mut recorder = Recorder::new(pid, 1 << 16, false);
        tracees::go_on(pid, 0).unwrap();
        let stop = tracees::next().unwrap().unwrap();
        assert!(matches!(stop.reason, Reason::Call));
        recorder.take(stop);
        // SAFETY: takes no memory; it is our child.
        assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0);
        while recorder.ready.len() == 1 {
            tracees::next_of(pid).unwrap().into_iter().for_each(|later| recorder.take(later));
        }
        let stands: Vec<bool> = recorder.ready.iter().map(|ready| ready.stands).collect();
        let ended = recorder.follow(pid).unwrap();
        (stands, recorder, ended)
    });
    assert_eq!(stands, [false, true]);
    assert_eq!(run::exit_of(ended.wait_status), Exit::Signal(9));
    let events: Vec<_> = recorder.events.iter().map(|event| (event.kind, event.result)).collect();
    assert_eq!(events, [(OsEventKind::End, Some(-9))], "the call was not made");
}
