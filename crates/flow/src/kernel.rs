//! What the kernel was called for, call stack by call stack, where its time was sampled.

use crate::samples::{Samples, Weight};
use crate::waiting::{self, Culprit, Programs, itself, returns};
use timewise_profile::{ModuleKind, Place, Profile, StackId};

/// Samples that the kernel was executing, of all threads that called it with one stack, in an average run.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelStack {
    /// Where the program goes on, and the calls that led there, innermost first.
    pub frames: Vec<Place>,
    /// The samples.
    pub weight: Weight,
}

/// All stacks with which the kernel was called; none if its time was not sampled.
pub fn stacks(profile: &Profile, samples: &Samples) -> Vec<KernelStack> {
    let is_kernel = |place: &Place| profile.modules[place.module.index()].kind == ModuleKind::Kernel;
    let stack = |(&stack, &weight): (&Option<StackId>, &Weight)| {
        let mut returns = returns(profile, stack).skip_while(is_kernel);
        // That is behind a system call or where it faulted, which no call is before.
        let goes_on = returns.next();
        KernelStack { frames: goes_on.into_iter().chain(returns.map(Place::call_before)).collect(), weight }
    };
    samples.kernel.iter().map(stack).collect()
}

/// What a reader looks for in such a stack: as in one that waits but that a program which calls the kernel itself, or has a
/// page brought in, does so in its innermost function whatever is known of its lines.
pub fn culprit(profile: &Profile, programs: &Programs, frames: &[Place]) -> Option<Culprit> {
    let innermost = *frames.first()?;
    match programs.hold(innermost) {
        true => Some(itself(profile, frames, innermost)),
        false => waiting::culprit(profile, programs, frames),
    }
}
