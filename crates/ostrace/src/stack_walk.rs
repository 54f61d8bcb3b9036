//! Who made a call: the call stacks of threads that stand (CQ, section 0.3.3).

use std::collections::HashMap;
use timewise_callers::{End, Innermost, Modules, Stacks, Unwinder, present_mappings};
use timewise_profile::{CallStackMethod, CallStacks, Module, Offset, Place, StackId, StackNode};
use timewise_target::address_space::AddressSpace;
use timewise_target::trace::{LONG_MODE, Tracee};

/// The call stacks of a recording.
#[derive(Debug)]
pub struct StackWalk {
    modules: Modules,
    stacks: Stacks,
    unwinder: Unwinder,
    spaces: HashMap<i32, Space>,
    callers: Vec<Place>,
    /// How many were taken, and how many are not whole.
    taken: CallStacks,
}

/// What a process has mapped.
#[derive(Debug, Default)]
struct Space {
    code: AddressSpace,
    /// Whether that is so now.
    is_current: bool,
}

impl StackWalk {
    /// None yet.
    pub fn new() -> StackWalk {
        StackWalk {
            modules: Modules::default(),
            stacks: Stacks::default(),
            unwinder: Unwinder::new(true),
            spaces: HashMap::new(),
            callers: Vec::new(),
            taken: CallStacks::by(CallStackMethod::Both),
        }
    }

    /// The stack of a thread that stands, where it is itself innermost; `None` if it is gone, of a 32-bit program, or in code
    /// of which nothing is known.
    pub fn of(&mut self, (pid, tid): (i32, i32), innermost: Innermost) -> Option<StackId> {
        let registers = Tracee::new(tid).registers().ok().filter(|registers| registers.cs == LONG_MODE)?;
        let StackWalk { modules, stacks, unwinder, spaces, callers, taken } = self;
        let space = spaces.entry(pid).or_default().now(pid, modules);
        callers.clear();
        // Whoever reads this looks for a call before it: of an interrupted instruction, itself.
        let behind_call = u64::from(innermost == Innermost::Called);
        let here = space.place(registers.rip.wrapping_sub(behind_call))?;
        callers.push(Place { offset: Offset(here.offset.0.wrapping_add(1)), ..here });
        let end = unwinder.callers_of_stopped((tid, &registers, innermost), space, modules, callers);
        taken.taken += 1;
        taken.cut_short += u64::from(end == End::CutShort);
        taken.broken += u64::from(end == End::Broken);
        stacks.intern(callers)
    }

    /// A process may have mapped other code.
    pub fn maps_code(&mut self, pid: i32) {
        if let Some(space) = self.spaces.get_mut(&pid) {
            space.is_current = false;
        }
    }

    /// A process has ended, or executes another program.
    pub fn forget(&mut self, pid: i32) {
        self.spaces.remove(&pid);
    }

    /// Whether a process has code mapped there.
    pub fn has_code(&self, pid: i32, start: u64, length: u64) -> bool {
        let touched = |space: &Space| space.code.touching(start, start.saturating_add(length)).is_some();
        self.spaces.get(&pid).is_some_and(touched)
    }

    /// How many there was no room for.
    pub fn left_out(&self) -> u64 {
        self.stacks.left_out
    }

    /// How many were taken, and how many are not whole.
    pub fn taken(&self) -> &CallStacks {
        &self.taken
    }

    /// What stacks refer to, and all of them.
    pub fn into_rows(self) -> (Vec<Module>, Vec<StackNode>) {
        (self.modules.into_vec(), self.stacks.into_vec())
    }
}

impl Space {
    /// What is mapped over what was: code that was written at run time may have grown, and is known by where it began. What
    /// is gone is executed by nobody.
    fn now(&mut self, pid: i32, modules: &mut Modules) -> &AddressSpace {
        if !self.is_current {
            for mapping in present_mappings(pid as u32).unwrap_or_default() {
                modules.map(&mut self.code, &mapping);
            }
            self.is_current = true;
        }
        &self.code
    }
}
