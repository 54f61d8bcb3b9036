//! Random programs run natively, under count, and step by step: the same registers, flags and memory at
//! the end, and as many instructions as there were steps.
//!
//! `TIMEWISE_PROGRAMS` says how many programs (12 for each layout if unset), `TIMEWISE_SEED` the first one's
//! seed.

mod assembler;
mod generate;
mod program;
mod random;
mod step;

use program::LAYOUTS;
use std::path::Path;
use std::process::{Command, Stdio};

fn setting(name: &str, unset: u64) -> u64 {
    std::env::var(name).ok().map_or(unset, |text| text.parse().expect(name))
}

/// What the program writes under count, and how many instructions were counted.
fn counted(path: &Path, to: &Path) -> (Vec<u8>, u64) {
    let mut launch = timewise_target::launch::Launch::new(path.as_os_str().to_owned());
    launch.stdout = Stdio::from(std::fs::File::create(to).expect("a temporary file"));
    let counted = timewise_engine::count(launch, &timewise_engine::Options::default())
        .expect("the program can be counted");
    assert_eq!(counted.imbalance, 0);
    assert_eq!(counted.failure, None);
    let profile = &counted.profile;
    let instructions = |c: &timewise_profile::BlockCount| {
        c.executions * u64::from(profile.blocks[c.block.index()].instructions)
    };
    (std::fs::read(to).expect("what was written"), profile.block_counts.iter().map(instructions).sum())
}

#[test]
fn translated_programs_do_as_natively() {
    let folder = std::env::temp_dir().join(format!("timewise-translation-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let first = setting("TIMEWISE_SEED", 1);
    for seed in first..first + setting("TIMEWISE_PROGRAMS", 12) {
        for (number, layout) in LAYOUTS.into_iter().enumerate() {
            let path = folder.join(format!("{seed}-{number}"));
            let code = generate::generate(seed, layout);
            program::write(&path, layout, &code, generate::DATA);
            let natively = Command::new(&path).output().expect("the program runs");
            assert!(natively.status.success(), "seed {seed} layout {number}: {}", natively.status);
            let (output, instructions) = counted(&path, &folder.join("output"));
            let difference = natively.stdout.iter().zip(&output).position(|(a, b)| a != b);
            assert_eq!(difference, None, "seed {seed} layout {number}: see {}", path.display());
            assert_eq!(output.len(), natively.stdout.len(), "seed {seed} layout {number}");
            let steps = step::instructions(&path).expect("a step at a time");
            assert_eq!(instructions, steps, "seed {seed} layout {number}: see {}", path.display());
        }
    }
    std::fs::remove_dir_all(&folder).expect("its own folder");
}
