//! Programs of processes that are shorter than a period, on a machine with much else to do.

use crate::program::{alone, function, lies_in, options, path, recorded_now, seconds};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use timewise_profile::{ClockScope, Profile};
use timewise_sampler::{Options, Scope, choose};
use timewise_target::machine;

/// Threads that keep every processor busy, and let others go first, until it is dropped.
struct Crowd(Arc<AtomicBool>);

impl Crowd {
    fn gather() -> Crowd {
        let over = Arc::new(AtomicBool::new(false));
        for _ in 0..=machine::online_processors().len() {
            let over = Arc::clone(&over);
            std::thread::spawn(move || {
                // SAFETY: passes no memory; 0 is the calling thread.
                unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 10) };
                while !over.load(Ordering::Relaxed) {}
            });
        }
        Crowd(over)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A thousand children that live for a third of a period each, recorded in a crowd, and what their clock runs along
/// with.
fn children(options: &Options) -> (Profile, ClockScope) {
    let _alone = alone();
    let _crowd = Crowd::gather();
    let profile = recorded_now(path(), "brief", 200, options);
    let scope = profile.runs[0].clock.as_ref().and_then(|clock| clock.scope).unwrap();
    (profile, scope)
}

/// A clock that begins with each of them would hardly ever strike.
#[test]
fn short_children_have_their_time_on_a_busy_machine() {
    let options = Options { kernel: true, ..options(1000) };
    let granted = choose(&Options { scope: Scope::Processors, ..options.clone() }, None);
    if granted.is_err() || machine::online_processors().len() > 16 {
        eprintln!("skipped: whole processors are not watched here");
        return;
    }
    let (profile, scope) = children(&options);
    assert_eq!(scope, ClockScope::Processors);
    assert!(profile.processes.len() > 1000);
    let run = &profile.runs[0];
    let accounted = (run.user_ns + run.kernel_ns) as f64 / 1e9;
    let lost = run.lost_samples as f64 / 1e3;
    let sampled = seconds(&profile, |_| true);
    // With over 300 samples the standard error is below 0.06. Some of the lost ones were the crowd's.
    assert!(
        sampled < 1.25 * accounted && sampled + lost > 0.75 * accounted,
        "{sampled} s sampled, {accounted} s accounted, {:?}",
        run.warnings
    );
    let (heavy, light) = (function("heavy"), function("light"));
    let time_in = |f| seconds(&profile, |s| s.place.is_some_and(|p| lies_in(&profile, p, f)));
    let heavy_share = time_in(&heavy) / (time_in(&heavy) + time_in(&light));
    assert!((0.6..0.9).contains(&heavy_share), "{heavy_share} of the time in the heavy function");
    assert!(!run.warnings.iter().any(|warning| warning.contains("samples stand for")), "{:?}", run.warnings);
}

/// Where only threads can be watched, the profile says that their time is not in it, if it is not.
#[test]
fn short_children_are_not_lost_in_silence() {
    let options = Options { scope: Scope::Threads, ..options(1000) };
    if let Err(why) = choose(&options, None) {
        eprintln!("skipped: {why}");
        return;
    }
    let (profile, scope) = children(&options);
    assert_eq!(scope, ClockScope::Threads);
    let run = &profile.runs[0];
    let share = seconds(&profile, |_| true) / (run.user_ns as f64 / 1e9);
    let told = run.warnings.iter().any(|warning| warning.contains("seen only after its first 1.00 ms"));
    assert!(share > 0.5 || told, "{share}, {:?}", run.warnings);
}
