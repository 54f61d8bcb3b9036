//! The queue: nothing is lost or turned around, the source waits, and workers do not depend on each other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use timewise_trace::{Doctor, Observer, Record, Recorder, Room, Worker};

/// Keeps everything, slowly or not.
struct Keeper {
    pause: Duration,
    kept: Vec<u64>,
}

impl Worker<u64> for Keeper {
    fn take(&mut self, part: &[u64]) {
        std::thread::sleep(self.pause);
        self.kept.extend_from_slice(part);
    }
}

#[test]
fn every_worker_sees_everything_in_order() {
    for (buffers, items) in [(2, 1), (3, 7), (8, 100)] {
        let mut doctor = Doctor::new(Room { buffers, items });
        let seats: Vec<_> = [0, 100, 30]
            .map(|micros| doctor.attach(Keeper { pause: Duration::from_micros(micros), kept: Vec::new() }))
            .into();
        (0..1000).for_each(|item| doctor.push(&[item]));
        doctor.finish();
        for seat in seats {
            assert!(seat.join().kept.into_iter().eq(0..1000), "{buffers} buffers of {items}");
        }
    }
}

/// Tells how much it has seen, and goes on when it is told to.
struct Held {
    seen: Arc<AtomicU64>,
    go: mpsc::Receiver<()>,
}

impl Worker<u64> for Held {
    fn take(&mut self, part: &[u64]) {
        let _ = self.go.recv();
        self.seen.fetch_add(part.len() as u64, Ordering::SeqCst);
    }
}

/// What a counter holds a little after it has come to a number; whatever it holds if it does not.
fn comes_to(counter: &AtomicU64, number: u64) -> u64 {
    for _ in 0..10_000 {
        if counter.load(Ordering::SeqCst) >= number {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(20));
    counter.load(Ordering::SeqCst)
}

#[test]
fn a_source_waits_for_the_slowest_worker() {
    let (go, held) = mpsc::channel();
    let seen = Arc::new(AtomicU64::new(0));
    let mut doctor = Doctor::new(Room { buffers: 3, items: 10 });
    let seat = doctor.attach(Held { seen: Arc::clone(&seen), go: held });
    let pushed = Arc::new(AtomicU64::new(0));
    let source = std::thread::spawn({
        let pushed = Arc::clone(&pushed);
        move || {
            for item in 0..100 {
                doctor.push(&[item]);
                pushed.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    // Three buffers are full, and the next push waits for the first to come back.
    assert_eq!((comes_to(&pushed, 30), seen.load(Ordering::SeqCst)), (30, 0));
    go.send(()).unwrap();
    assert_eq!((comes_to(&pushed, 40), comes_to(&seen, 10)), (40, 10));
    drop(go);
    source.join().unwrap();
    seat.join();
    assert_eq!(seen.load(Ordering::SeqCst), 100);
}

struct Broken;

impl Worker<u64> for Broken {
    fn take(&mut self, part: &[u64]) {
        assert!(part[0] < 20, "meant to fail");
    }
}

#[test]
fn a_worker_that_fails_holds_nobody_up() {
    let mut doctor = Doctor::new(Room { buffers: 2, items: 5 });
    let broken = doctor.attach(Broken);
    let keeper = doctor.attach(Keeper { pause: Duration::ZERO, kept: Vec::new() });
    (0..1000).for_each(|item| doctor.push(&[item]));
    doctor.finish();
    assert_eq!(keeper.join().kept.len(), 1000);
    assert!(
        catch_unwind(AssertUnwindSafe(|| broken.join())).is_err(),
        "the failure is told where it is joined"
    );
}

/// Slices that are empty, that end with a buffer, and that fill several.
#[test]
fn slices_of_any_length_are_kept() {
    let mut doctor = Doctor::new(Room { buffers: 2, items: 5 });
    let keeper = doctor.attach(Keeper { pause: Duration::ZERO, kept: Vec::new() });
    let all: Vec<_> = (0..100).collect();
    let mut rest = all.as_slice();
    for length in [0, 3, 2, 5, 1, 0, 17, 10, 62] {
        let (now, later) = rest.split_at(length);
        doctor.push(now);
        rest = later;
    }
    doctor.finish();
    assert!(rest.is_empty());
    assert_eq!(keeper.join().kept, all);
}

#[test]
fn a_queue_without_workers_goes_round() {
    let mut doctor = Doctor::new(Room { buffers: 2, items: 3 });
    (0..100).for_each(|item| doctor.push(&[item]));
    doctor.finish();
}

/// Keeps records.
#[derive(Default)]
struct Records(Vec<Record>);

impl Worker<Record> for Records {
    fn take(&mut self, part: &[Record]) {
        self.0.extend_from_slice(part);
    }
}

#[test]
fn the_recorder_keeps_every_cycle() {
    let mut doctor = Doctor::new(Room { buffers: 2, items: 3 });
    let records = doctor.attach(Records::default());
    let mut recorder = Recorder::new(doctor);
    for cycle in 0..100 {
        let committing = u8::from(cycle % 10 == 9);
        recorder.observe(&[Record {
            cycle,
            oldest: cycle / 10,
            repeat: 1,
            in_flight: 1,
            valid: 1,
            committing,
            ..Record::default()
        }]);
    }
    recorder.finish();
    let kept = records.join().0;
    assert_eq!(kept.iter().map(|record| u64::from(record.repeat)).sum::<u64>(), 100);
    assert_eq!(kept.iter().filter(|record| record.committing == 1).count(), 10);
}
