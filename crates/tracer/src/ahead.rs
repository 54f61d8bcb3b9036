//! Looking ahead: from a state of a thread, through all branches that follow from it, to where the thread has to be
//! waited for.

use timewise_abi::tracing::{ALL_REGISTERS, Effort, End, Reach};
use timewise_isa::{Control, Decoded, State, Way};

/// The most effort that one signal may take for a trace of so many branches, in instructions evaluated: some
/// milliseconds, or as many as long traces take in most programs.
pub fn patience(length: u32) -> u32 {
    const LEAST: u32 = 1 << 16;
    const OF_A_BRANCH: u32 = 64;
    LEAST.max(length.saturating_mul(OF_A_BRANCH))
}

/// What became of an instruction.
pub enum Step {
    /// It was evaluated.
    Went {
        /// Where control goes.
        way: Way,
        /// What it is.
        control: Control,
        /// What that took.
        effort: u32,
    },
    /// It cannot be evaluated: the state is as before.
    Stuck {
        /// The instruction.
        decoded: Decoded,
        /// What it does to the stack pointer, if that is known.
        stack_change: Option<i64>,
    },
    /// There is no instruction that could be read, or no room, or one that was evaluated before cannot be now.
    Ended(End),
}

/// How instructions are evaluated.
pub trait Steps {
    /// Evaluates the instruction at an address.
    fn step(&mut self, at: u64, state: &mut State) -> Step;
    /// How many instructions were evaluated.
    fn instructions(&self) -> u32;
    /// Whether an instruction at this address may have been evaluated since the start.
    fn has_been(&self, address: u64) -> bool;
    /// What was evaluated takes of the processor.
    fn effort(&self) -> Effort;
    /// The thread came by the branch at this address, which changes no register, when the trace had come so far.
    fn came_by(&mut self, address: u64, reach: Reach, state: &State);
}

/// Where branches are noted.
pub trait Branches {
    /// Notes a taken branch.
    fn push(&mut self, from: u64, to: u64);
    /// Notes that a branch was decided, taken or not, whose way is not known from the instruction alone.
    fn decided(&mut self);
    /// Whether no further branch is wanted.
    fn full(&self) -> bool;
    /// How far the trace has come, but for what this evaluation takes.
    fn reach(&self) -> Reach;
}

/// What is to be done about the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It is to be stopped at `address`, where it comes from here for the first time.
    Wait {
        /// An instruction.
        address: u64,
        /// Which of its general registers will be as in the state, by number.
        known: u32,
    },
    /// The trace ends here, at the address: of all that was noted nothing depends on anything but the state.
    End {
        /// Why.
        end: End,
        /// Where the thread would be.
        address: u64,
    },
}

/// The last place behind a branch where the thread comes for the first time.
#[derive(Clone, Copy, Debug)]
pub struct Landmark {
    /// Its address.
    pub address: u64,
    /// The thread's state there.
    pub state: State,
    /// How far the trace comes before.
    pub reach: Reach,
}

/// Looks ahead from `start`, where the thread is in `state`. Afterwards `state` is what it will be where it is waited
/// for, or where the trace ends, and `landmark` the last that it came by, if one is asked for.
pub fn look_ahead(
    start: u64,
    state: &mut State,
    steps: &mut impl Steps,
    branches: &mut impl Branches,
    mut landmark: Option<&mut Option<Landmark>>,
    patience: u32,
) -> Next {
    let mut at = start;
    let mut effort = 0;
    while effort < patience {
        match steps.step(at, state) {
            Step::Went { way, control, effort: more } => {
                effort += more;
                if control != Control::Next {
                    if matches!(
                        control,
                        Control::Jump { .. } | Control::Branch { .. } | Control::IndirectJump
                    ) {
                        steps.came_by(at, reach(steps, branches), state);
                    }
                    if !matches!(control, Control::Jump { .. } | Control::Call { .. }) {
                        branches.decided();
                    }
                }
                if way.taken {
                    branches.push(at, way.address);
                    if branches.full() {
                        return Next::End { end: End::Full, address: way.address };
                    }
                }
                at = way.address;
                if control != Control::Next
                    && let Some(landmark) = &mut landmark
                    && !steps.has_been(at)
                {
                    **landmark = Some(Landmark { address: at, state: *state, reach: reach(steps, branches) });
                }
            }
            Step::Stuck { decoded, stack_change } => {
                let before = *state;
                let next = stuck(start, at, &decoded, stack_change, state);
                return match next {
                    // The thread comes there earlier: it can only be waited for here.
                    Next::Wait { address, .. } if address != at && at != start && steps.has_been(address) => {
                        *state = before;
                        Next::Wait { address: at, known: ALL_REGISTERS }
                    }
                    next => next,
                };
            }
            Step::Ended(end) => return Next::End { end, address: at },
        }
    }
    Next::End { end: End::Patience, address: at }
}

/// How far the trace has come.
fn reach(steps: &impl Steps, branches: &impl Branches) -> Reach {
    let before = branches.reach();
    Reach { effort: before.effort + steps.effort(), ..before }
}

/// Looks further ahead, with nothing noted, to an address where the thread comes for the first time, after `least`
/// instructions if possible: that, if there is one, with the state there. What it takes is taken off `patience`.
pub fn first_time(
    start: u64,
    state: &mut State,
    steps: &mut impl Steps,
    least: u32,
    patience: &mut u32,
) -> Option<u64> {
    let mut at = start;
    while steps.has_been(at) || steps.instructions() < least {
        match steps.step(at, state) {
            Step::Went { way, effort, .. } => {
                *patience = patience.checked_sub(effort)?;
                at = way.address;
            }
            // What cannot be evaluated never was.
            Step::Stuck { .. } => return Some(at),
            Step::Ended(_) => return None,
        }
    }
    Some(at)
}

/// What is to be done at an instruction that cannot be evaluated.
fn stuck(start: u64, at: u64, decoded: &Decoded, stack_change: Option<i64>, state: &mut State) -> Next {
    const STACK: u32 = 1 << 4;
    match decoded.control() {
        Control::SystemCall if comes_back(state.general[0]) => {
            // The kernel's answer, and two registers that the instruction takes.
            const CHANGED: u32 = 1 | 1 << 1 | 1 << 11;
            Next::Wait { address: decoded.next(), known: ALL_REGISTERS & !CHANGED }
        }
        Control::Next => {
            state.general[4] = state.general[4].wrapping_add_signed(stack_change.unwrap_or_default());
            let known = if stack_change.is_some() { STACK } else { 0 };
            Next::Wait { address: decoded.next(), known }
        }
        // What cannot be decided where the thread stands is decided nowhere.
        _ if at == start => Next::End { end: End::NotFollowed, address: at },
        _ => Next::Wait { address: at, known: ALL_REGISTERS },
    }
}

/// Whether a system call goes on behind where it is made.
fn comes_back(number: u64) -> bool {
    const RT_SIGRETURN: u64 = 15;
    const EXECVE: u64 = 59;
    const EXIT: u64 = 60;
    const EXIT_GROUP: u64 = 231;
    const EXECVEAT: u64 = 322;
    !matches!(number, RT_SIGRETURN | EXECVE | EXIT | EXIT_GROUP | EXECVEAT)
}

#[cfg(test)]
mod tests;
