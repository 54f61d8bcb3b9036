//! What is found out of threads, stop by stop.

#[cfg(test)]
mod tests;

use crate::calls::{self, About};
use crate::descriptors::Descriptors;
use crate::members::{Due, Member, Members, Naming, Open};
use crate::names::Names;
use crate::objects::Caller;
use crate::stack_walk::StackWalk;
use crate::{addresses, call_names, signal_names};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use timewise_callers::Innermost;
use timewise_profile::{Exit, NameId, OsEvent, OsEventKind, Process, Profile, StackId, ThreadId};
use timewise_target::cpu_time::monotonic_ns;
use timewise_target::launch::Ended;
use timewise_target::timeouts::Timeout;
use timewise_target::tracees::{self, Call, Reason, Started, Stop, Usage};
use timewise_target::{program, run};

/// What is found out of a program that is followed.
#[derive(Debug)]
pub struct Recorder {
    begun_ns: u64,
    /// From when threads were let go to when following them was over, nanoseconds.
    pub elapsed_ns: u64,
    /// Threads that stopped and wait for their turn.
    ready: VecDeque<Ready>,
    most_events: usize,
    events: Vec<OsEvent>,
    /// Events for which there was no room.
    pub lost: u64,
    /// System calls that were seen, kept or not.
    pub calls: u64,
    /// Programs that ran with fewer rights than they have otherwise.
    pub without_rights: Vec<Vec<u8>>,
    names: Names,
    kinds: HashMap<(u64, bool), Kind>,
    descriptors: Descriptors,
    members: Members,
    /// `None` where call stacks are not taken.
    pub walk: Option<StackWalk>,
}

/// A thread that stopped.
#[derive(Clone, Copy, Debug)]
struct Ready {
    stop: Stop,
    /// When that was noticed.
    now_ns: u64,
    /// Whether it still stands there: it may have been killed meanwhile, and stand where it ends, or where its process
    /// executes what another thread of that had it execute.
    stands: bool,
}

/// How a process ended.
#[derive(Clone, Copy, Debug)]
pub struct End {
    wait_status: i32,
    usage: Usage,
}

/// What is known of a system call.
#[derive(Clone, Copy, Debug)]
struct Kind {
    name: Option<NameId>,
    about: About,
    effect: Effect,
}

/// What a call does that matters for what is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    None,
    /// It may map code.
    Maps,
    /// It may make code of memory.
    Protects,
    /// It may move code.
    Moves,
    /// It gives a socket an address.
    NamesSocket,
    /// It gives a socket the address of whom it speaks to.
    ConnectsSocket,
}

impl Recorder {
    /// Of a program whose first thread stands.
    pub fn new(pid: i32, most_events: usize, stacks: bool) -> Recorder {
        Recorder {
            begun_ns: monotonic_ns(),
            elapsed_ns: 0,
            ready: VecDeque::new(),
            most_events,
            events: Vec::new(),
            lost: 0,
            calls: 0,
            without_rights: Vec::new(),
            names: Names::default(),
            kinds: HashMap::new(),
            descriptors: Descriptors::default(),
            members: Members::root(pid),
            walk: stacks.then(StackWalk::new),
        }
    }

    /// Notes another thread that is there from the beginning.
    pub fn joined(&mut self, pid: i32, tid: i32) {
        self.members.joined(pid, tid, self.has_room());
        self.thread_began(tid, 0);
    }

    /// Notes the thread that it begins with.
    pub fn began(&mut self) {
        if !self.members.threads.is_empty() {
            self.note(ThreadId(0), OsEventKind::Begin, None, 0, None);
        }
    }

    /// Notes the program that it begins with.
    pub fn began_program(&mut self) {
        self.began();
        let Some(thread) = self.members.threads.first().map(|_| ThreadId(0)) else { return };
        let executable = self.members.processes[0].executable.clone();
        let name = self.names.id(b"execve");
        let object = self.names.id(&executable);
        if let Some(at) = self.note(thread, OsEventKind::Exec, name, 0, Some(0)) {
            self.events[at].object = object;
        }
    }

    /// Lets the program run on from where its first thread stands, to its end.
    ///
    /// # Errors
    /// The system's.
    pub fn follow(&mut self, root: i32) -> io::Result<Ended> {
        let started = Started::now();
        let end = self.follow_until(&[root], &[root])?;
        let (_, End { wait_status, usage }) = end.ok_or_else(|| io::Error::other("its end was not seen"))?;
        Ok(started.ended(wait_status, usage))
    }

    /// Lets threads run on from where they stand, with all that they begin, until one of `ends` has ended: which, and how.
    /// `None` if all others have.
    ///
    /// # Errors
    /// The system's.
    pub fn follow_until(&mut self, threads: &[i32], ends: &[i32]) -> io::Result<Option<(i32, End)>> {
        self.begun_ns = monotonic_ns();
        for &tid in threads {
            tracees::go_on(tid, 0)?;
        }
        let end = self.follow_all(ends);
        self.elapsed_ns = monotonic_ns() - self.begun_ns;
        end
    }

    fn follow_all(&mut self, ends: &[i32]) -> io::Result<Option<(i32, End)>> {
        while let Some(Ready { stop: Stop { tid, reason }, now_ns, stands }) = self.next()? {
            if let Reason::Ended { wait_status, usage } = reason {
                self.ended(tid, run::exit_of(wait_status), now_ns);
                if ends.contains(&tid) {
                    self.leave()?;
                    return Ok(Some((tid, End { wait_status, usage })));
                }
                continue;
            }
            // Of a program that calls `exec` it is known already, by the number before.
            if !matches!(reason, Reason::Executed { .. }) && self.members.stopped(tid, self.has_room()) {
                self.thread_began(tid, now_ns);
            }
            match reason {
                // Killed where it stood, it neither makes the call nor has its result.
                Reason::Call if !stands => {}
                Reason::Call => self.call(tid, now_ns)?,
                Reason::Signal(signal) => {
                    let name = self.names.id(signal_names::name(signal).as_bytes());
                    self.befell(tid, OsEventKind::Signal, name, now_ns, None);
                }
                Reason::Forked(child) => {
                    if self.members.forked(tid, child, self.has_room()) {
                        self.thread_began(child, now_ns);
                    }
                }
                Reason::Executed { former } => self.executed(tid, former, now_ns),
                Reason::Ending(status) => {
                    self.members.ending(tid);
                    self.ending(tid, run::exit_of(status), now_ns);
                }
                Reason::Asked | Reason::Paused | Reason::Ended { .. } => {}
            }
            match reason {
                // That would be from where it stands by now, which was not looked at.
                _ if !stands => {}
                Reason::Paused => tracees::stay(tid)?,
                Reason::Signal(signal) => self.deliver(tid, signal, now_ns)?,
                _ => tracees::go_on(tid, 0)?,
            }
        }
        Ok(None)
    }

    /// A thread goes on with its signal.
    fn deliver(&mut self, tid: i32, signal: i32, now_ns: u64) -> io::Result<()> {
        let due = self.members.get(tid).and_then(|member| member.timeout);
        let over = due.filter(|due| due.at_ns <= now_ns).map(|due| due.result);
        let is_made_again = tracees::deliver(tid, signal, over)?;
        if let Some(member) = self.members.get(tid) {
            member.is_made_again = is_made_again;
        }
        Ok(())
    }

    /// Lets threads go untraced that stand before a signal: the kernel does not deliver those of which we took note already.
    fn leave(&mut self) -> io::Result<()> {
        for Ready { stop: Stop { tid, reason }, stands, .. } in self.ready.drain(..) {
            if let Reason::Signal(signal) = reason
                && stands
            {
                tracees::leave(tid, signal)?;
            }
        }
        Ok(())
    }

    /// The next stop. All that stand have their turn before one of them has it again: the kernel tells of the newest first,
    /// so that others would wait for ever.
    fn next(&mut self) -> io::Result<Option<Ready>> {
        if let Some(Ready { stop, stands: true, .. }) = self.ready.front() {
            // It has waited for its turn, and may have been killed there.
            if let Some(later) = tracees::next_of(stop.tid)? {
                self.take(later);
            }
        } else if self.ready.is_empty() {
            let Some(stop) = tracees::next()? else { return Ok(None) };
            self.take(stop);
            // One that is alone has not been let go since.
            while self.members.are_several()
                && let Some(stop) = tracees::next_by_now()?
            {
                self.take(stop);
            }
        }
        Ok(self.ready.pop_front())
    }

    /// A thread stopped. Where it stood before, it stands no longer.
    fn take(&mut self, stop: Stop) {
        let now_ns = monotonic_ns() - self.begun_ns;
        self.ready
            .iter_mut()
            .filter(|ready| ready.stop.tid == stop.tid)
            .for_each(|ready| ready.stands = false);
        self.ready.push_back(Ready { stop, now_ns, stands: true });
    }

    /// What was recorded, without the row of the run.
    pub fn into_profile(self) -> Profile {
        let (modules, stacks) = self.walk.map(StackWalk::into_rows).unwrap_or_default();
        Profile {
            modules,
            stacks,
            processes: self.members.processes,
            threads: self.members.threads,
            os_names: self.names.into_rows(),
            os_events: self.events,
            ..Profile::default()
        }
    }

    /// Processes that were recorded.
    pub fn processes(&self) -> &[Process] {
        &self.members.processes
    }

    /// Processes that still run.
    pub fn outliving(&self) -> usize {
        let pids: BTreeSet<i32> = self.members.living().map(|member| member.pid).collect();
        pids.len()
    }

    /// Objects that have no name for want of room.
    pub fn unnamed(&self) -> u64 {
        self.names.unnamed
    }

    fn has_room(&self) -> bool {
        self.events.len() < self.most_events
    }

    /// Keeps an event if there is room for it: where.
    fn note(
        &mut self,
        thread: ThreadId,
        kind: OsEventKind,
        name: Option<NameId>,
        begin_ns: u64,
        result: Option<i64>,
    ) -> Option<usize> {
        if !self.has_room() {
            self.lost += 1;
            return None;
        }
        let end_ns = (kind != OsEventKind::Call).then_some(begin_ns);
        self.events.push(OsEvent {
            thread,
            kind,
            name,
            object: None,
            begin_ns,
            end_ns,
            cpu_ns: 0,
            result,
            stack: None,
        });
        Some(self.events.len() - 1)
    }

    /// Notes something that takes no time.
    fn befell(
        &mut self,
        tid: i32,
        kind: OsEventKind,
        name: Option<NameId>,
        now_ns: u64,
        result: Option<i64>,
    ) {
        let Some(thread) = self.members.get(tid).and_then(|member| member.thread) else {
            self.lost += 1;
            return;
        };
        let cpu_ns = self.members.cpu_ns(tid);
        let stack = if kind == OsEventKind::Signal { self.stack(tid, Innermost::Interrupted) } else { None };
        if let Some(at) = self.note(thread, kind, name, now_ns, result) {
            (self.events[at].cpu_ns, self.events[at].stack) = (cpu_ns, stack);
        }
    }

    /// The call stack of a thread that stands, if that is wanted.
    fn stack(&mut self, tid: i32, innermost: Innermost) -> Option<StackId> {
        let walk = self.walk.as_mut().filter(|_| self.events.len() < self.most_events)?;
        let pid = self.members.get(tid)?.pid;
        walk.of((pid, tid), innermost)
    }

    fn thread_began(&mut self, tid: i32, now_ns: u64) {
        self.befell(tid, OsEventKind::Begin, None, now_ns, None);
    }

    /// A thread enters or leaves a call.
    fn call(&mut self, tid: i32, now_ns: u64) -> io::Result<()> {
        let inside = self.members.get(tid).is_some_and(|member| member.open.is_some());
        match tracees::call(tid, inside)? {
            Some(Call::Entered { number, arguments, is_32_bit }) => {
                self.calls += 1;
                self.waits(tid, (number, is_32_bit), &arguments);
                let open = self.entered(tid, (number, is_32_bit), arguments);
                let event = open.event;
                if let Some(member) = self.members.get(tid) {
                    member.open = Some(open);
                }
                // What we did for it is not the call's time.
                if let Some(at) = event {
                    self.events[at].begin_ns = monotonic_ns() - self.begun_ns;
                }
            }
            Some(Call::Left(result)) => self.left(tid, result, now_ns),
            None => {}
        }
        Ok(())
    }

    /// Notes how long a call waits that a thread enters.
    fn waits(&mut self, tid: i32, (number, is_32_bit): (u64, bool), arguments: &[u64; 6]) {
        let now_ns = monotonic_ns() - self.begun_ns;
        let Some(member) = self.members.get(tid) else { return };
        if !std::mem::take(&mut member.is_made_again) {
            let timeout = (!is_32_bit).then(|| Timeout::of_call(tid, number, arguments)).flatten();
            let due = |Timeout { after, result }| Due {
                at_ns: now_ns.saturating_add(u64::try_from(after.as_nanos()).unwrap_or(u64::MAX)),
                result,
            };
            member.timeout = timeout.map(due);
        }
    }

    fn entered(&mut self, tid: i32, call: (u64, bool), arguments: [u64; 6]) -> Open {
        let unknown = Open { event: None, naming: None, maps_code: false };
        let kind = self.kind(call);
        let Some(member) = self.members.get(tid) else { return unknown };
        let (pid, thread) = (member.pid, member.thread);
        let Some(thread) = thread.filter(|_| self.has_room()) else {
            self.lost += 1;
            return unknown;
        };
        let caller = Caller { pid, tid, arguments };
        let object = caller.object(kind.about, &mut self.descriptors);
        let naming = match kind.effect {
            Effect::NamesSocket => Some(Naming { socket: arguments[0] as i32, peer: None }),
            Effect::ConnectsSocket => {
                let peer = object.clone().filter(|name| !addresses::is_of_nobody(name));
                Some(Naming { socket: arguments[0] as i32, peer })
            }
            _ => None,
        };
        let object = object.and_then(|object| self.names.id(&object));
        let executable = arguments[2] & libc::PROT_EXEC as u64 != 0;
        let is_image = kind.effect == Effect::Maps && executable && object.is_some();
        let maps_code = match kind.effect {
            Effect::Maps | Effect::Protects => executable,
            Effect::Moves => {
                self.walk.as_ref().is_some_and(|walk| walk.has_code(pid, arguments[0], arguments[1]))
            }
            _ => false,
        };
        let cpu_ns = self.members.cpu_ns(tid);
        let stack = self.stack(tid, Innermost::Called);
        let event = self.note(thread, OsEventKind::Call, kind.name, 0, None);
        if let Some(at) = event {
            let event = &mut self.events[at];
            (event.object, event.cpu_ns, event.stack) = (object, cpu_ns, stack);
            if is_image {
                event.kind = OsEventKind::Image;
            }
        }
        Open { event, naming, maps_code }
    }

    fn left(&mut self, tid: i32, result: i64, now_ns: u64) {
        let Some(member) = self.members.get(tid) else { return };
        let pid = member.pid;
        let Some(Open { event, naming, maps_code }) = member.open.take() else { return };
        if maps_code && let Some(walk) = &mut self.walk {
            walk.maps_code(pid);
        }
        if let Some(Naming { socket, peer }) = naming {
            match (result, peer) {
                // A connection in progress has the same peer once it is there.
                (0 | IN_PROGRESS, Some(peer)) => self.descriptors.name_socket(tid, socket, peer),
                (0, None) => self.descriptors.forget_socket(tid, socket),
                _ => {}
            }
        }
        let Some(event) = event.map(|at| &mut self.events[at]) else { return };
        event.end_ns = Some(now_ns.max(event.begin_ns));
        event.result = Some(result);
        if event.kind == OsEventKind::Image && result < 0 {
            event.kind = OsEventKind::Call;
        }
    }

    /// A process executes another program: so the call that it has not left yet turns out.
    fn executed(&mut self, pid: i32, former: i32, now_ns: u64) {
        let (path, first) = self.members.executed(pid, former);
        if let Some(walk) = &mut self.walk {
            walk.forget(pid);
        }
        if let Some(first) = first {
            self.note_end(&first, Exit::Code(0), now_ns);
        }
        let open = self.members.get(pid).and_then(|member| member.open.as_ref());
        let Some(at) = open.and_then(|open| open.event) else { return };
        self.events[at].kind = OsEventKind::Exec;
        if let Some(path) = path {
            if program::loses_rights(Path::new(OsStr::from_bytes(&path)))
                && !self.without_rights.contains(&path)
            {
                self.without_rights.push(path.clone());
            }
            self.events[at].object = self.names.id(&path).or(self.events[at].object);
        }
    }

    fn ending(&mut self, tid: i32, exit: Exit, now_ns: u64) {
        let result = status_of(exit);
        self.befell(tid, OsEventKind::End, None, now_ns, result);
        if let Some(member) = self.members.get(tid) {
            member.has_ended = true;
        }
    }

    fn ended(&mut self, tid: i32, exit: Exit, now_ns: u64) {
        if let Some(walk) = &mut self.walk {
            walk.forget(tid);
        }
        if let Some(member) = self.members.ended(tid, exit) {
            self.note_end(&member, exit, now_ns);
        }
    }

    /// Notes the end of a thread that is gone, unless it was seen before.
    fn note_end(&mut self, member: &Member, exit: Exit, now_ns: u64) {
        if member.has_ended {
            return;
        }
        let Some(thread) = member.thread else {
            self.lost += 1;
            return;
        };
        if let Some(at) = self.note(thread, OsEventKind::End, None, now_ns, status_of(exit)) {
            self.events[at].cpu_ns = member.known_cpu_ns();
        }
    }

    fn kind(&mut self, (number, is_32_bit): (u64, bool)) -> Kind {
        let names = &mut self.names;
        *self.kinds.entry((number, is_32_bit)).or_insert_with(|| {
            let name = call_names::name(number, is_32_bit);
            let about = calls::about(&name, is_32_bit);
            let effect = match &*name {
                _ if about == About::Mapped => Effect::Maps,
                "mprotect" | "pkey_mprotect" => Effect::Protects,
                "mremap" => Effect::Moves,
                "connect" => Effect::ConnectsSocket,
                "bind" | "listen" => Effect::NamesSocket,
                _ => Effect::None,
            };
            Kind { name: names.id(name.as_bytes()), about, effect }
        })
    }
}

/// The result of a `connect` that does not wait.
const IN_PROGRESS: i64 = -(libc::EINPROGRESS as i64);

/// As events tell of an end.
fn status_of(exit: Exit) -> Option<i64> {
    match exit {
        Exit::Code(code) => Some(code.into()),
        Exit::Signal(signal) => Some(-i64::from(signal)),
        Exit::Unknown => None,
    }
}
