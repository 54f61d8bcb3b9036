//! Samples in bounded memory: past a limit, each thread's neighbours are merged two by two, and
//! from then on as they come. The sum of the weights stays what it was.

use std::collections::HashMap;
use timewise_profile::{Sample, ThreadId};

/// Samples in order of time.
#[derive(Debug)]
pub struct Samples {
    kept: Vec<Sample>,
    limit: usize,
    /// One sample stands for this many.
    merged: u32,
    taken: u64,
    pending: HashMap<ThreadId, Pending>,
    /// Nanoseconds of each thread that its last sample is to stand for besides.
    untold: HashMap<ThreadId, u64>,
}

/// Samples of a thread that wait for one to be merged into.
#[derive(Debug)]
struct Pending {
    count: u32,
    weight: Weight,
    last: Sample,
}

#[derive(Clone, Copy, Debug, Default)]
struct Weight {
    time_ns: u64,
    cycles: u64,
}

impl Weight {
    fn add(self, sample: &Sample) -> Weight {
        Weight {
            time_ns: self.time_ns.saturating_add(sample.weight_ns),
            cycles: self.cycles.saturating_add(sample.weight_cycles.unwrap_or_default()),
        }
    }

    fn put_on(self, sample: &Sample) -> Sample {
        let weight_cycles = sample.weight_cycles.map(|_| self.cycles);
        Sample { weight_ns: self.time_ns, weight_cycles, ..*sample }
    }
}

impl Samples {
    /// Room for `limit` samples, at least two.
    pub fn with_limit(limit: usize) -> Samples {
        let (pending, untold) = (HashMap::new(), HashMap::new());
        Samples { kept: Vec::new(), limit: limit.max(2), merged: 1, taken: 0, pending, untold }
    }

    /// Takes a sample that is not older than those before it.
    pub fn push(&mut self, sample: Sample) {
        self.taken += 1;
        if self.merged > 1 {
            self.push_merged(sample, self.merged);
        } else {
            self.kept.push(sample);
        }
        if self.kept.len() > self.limit {
            self.merged *= 2;
            // Each kept sample stands for half of what a sample stands for from now on.
            for sample in std::mem::take(&mut self.kept) {
                self.push_merged(sample, 2);
            }
        }
    }

    fn push_merged(&mut self, sample: Sample, whole: u32) {
        let pending = self.pending.entry(sample.thread).or_insert_with(|| Pending {
            count: 0,
            weight: Weight::default(),
            last: sample,
        });
        pending.count += 1;
        pending.weight = pending.weight.add(&sample);
        pending.last = sample;
        if pending.count >= whole {
            self.kept.push(pending.weight.put_on(&sample));
            self.pending.remove(&sample.thread);
        }
    }

    /// A thread's last sample outside of the kernel stands for so much more.
    pub fn tell(&mut self, thread: ThreadId, time_ns: u64) {
        let untold = self.untold.entry(thread).or_default();
        *untold = untold.saturating_add(time_ns);
    }

    /// How many were taken, kept or merged.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// How many samples each of the kept ones stands for; 1 unless the limit was reached.
    pub fn merged(&self) -> u32 {
        self.merged
    }

    /// All samples in order of time.
    pub fn into_vec(mut self) -> Vec<Sample> {
        if !self.pending.is_empty() {
            self.kept.extend(self.pending.values().map(|pending| pending.weight.put_on(&pending.last)));
        }
        self.kept.sort_by_key(|sample| sample.time_ns);
        for sample in self.kept.iter_mut().rev().filter(|sample| !sample.kernel) {
            if self.untold.is_empty() {
                break;
            }
            let untold = self.untold.remove(&sample.thread).unwrap_or(0);
            sample.weight_ns = sample.weight_ns.saturating_add(untold);
        }
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(thread: u32, time_ns: u64) -> Sample {
        Sample {
            thread: ThreadId(thread),
            time_ns,
            weight_ns: 10 + u64::from(thread),
            weight_cycles: Some(7),
            place: None,
            kernel: false,
            stack: None,
        }
    }

    #[test]
    fn what_no_sample_tells_is_the_last_ones() {
        let mut samples = Samples::with_limit(10);
        [(0, 1), (1, 2), (0, 3)].into_iter().for_each(|(thread, time)| samples.push(sample(thread, time)));
        samples.push(Sample { kernel: true, ..sample(0, 4) });
        for (thread, time_ns) in [(0, 100), (1, 20), (0, 1000), (5, 7)] {
            samples.tell(ThreadId(thread), time_ns);
        }
        let weights: Vec<u64> = samples.into_vec().iter().map(|sample| sample.weight_ns).collect();
        assert_eq!(weights, [10, 31, 1110, 10]);
    }

    #[test]
    fn weights_of_any_size_add_up_to_the_largest() {
        let mut samples = Samples::with_limit(2);
        let most =
            |time_ns| Sample { weight_ns: u64::MAX, weight_cycles: Some(u64::MAX), ..sample(0, time_ns) };
        (0..8).for_each(|time_ns| samples.push(most(time_ns)));
        samples.tell(ThreadId(0), u64::MAX);
        samples.tell(ThreadId(0), u64::MAX);
        let of_all: Vec<_> = samples.into_vec().iter().map(|s| (s.weight_ns, s.weight_cycles)).collect();
        assert!(of_all.iter().all(|&weight| weight == (u64::MAX, Some(u64::MAX))), "{of_all:?}");
    }

    #[test]
    fn memory_is_bounded_and_no_weight_is_lost() {
        for limit in [2, 10, 64] {
            let mut samples = Samples::with_limit(limit);
            let mut weights = [(0, 0); 3];
            for time_ns in 0..5000 {
                let thread = [0, 0, 0, 1, 0, 0, 2][time_ns as usize % 7];
                samples.push(sample(thread, time_ns));
                weights[thread as usize].0 += 10 + u64::from(thread);
                weights[thread as usize].1 += 7;
                assert!(samples.kept.len() <= limit);
            }
            let samples = samples.into_vec();
            assert!(samples.is_sorted_by_key(|s| s.time_ns));
            assert!(samples.len() <= limit + 3);
            let mut found = [(0, 0); 3];
            for sample in &samples {
                let weight = &mut found[sample.thread.index()];
                weight.0 += sample.weight_ns;
                weight.1 += sample.weight_cycles.unwrap();
            }
            assert_eq!(found, weights);
        }
    }

    #[test]
    fn below_the_limit_nothing_changes() {
        let mut samples = Samples::with_limit(100);
        let all: Vec<Sample> = (0..100).map(|time_ns| sample(time_ns as u32 % 3, time_ns)).collect();
        all.iter().for_each(|&sample| samples.push(sample));
        assert_eq!(samples.merged(), 1);
        assert_eq!(samples.into_vec(), all);
    }
}
