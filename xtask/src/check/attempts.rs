//! What other work on the machine can spoil is tried again, where a check must be short: a burst of it hides what is
//! looked for in one run, a fault does in all.

use anyhow::Result;

/// How often at most.
pub const ATTEMPTS: usize = 3;

/// The first success of at most `most` attempts, or else the last failure. Says what spoilt those before. What is no
/// matter of luck, such as a program that crashes, fails outside the inner result, and at once.
///
/// # Errors
/// The last attempt's, or the first that is no matter of luck.
pub fn attempt<T>(most: usize, mut try_it: impl FnMut() -> Result<Result<T>>) -> Result<T> {
    let mut number = 1;
    loop {
        match try_it()? {
            Err(error) if number < most => println!("  attempt {number} of {most} failed: {error:#}"),
            done => return done,
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::{anyhow, bail};

    #[test]
    fn what_succeeds_late_is_good_and_what_never_does_is_not() {
        let good_at = |wanted: usize, most: usize| {
            let mut made = 0;
            let done = attempt(most, || {
                made += 1;
                Ok(if made == wanted { Ok(made) } else { Err(anyhow!("spoilt")) })
            });
            (done.ok(), made)
        };
        assert_eq!(good_at(1, 3), (Some(1), 1));
        assert_eq!(good_at(3, 3), (Some(3), 3));
        assert_eq!(good_at(4, 3), (None, 3));
        assert_eq!(good_at(2, 1), (None, 1));
    }

    #[test]
    fn what_is_no_matter_of_luck_fails_at_once() {
        let mut made = 0;
        let done: Result<()> = attempt(3, || {
            made += 1;
            bail!("crashed")
        });
        assert!(done.is_err() && made == 1);
    }
}
