//! Whether two recordings of a program see the same: shares of functions, within the error of sampling.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use timewise_profile::{ModuleId, Place, Profile};

/// As far apart as two recordings of the same program are once in some ten thousand, of a hundred functions each.
const MOST_SIGMA: f64 = 5.0;
/// Shares of fewer samples are not compared: their error is not that of a normal distribution.
const FEWEST_SAMPLES: f64 = 10.0;

/// Where two recordings are furthest apart.
#[derive(Debug, Default)]
pub struct Apart {
    samples: [f64; 2],
    sigma: f64,
    function: String,
    shares: [f64; 2],
}

impl Apart {
    /// Whether chance explains it.
    pub fn is_chance(&self) -> bool {
        self.sigma <= MOST_SIGMA
    }
}

impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Apart { samples: [one, other], sigma, function, shares } = self;
        let [first, second] = shares.map(|share| 100.0 * share);
        write!(f, "{one:>8.0} {other:>8.0} {sigma:>6.1}  {function}: {first:.1} % and {second:.1} %")
    }
}

/// Compares the shares of all functions.
pub fn furthest(one: &Profile, other: &Profile) -> Apart {
    let both = [one, other].map(Shares::of);
    let [n, m] = [both[0].samples, both[1].samples];
    let mut apart = Apart { samples: [n, m], ..Apart::default() };
    let names: BTreeSet<&String> = both.iter().flat_map(|shares| shares.by_function.keys()).collect();
    for name in names {
        let shares = both.each_ref().map(|shares| shares.by_function.get(name).copied().unwrap_or(0.0));
        let common = (shares[0] * n + shares[1] * m) / (n + m);
        if common * n.min(m) < FEWEST_SAMPLES {
            continue;
        }
        let error = (common * (1.0 - common) * (1.0 / n + 1.0 / m)).sqrt();
        let sigma = (shares[0] - shares[1]).abs() / error.max(1e-12);
        if sigma > apart.sigma {
            apart = Apart { sigma, function: name.clone(), shares, ..apart };
        }
    }
    apart
}

struct Shares {
    /// As many samples of equal weight would say as much.
    samples: f64,
    by_function: BTreeMap<String, f64>,
}

impl Shares {
    fn of(profile: &Profile) -> Shares {
        let mut functions: Vec<(Place, u64, &String)> =
            profile.functions.iter().map(|f| (f.place, f.size, &f.name)).collect();
        functions.sort_by_key(|&(place, ..)| key(place));
        let name = |place: Place| {
            let after = functions.partition_point(|&(start, ..)| key(start) <= key(place));
            let (start, size, name) = *functions.get(after.checked_sub(1)?)?;
            (start.module == place.module && place.offset.0 - start.offset.0 < size).then(|| name.clone())
        };
        let (mut sum, mut squares) = (0.0, 0.0);
        let mut by_function: BTreeMap<String, f64> = BTreeMap::new();
        for sample in profile.samples.iter().filter(|sample| !sample.kernel) {
            let weight = sample.weight_cycles.unwrap_or(sample.weight_ns) as f64;
            sum += weight;
            squares += weight * weight;
            let name = sample.place.and_then(name).unwrap_or_default();
            *by_function.entry(name).or_default() += weight;
        }
        by_function.values_mut().for_each(|share| *share /= sum);
        Shares { samples: sum * sum / f64::max(squares, 1.0), by_function }
    }
}

fn key(place: Place) -> (ModuleId, u32, u64) {
    (place.module, place.version.0, place.offset.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_profile::{CodeVersion, Function, Offset, Sample, ThreadId};

    fn profile(in_first: u64, in_second: u64) -> Profile {
        let place = |offset| Place { module: ModuleId(0), version: CodeVersion(0), offset: Offset(offset) };
        let function = |offset, name: &str| Function {
            place: place(offset),
            size: 16,
            name: name.into(),
            symbol: String::new(),
            file: None,
            line: 0,
        };
        let sample = |offset| Sample {
            thread: ThreadId(0),
            time_ns: 0,
            weight_ns: 250,
            weight_cycles: None,
            place: Some(place(offset)),
            kernel: false,
            stack: None,
        };
        let first = (0..in_first).map(|n| sample(n % 16));
        Profile {
            functions: vec![function(0, "first"), function(16, "second")],
            samples: first.chain((0..in_second).map(|n| sample(16 + n % 16))).collect(),
            ..Profile::default()
        }
    }

    #[test]
    fn shares_are_compared_by_their_error() {
        let half = profile(500, 500);
        assert!(furthest(&half, &profile(260, 240)).is_chance());
        // 30 % against 50 %: the error of the difference is 2.2 %.
        let apart = furthest(&half, &profile(300, 700));
        assert!((8.5..9.5).contains(&apart.sigma) && !apart.is_chance(), "{apart}");
        assert_eq!(apart.samples, [1000.0, 1000.0]);
    }
}
