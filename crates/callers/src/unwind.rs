//! From registers and a stack to callers: by the unwind tables of modules, and by frame pointers through code that has none.

#[cfg(test)]
mod tests;

use crate::live_stack::LiveStack;
use crate::modules::Modules;
use crate::user_stack::UserStack;
use std::collections::HashMap;
use timewise_image::{Image, Registers, Rule, Stop, UnwindTable};
use timewise_profile::{ModuleId, Offset, Place};
use timewise_target::address_space::AddressSpace;
use timewise_target::trace;

/// Callers at most of one stack.
const DEEPEST: usize = 1024;

/// Rules that are kept at most; a program that uses more has them looked up anew now and then.
const MOST_RULES: usize = 1 << 18;

/// A register that points further up the stack than this is no frame pointer.
const LARGEST_FRAME: u64 = 8 << 20;

/// A direct call: its opcode and the distance to the function.
const CALL_BYTES: u64 = 5;

/// No function that leaves the stack alone is larger.
const LARGEST_LEAF: u64 = 4096;

/// What is known of how to find callers, of all code that was met so far.
#[derive(Debug)]
pub struct Unwinder {
    /// Whether frame pointers are followed where there is no table.
    frame_pointers: bool,
    /// Files of the modules that were asked for, with their tables, read when first needed.
    files: HashMap<ModuleId, Option<File>>,
    /// By the place of a call or an interrupted instruction. A module has the same offsets in all processes.
    rules: HashMap<(ModuleId, Offset), Option<Rule>>,
}

/// What a module's file tells.
#[derive(Debug)]
struct File {
    image: Image,
    table: Option<UnwindTable>,
    is_go: bool,
}

impl File {
    fn of(module: ModuleId, modules: &Modules) -> Option<File> {
        let image = modules.image(module)?;
        Some(File { table: UnwindTable::of(&image), is_go: image.is_go(), image })
    }
}

/// Where the innermost function of a stack stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Innermost {
    /// At the instruction that it was about to execute.
    Interrupted,
    /// Behind its call of the system, which may be the last of its instructions.
    Called,
}

/// How a stack ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With the outermost function, as far as anyone can tell.
    Whole,
    /// Where the copy ends, or deeper than is looked.
    CutShort,
    /// In code that does not tell its caller.
    Broken,
}

impl Unwinder {
    /// One that has met no code yet.
    pub fn new(frame_pointers: bool) -> Unwinder {
        Unwinder { frame_pointers, files: HashMap::new(), rules: HashMap::new() }
    }

    /// Adds the return places of the callers of a thread that stands to `callers`, innermost first. Its stack is read as far
    /// as that takes, wherever it is: handlers of signals may have one of their own.
    pub fn callers_of_stopped(
        &mut self,
        (pid, registers, innermost): (i32, &trace::Registers, Innermost),
        space: &AddressSpace,
        modules: &Modules,
        callers: &mut Vec<Place>,
    ) -> End {
        let stack = LiveStack::of(pid);
        let from = (&UserStack::registers_of(registers), innermost);
        self.follow(from, &|address| stack.word(address), (space, modules), callers)
    }

    /// Adds the return places of a stack's callers to `callers`, innermost first.
    pub fn callers(
        &mut self,
        stack: &UserStack,
        space: &AddressSpace,
        modules: &Modules,
        callers: &mut Vec<Place>,
    ) -> End {
        let from = (&stack.registers, Innermost::Interrupted);
        self.follow(from, &|address| stack.word(address), (space, modules), callers)
    }

    fn follow(
        &mut self,
        (registers, innermost): (&Registers, Innermost),
        memory: &dyn Fn(u64) -> Option<u64>,
        (space, modules): (&AddressSpace, &Modules),
        callers: &mut Vec<Place>,
    ) -> End {
        let deepest = callers.len() + DEEPEST;
        let mut registers = registers.clone();
        // What a call returns to may belong to the next function already; the call itself does not.
        let mut behind_call = u64::from(innermost == Innermost::Called);
        let mut is_innermost = true;
        loop {
            let Some(place) = space.place(registers.ip.wrapping_sub(behind_call)) else { return End::Broken };
            let first = std::mem::take(&mut is_innermost);
            if !first {
                // Whoever reads this looks for a call before it: of an interrupted instruction, itself.
                callers.push(Place { offset: Offset(place.offset.0.wrapping_add(1)), ..place });
            }
            if callers.len() >= deepest {
                return End::CutShort;
            }
            let followed =
                self.rule(place, modules).map(|rule| (rule.follow(&registers, memory), rule.is_signal()));
            let (step, signal) = match followed {
                Some(followed) => followed,
                None if !self.frame_pointers => (Err(Stop::Lost), false),
                None if !first => (by_frame_pointer(&registers, memory), false),
                None => match self.caller_of_leaf(&registers, memory, (space, modules)) {
                    Some(caller) => (Ok(caller), false),
                    None => (by_frame_pointer(&registers, memory), false),
                },
            };
            registers = match step {
                Ok(caller) => caller,
                Err(Stop::Outermost) => return End::Whole,
                Err(Stop::Unread) => return End::CutShort,
                Err(Stop::Lost) => return End::Broken,
            };
            behind_call = u64::from(!signal);
        }
    }

    /// How a stack that ended at the last of `callers` goes on by `chain`, the return addresses that the kernel found by
    /// frame pointers, and how it ends then. Go switches to other stacks for its runtime, of which nothing was copied;
    /// frame pointers lead back from there, and all code of Go keeps them.
    pub fn go_on(
        &mut self,
        end: End,
        (chain, is_all): (&[u64], bool),
        (space, modules): (&AddressSpace, &Modules),
        callers: &mut Vec<Place>,
    ) -> End {
        let Some(&last) = callers.last().filter(|_| end != End::Whole) else { return end };
        let file = self.files.entry(last.module).or_insert_with(|| File::of(last.module, modules));
        if !file.as_ref().is_some_and(|file| file.is_go) {
            return end;
        }
        let mut rest = chain.iter().map(|&address| space.place(address));
        if !rest.any(|place| place == Some(last)) {
            return end;
        }
        let of_go = rest.by_ref().map_while(|place| place.filter(|place| place.module == last.module));
        let before = callers.len();
        callers.extend(of_go.take(DEEPEST.saturating_sub(before)));
        let all_found = chain.last().and_then(|&outermost| space.place(outermost)) == callers.last().copied();
        match callers.len() > before && all_found {
            true if is_all => End::Whole,
            true => End::CutShort,
            false => end,
        }
    }

    fn rule(&mut self, place: Place, modules: &Modules) -> Option<&Rule> {
        let key = (place.module, place.offset);
        if self.rules.len() >= MOST_RULES && !self.rules.contains_key(&key) {
            self.rules.clear();
        }
        let files = &mut self.files;
        let rule = self.rules.entry(key).or_insert_with(|| {
            let file = files.entry(place.module).or_insert_with(|| File::of(place.module, modules));
            file.as_mut()?.table.as_mut()?.rule(place.offset.0)
        });
        rule.as_ref()
    }

    /// The caller of a function in assembler that leaves the stack alone: what is on its top is then the
    /// address behind a call to this very function.
    fn caller_of_leaf(
        &mut self,
        registers: &Registers,
        memory: &dyn Fn(u64) -> Option<u64>,
        (space, modules): (&AddressSpace, &Modules),
    ) -> Option<Registers> {
        let return_address = memory(registers.stack_pointer())?;
        let call = space.place(return_address.checked_sub(CALL_BYTES)?)?;
        let file = self.files.entry(call.module).or_insert_with(|| File::of(call.module, modules));
        let code = file.as_ref()?.image.code(call.offset.0..call.offset.0.checked_add(CALL_BYTES)?)?;
        let [0xe8, distance @ ..] = code else { return None };
        let distance = i32::from_le_bytes(distance.try_into().ok()?);
        let callee = return_address.wrapping_add_signed(distance.into());
        let within = registers.ip.checked_sub(callee)?;
        (within < LARGEST_LEAF).then(|| registers.behind_call(return_address))
    }
}

/// The caller of a frame that begins, as the ABI has it, with the caller's frame pointer and the return
/// address.
fn by_frame_pointer(registers: &Registers, memory: impl Fn(u64) -> Option<u64>) -> Result<Registers, Stop> {
    let Some(frame) = registers.frame_pointer() else { return Err(Stop::Lost) };
    let distance = frame.checked_sub(registers.stack_pointer());
    let above = frame.checked_add(16).filter(|_| frame.is_multiple_of(8));
    let above = match (frame, distance, above) {
        (0, ..) => return Err(Stop::Outermost),
        (_, Some(0..LARGEST_FRAME), Some(above)) => above,
        _ => return Err(Stop::Lost),
    };
    match (memory(frame), memory(frame + 8)) {
        (_, Some(0)) => Err(Stop::Outermost),
        (Some(outer), Some(return_address)) => Ok(Registers::of_frame(return_address, above, outer)),
        _ => Err(Stop::Unread),
    }
}
