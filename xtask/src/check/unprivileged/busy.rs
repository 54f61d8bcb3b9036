//! A machine that has other things to do.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Keeps each processor busy until it is dropped.
pub struct Busy(Arc<AtomicBool>);

impl Busy {
    /// Starts to.
    pub fn start() -> Busy {
        let over = Arc::new(AtomicBool::new(false));
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            let over = Arc::clone(&over);
            thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    for n in 0..100_000 {
                        black_box(n);
                    }
                }
            });
        }
        Busy(over)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
