//! Hash maps, trait objects, generics, string parsing and unwinding panics on
//! two threads; no dependencies. args: rounds
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};
use std::{env, panic, thread};

#[derive(Default)]
struct Fnv(u64);
impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, b: &[u8]) {
        for x in b {
            self.0 = (self.0 ^ *x as u64).wrapping_mul(0x100000001b3);
        }
    }
}
trait Op {
    fn apply(&self, v: i64) -> i64;
}
struct Add(i64);
struct Mul(i64);
struct Neg;
impl Op for Add {
    fn apply(&self, v: i64) -> i64 {
        v.wrapping_add(self.0)
    }
}
impl Op for Mul {
    fn apply(&self, v: i64) -> i64 {
        v.wrapping_mul(self.0)
    }
}
impl Op for Neg {
    fn apply(&self, v: i64) -> i64 {
        v.wrapping_neg() ^ 0x55
    }
}

fn work(seed: u64) -> u64 {
    let mut s = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut rnd = || {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        s
    };
    let ops: Vec<Box<dyn Op>> = (0..64)
        .map(|i| -> Box<dyn Op> {
            match rnd() % 3 {
                0 => Box::new(Add(i)),
                1 => Box::new(Mul(i | 1)),
                _ => Box::new(Neg),
            }
        })
        .collect();
    let mut words: HashMap<String, u64, BuildHasherDefault<Fnv>> = HashMap::default();
    let mut v = 1i64;
    for i in 0..20_000u64 {
        for op in &ops[(i % 32) as usize..][..16] {
            v = op.apply(v);
        }
        *words.entry(format!("w{}", rnd() % 3000)).or_default() += i;
    }
    let sorted: BTreeMap<_, _> = words.into_iter().collect();
    let mut h = v as u64;
    for (k, n) in &sorted {
        h = h.rotate_left(5) ^ n.wrapping_add(k[1..].parse::<u64>().unwrap());
    }
    for i in 0..20 {
        if panic::catch_unwind(|| {
            if (h >> i) & 1 == 1 {
                panic::resume_unwind(Box::new(i))
            }
        })
        .is_err()
        {
            h = h.wrapping_add(i);
        }
    }
    h
}
fn main() {
    let rounds: u64 = env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(10);
    let t: Vec<_> = (0..2)
        .map(|k| {
            thread::spawn(move || {
                (0..rounds).filter(|r| r % 2 == k).fold(0u64, |a, r| a.wrapping_add(work(r)))
            })
        })
        .collect();
    println!("rustbench {:016x}", t.into_iter().fold(0u64, |a, t| a.wrapping_add(t.join().unwrap())));
}
