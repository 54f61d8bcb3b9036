//! What a cycle stack is made of.

use timewise_trace::{Entry, Flags, Psv};

/// What the commit stage did in a cycle (thesis, C1 to C4). The flushed state is told apart by what
/// flushed, as TIP's flags do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Instructions committed.
    Computing,
    /// The oldest instruction was not executed yet.
    Stalled,
    /// Nothing was in the reorder buffer, as the front end had delivered nothing.
    Drained,
    /// Nothing was in it behind a mispredicted branch.
    Mispredicted,
    /// Nothing was in it behind an instruction that flushed the pipeline or raised an exception.
    Flushed,
}

impl State {
    /// All states.
    pub const ALL: [Self; 5] =
        [Self::Computing, Self::Stalled, Self::Drained, Self::Mispredicted, Self::Flushed];

    /// The state of an empty reorder buffer behind such an entry.
    #[inline]
    pub fn behind(offender: &Entry) -> Self {
        if offender.flags.contains(Flags::MISPREDICTED) {
            Self::Mispredicted
        } else if offender.flags.any() {
            Self::Flushed
        } else {
            Self::Drained
        }
    }
}

/// One component of an instruction's cycle stack: cycles in this commit state in which the instruction
/// was to blame and had been subject to exactly these events. An instruction with several events has a
/// component of its own for the combination, as no one can tell what each of them cost (paper B,
/// section 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Component(u16);

impl Component {
    const EVENTS: u32 = Psv::ALL.count();

    /// The component of cycles in a state that is not known.
    #[inline]
    pub const fn of_events(events: Psv) -> Self {
        Self(events.bits())
    }

    /// The component of cycles in a state.
    #[inline]
    pub const fn new(state: State, events: Psv) -> Self {
        Self((state as u16 + 1) << Self::EVENTS | events.bits())
    }

    /// The commit state, unless the profiler cannot know it.
    pub fn state(self) -> Option<State> {
        let code = usize::from(self.0 >> Self::EVENTS);
        code.checked_sub(1).and_then(|index| State::ALL.get(index).copied())
    }

    /// The events.
    pub const fn events(self) -> Psv {
        Psv::from_bits(self.0)
    }
}

#[cfg(test)]
mod tests {
    use timewise_trace::Psv;

    use super::{Component, State};

    #[test]
    fn components_keep_what_they_are_made_of() {
        for state in State::ALL {
            for events in [Psv::BASE, Psv::ST_LLC, Psv::ALL] {
                let component = Component::new(state, events);
                assert_eq!((component.state(), component.events()), (Some(state), events));
            }
        }
        assert_eq!(Component::of_events(Psv::ALL).state(), None);
        assert_eq!(Component::of_events(Psv::FL_MB).events(), Psv::FL_MB);
    }
}
