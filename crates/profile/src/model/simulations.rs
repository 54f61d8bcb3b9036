//! What a simulated core keeps of an execution.

use super::{Place, RunId, SimulatedThreadId, SimulationId, ThreadId};

/// An execution on modelled cores, one for each [`SimulatedThread`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simulation {
    /// The run whose instructions were fed to the model.
    pub run: RunId,
    /// The name of the core.
    pub core: String,
    /// 64-bit FNV-1a of all numbers that describe the core: cycles of equal ones compare.
    pub core_hash: u64,
    /// Which part of each thread's execution was simulated.
    pub part: SimulatedPart,
    /// Instructions that all threads of the run executed, simulated or not; `None` if it is not known exactly, as of
    /// simulations that version 7 of the format kept.
    pub executed: Option<u64>,
    /// Instructions that were simulated of all threads together.
    pub instructions: u64,
    /// Cycles of all threads' cores together.
    pub cycles: u64,
}

/// A thread of a program that executed something of the simulated part, on a core of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedThread {
    /// In which simulation.
    pub simulation: SimulationId,
    /// The thread; several threads of a process in turn may share a row of threads.
    pub thread: ThreadId,
    /// Numbers the programs that processes executed: a `fork` begins another one, and so does an `execve`.
    pub image: u32,
    /// Path of that program's executable, which is not the process's any more if it executed another one since.
    pub executable: Vec<u8>,
    /// Instructions that were simulated.
    pub instructions: u64,
    /// Cycles that they took.
    pub cycles: u64,
}

/// A window of a thread: instructions in a row that were simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulatedWindow {
    /// The thread.
    pub thread: SimulatedThreadId,
    /// Instructions that the thread had executed before.
    pub first_instruction: u64,
    /// Instructions of the window.
    pub instructions: u64,
    /// Cycles from the commit of the last instruction of the window before to that of this one's last.
    pub cycles: u64,
}

impl SimulatedWindow {
    /// Instructions that the thread had executed at its end.
    pub fn end(&self) -> u64 {
        self.first_instruction.saturating_add(self.instructions)
    }
}

/// A part of each thread's execution: windows of equal length, each behind instructions that pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulatedPart {
    /// Instructions that pass before each window.
    pub skipped: u64,
    /// Instructions of a window; `None` for all the rest.
    pub length: Option<u64>,
    /// How many windows; `None` for as many as there are.
    pub windows: Option<u32>,
}

impl SimulatedPart {
    /// Everything.
    pub const ALL: Self = Self { skipped: 0, length: None, windows: Some(1) };
}

/// How often an instruction was executed in the part that was simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimulatedInstruction {
    /// In which simulation.
    pub simulation: SimulationId,
    /// The instruction.
    pub place: Place,
    /// By all threads together.
    pub executions: u64,
}

/// What a core's commit stage does in a cycle. The flushed state is told apart by what flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CommitState {
    /// Instructions commit.
    Computing,
    /// The oldest instruction is not executed yet.
    Stalled,
    /// The reorder buffer is empty, as the front end has delivered nothing.
    Drained,
    /// It is empty behind a mispredicted branch.
    Mispredicted,
    /// It is empty behind an instruction that flushed the pipeline or raised an exception.
    Flushed,
}

impl CommitState {
    /// All states.
    pub const ALL: [Self; 5] =
        [Self::Computing, Self::Stalled, Self::Drained, Self::Mispredicted, Self::Flushed];
}

/// Events that an execution of an instruction was subject to, a bit for each of [`CoreEvents::NAMES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CoreEvents(pub u16);

impl CoreEvents {
    /// What the bits stand for, the lowest first: names of the events of a performance signature vector.
    pub const NAMES: [&str; 9] =
        ["DR-L1", "DR-TLB", "DR-SQ", "FL-MB", "FL-EX", "FL-MO", "ST-L1", "ST-TLB", "ST-LLC"];

    /// The names of the events, joined by `+`; empty if there is none.
    pub fn names(self) -> String {
        let is_set = |bit: &usize| self.0 >> bit & 1 == 1;
        let names = (0..Self::NAMES.len()).filter(is_set).map(|bit| Self::NAMES[bit]);
        names.collect::<Vec<_>>().join("+")
    }

    /// The events of these names; `None` if one is unknown.
    pub fn named(names: &str) -> Option<Self> {
        let bit = |name: &str| Self::NAMES.iter().position(|known| *known == name);
        let each = names.split('+').filter(|name| !name.is_empty());
        each.map(bit).try_fold(Self(0), |Self(bits), bit| Some(Self(bits | 1 << bit?)))
    }
}

/// A component of an instruction's cycle stack: cycles that the instruction is to blame for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackComponent {
    /// In which simulation.
    pub simulation: SimulationId,
    /// The instruction.
    pub place: Place,
    /// What the commit stage did.
    pub state: CommitState,
    /// What those executions of the instruction were subject to.
    pub events: CoreEvents,
    /// How many cycles, in [`StackComponent::PARTS_OF_A_CYCLE`].
    pub parts: u64,
}

impl StackComponent {
    /// The least common multiple of 1 to 8, so that a cycle can be divided exactly among the instructions that
    /// commit in it.
    pub const PARTS_OF_A_CYCLE: u64 = 840;
}

#[cfg(test)]
mod tests {
    use super::CoreEvents;

    #[test]
    fn events_read_back_as_they_are_named() {
        for bits in 0..1 << CoreEvents::NAMES.len() {
            let events = CoreEvents(bits);
            assert_eq!(CoreEvents::named(&events.names()), Some(events));
        }
        assert_eq!(CoreEvents::named("ST-L1+XY"), None);
    }
}
