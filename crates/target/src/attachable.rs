//! Whether a process that runs already can be taken over, and in one line why not.

use crate::control_groups;
use crate::family;
use crate::keeper;
use crate::machine;
use crate::maps;
use crate::restricted;
use crate::status::{Status, field};
use crate::subject::Subject;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::time::{Duration, Instant};

/// Why a process could not be taken over. It runs on.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// There is none (exit status 127).
    #[error("there is no process {0}; see which there are: ps -e")]
    NotFound(i32),
    /// It is not one that can be attached to (exit status 126).
    #[error("process {pid} cannot be attached to: {why}")]
    Unfit {
        /// Its id.
        pid: i32,
        /// Why not, and what to do.
        why: String,
    },
    /// A filter for its system calls is in force, which may end it for ours (exit status 126).
    #[error(
        "process {0} cannot be attached to: it has restricted its system calls (seccomp), and could be ended for ours; \
         launch it under timewise instead"
    )]
    Restricted(i32),
    /// The system refused (exit status 126).
    #[error("process {pid} cannot be attached to: {why} ({cause})")]
    Refused {
        /// Its id.
        pid: i32,
        /// Why, and what to do.
        why: String,
        /// The system's reason.
        cause: io::Error,
    },
    /// A timewise that was killed is not yet done with it (exit status 126).
    #[error(
        "process {pid} cannot be attached to: process {by}, of a timewise that ended, still gives it back; try again"
    )]
    BeingGivenBack {
        /// Its id.
        pid: i32,
        /// Who gives it back.
        by: i32,
    },
    /// A thread did not stop (exit status 126).
    #[error("thread {0} does not stop: it waits in the kernel, as for a child by vfork or a disk; try again")]
    Stuck(i32),
    /// It ended meanwhile.
    #[error("process {0} ended before it could be attached to")]
    Gone(i32),
}

/// What a process lacks that may not map code that can be written to, in words.
pub const WRITABLE_CODE_DENIED: &str = "the program may have no memory that is both writable and executable \
     (MemoryDenyWriteExecute= of systemd, PR_SET_MDWE, or SELinux)";

impl AttachError {
    /// Process `pid` may have no code that can be written to, which what goes into it needs.
    pub fn writable_code_denied(pid: i32) -> AttachError {
        AttachError::Unfit {
            pid,
            why: format!("{WRITABLE_CODE_DENIED}; sample it: timewise sample --pid {pid}"),
        }
    }

    /// `/proc` shows no process `pid`.
    fn not_seen(pid: i32) -> AttachError {
        // SAFETY: takes no memory, and sends nothing.
        let is_there = unsafe { libc::kill(pid, 0) } == 0 || {
            io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
        };
        match is_there {
            true => AttachError::Unfit {
                pid,
                why: "it is another's, and hidden (/proc is mounted with hidepid); run: sudo timewise …"
                    .into(),
            },
            false => AttachError::NotFound(pid),
        }
    }

    /// The system refused to let us trace process `pid`.
    pub fn refused(pid: i32, cause: io::Error) -> AttachError {
        unfit(pid).unwrap_or_else(|| AttachError::forbidden(pid, cause))
    }

    /// Likewise of a process that could be attached to if it were ours.
    fn forbidden(pid: i32, cause: io::Error) -> AttachError {
        // SAFETY: takes no memory.
        let root = unsafe { libc::geteuid() } == 0;
        let why = match machine::yama_ptrace_scope() {
            Some(3..) => "kernel.yama.ptrace_scope is 3, which only a reboot changes",
            Some(2) if !root => "kernel.yama.ptrace_scope is 2; run: sudo timewise …",
            Some(1) if !root => {
                "kernel.yama.ptrace_scope is 1; run: sudo sysctl kernel.yama.ptrace_scope=0, or sudo timewise …"
            }
            _ if !root => "it is not yours to trace; run: sudo timewise …",
            _ => "tracing is forbidden here; in a container: docker run --cap-add SYS_PTRACE …",
        };
        AttachError::Refused { pid, why: why.into(), cause }
    }
}

/// How long is waited for a process that is being given back.
const GIVING_BACK: Duration = Duration::from_secs(10);

/// How often is looked whether that is done.
const GLANCE: Duration = Duration::from_millis(5);

/// What becomes of attaching to a process: as long as somebody gives that back, it is tried again.
///
/// # Errors
/// Those of attaching; [`AttachError::BeingGivenBack`] if that takes too long.
pub fn once_given_back<T>(mut attach: impl FnMut() -> Result<T, AttachError>) -> Result<T, AttachError> {
    let begun = Instant::now();
    loop {
        match attach() {
            Err(AttachError::BeingGivenBack { .. }) if begun.elapsed() < GIVING_BACK => {
                std::thread::sleep(GLANCE);
            }
            done => return done,
        }
    }
}

/// Mappings that what is put into a program may need, of code in many modules.
const MAPPINGS: usize = 64;

/// Looks, without touching it, whether process `pid` can be taken over and counted.
///
/// # Errors
/// Why not.
pub fn check(pid: i32) -> Result<(), AttachError> {
    unfit(pid).map_or(Ok(()), Err)
}

/// Looks, without touching it, whether process `pid` may have as many mappings more as what is put into programs takes.
///
/// # Errors
/// [`AttachError::Unfit`] if not.
pub fn check_room(pid: i32) -> Result<(), AttachError> {
    let most =
        fs::read_to_string("/proc/sys/vm/max_map_count").ok().and_then(|text| text.trim().parse().ok());
    // What the system refuses to tell it refuses to whoever attaches, too.
    let (Ok(mapped), Some(most)) = (maps::ranges(pid), most) else { return Ok(()) };
    let has_room = mapped.len() + MAPPINGS <= most;
    let why = || {
        let twice = 2 * most;
        format!(
            "it has {} mappings, and may have {most}: sysctl vm.max_map_count={twice} allows more",
            mapped.len()
        )
    };
    if has_room { Ok(()) } else { Err(AttachError::Unfit { pid, why: why() }) }
}

/// Looks, without touching it, whether threads of process `pid` can be stopped for a moment.
///
/// # Errors
/// Why not.
pub fn check_stops(pid: i32) -> Result<(), AttachError> {
    // The system gives its memory to whom it lets trace it.
    match fs::File::open(format!("/proc/{pid}/mem")) {
        Err(cause) => Err(AttachError::refused(pid, cause)),
        Ok(_) => Ok(()),
    }
}

/// What process `pid` is.
///
/// # Errors
/// [`AttachError::NotFound`], or [`AttachError::Refused`] if the system does not tell us: it is another user's, say.
pub fn subject(pid: i32) -> Result<Subject, AttachError> {
    tells_of_ours(pid)?;
    let subject = Subject::of(pid as u32).map_err(|cause| match lives(pid) {
        true => AttachError::forbidden(pid, cause),
        false => AttachError::not_seen(pid),
    })?;
    let executable =
        fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default().into_os_string().into_vec();
    Ok(Subject { command: without_title(subject.command, executable), ..subject })
}

/// A process's command. A program may have written something else over it, as a daemon does that says what it is doing
/// ("nginx: master process nginx -c /etc/nginx.conf"): that is one word of several then, and no path. What such a
/// process executes stands before it.
fn without_title(command: Vec<Vec<u8>>, mut executable: Vec<u8>) -> Vec<Vec<u8>> {
    // So the kernel names a file that another has replaced since.
    const GONE: &[u8] = b" (deleted)";
    executable.truncate(executable.strip_suffix(GONE).unwrap_or(&executable).len());
    let name = |path: &[u8]| path.rsplit(|&byte| byte == b'/').next().unwrap_or_default().to_vec();
    let first = command.first().map_or(&[][..], |word| word);
    let own = name(&executable);
    if own.is_empty() || name(first) == own || !first.contains(&b' ') {
        return command;
    }
    let title = first.strip_prefix(&own[..]).map_or(first, |title| title.strip_prefix(b":").unwrap_or(title));
    vec![executable, title.trim_ascii().to_vec()]
}

/// Whether what `/proc` says of a process `pid` is said of the one that we mean.
fn tells_of_ours(pid: i32) -> Result<(), AttachError> {
    match machine::proc_is_ours() {
        true => Ok(()),
        false => Err(AttachError::Unfit { pid, why: machine::PROC_OF_OTHERS.into() }),
    }
}

/// Whether there is a process `pid` that has memory, and so code.
///
/// # Errors
/// [`AttachError::NotFound`], or that it is the kernel's, at its end, or a thread of another.
pub fn exists(pid: i32) -> Result<(), AttachError> {
    tells_of_ours(pid)?;
    match Status::of_process(pid) {
        Some(status) if status.ended => Err(AttachError::NotFound(pid)),
        Some(status) if status.is_at_its_end() => check(pid),
        Some(_) => {
            let status = fs::read(format!("/proc/{pid}/status")).unwrap_or_default();
            let why = thread_of_another(pid, &String::from_utf8_lossy(&status));
            why.map_or(Ok(()), |why| Err(AttachError::Unfit { pid, why }))
        }
        None => Err(AttachError::not_seen(pid)),
    }
}

/// Whether process `pid` still runs, and is not about to end. One that cannot be looked at, for want of descriptors, is
/// taken to.
pub fn lives(pid: i32) -> bool {
    match fs::read(format!("/proc/{pid}/stat")) {
        Ok(line) => Status::parse(&line).is_some_and(|status| !status.is_at_its_end()),
        Err(error) => !matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH)),
    }
}

fn unfit(pid: i32) -> Option<AttachError> {
    if let Err(error) = tells_of_ours(pid) {
        return Some(error);
    }
    // Before its status, which would name whoever is done meanwhile as somebody who stays.
    if let Some(by) = tracers(pid).find(|&tracer| keeper::is_orphan(tracer)) {
        return Some(AttachError::BeingGivenBack { pid, by });
    }
    let Ok(status) = fs::read(format!("/proc/{pid}/status")) else {
        return Some(AttachError::not_seen(pid));
    };
    // The name in it may be of any bytes.
    let status = String::from_utf8_lossy(&status);
    let frozen = || {
        let why = "its control group is frozen (docker pause, systemctl freeze); thaw it first";
        control_groups::is_frozen(pid).then(|| why.to_string())
    };
    let why = why_unfit(pid, keeper::is_ours(pid), &status);
    if why.is_none() && restricted::is_further_than_ours(pid) {
        return Some(AttachError::Restricted(pid));
    }
    why.or_else(frozen).map(|why| AttachError::Unfit { pid, why })
}

/// Who traces threads of process `pid`.
fn tracers(pid: i32) -> impl Iterator<Item = i32> {
    family::threads(pid).into_iter().filter_map(tracer)
}

/// Who traces thread `tid`.
pub fn tracer(tid: i32) -> Option<i32> {
    let status = fs::read(format!("/proc/{tid}/status")).ok()?;
    field(&String::from_utf8_lossy(&status), "TracerPid").parse().ok().filter(|&tracer| tracer != 0)
}

/// That `pid` is no process, but a thread of one.
fn thread_of_another(pid: i32, status: &str) -> Option<String> {
    let group = field(status, "Tgid").parse().ok().filter(|&group: &i32| group != pid)?;
    Some(format!("it is a thread of process {group}; name that"))
}

fn why_unfit(pid: i32, is_ours: bool, status: &str) -> Option<String> {
    let field = |name: &str| field(status, name);
    if let Some(why) = thread_of_another(pid, status) {
        return Some(why);
    }
    if is_ours {
        return Some("it is timewise itself".into());
    }
    if field("State").starts_with(['Z', 'X']) {
        return Some("it has ended, and waits for its parent to take note".into());
    }
    // A thread of the kernel's has no memory of its own, and descends from the first of them.
    if field("VmSize").is_empty() {
        let is_kernels = matches!(field("PPid"), "0" | "2");
        return Some(if is_kernels { "it is a thread of the kernel's" } else { "it is about to end" }.into());
    }
    let tracer = field("TracerPid");
    if !matches!(tracer, "" | "0") {
        return Some(format!("process {tracer} traces it already; end that first"));
    }
    if field("NSpid").split_whitespace().count() > 1 {
        return Some("it is in another PID namespace; run timewise inside it".into());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_calls_itself_is_not_what_it_executes() {
        let command = |words: &[&str], executable: &str| {
            let words = words.iter().map(|word| word.as_bytes().to_vec()).collect();
            let words = without_title(words, executable.into());
            words.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect::<Vec<_>>()
        };
        let nginx = ["nginx: master process nginx -c /tmp/n.conf", "", ""];
        assert_eq!(
            command(&nginx, "/usr/sbin/nginx"),
            ["/usr/sbin/nginx", "master process nginx -c /tmp/n.conf"]
        );
        assert_eq!(
            command(&["worker 3 of /srv/a", ""], "/usr/bin/perl (deleted)"),
            ["/usr/bin/perl", "worker 3 of /srv/a"]
        );
        for (words, executable) in [
            (&["/opt/my app/run", "", "x"][..], "/opt/my app/run"),
            (&["sh", "-c", "a b"], "/usr/bin/dash"),
            (&["-bash"], "/usr/bin/bash"),
            (&["a b/c"], ""),
        ] {
            assert_eq!(command(words, executable), words);
        }
    }

    #[test]
    fn each_obstacle_is_told() {
        let fit =
            "Name:\ta\nState:\tS (sleeping)\nTgid:\t7\nPPid:\t3\nNSpid:\t7\nTracerPid:\t0\nVmSize:\t  9 kB\n";
        assert_eq!(why_unfit(7, false, fit), None);
        for (from, to, said) in [
            ("Tgid:\t7", "Tgid:\t6", "process 6"),
            ("S (sl", "Z (sl", "has ended"),
            ("NSpid:\t7", "NSpid:\t7\t2", "namespace"),
            ("TracerPid:\t0", "TracerPid:\t12", "process 12 traces"),
            ("VmSize:\t  9 kB\n", "", "about to end"),
            ("PPid:\t3\nNSpid:\t7\nTracerPid:\t0\nVmSize:\t  9 kB\n", "PPid:\t2\n", "kernel's"),
        ] {
            let why = why_unfit(7, false, &fit.replace(from, to)).unwrap();
            assert!(why.contains(said), "{why}");
        }
        assert!(why_unfit(7, true, fit).unwrap().contains("itself"));
        assert!(matches!(check(i32::MAX), Err(AttachError::NotFound(_))));
    }

    #[test]
    fn a_thread_is_no_process() {
        let own = std::process::id();
        let threads_own = std::thread::spawn(|| {
            // SAFETY: takes no memory.
            let tid = unsafe { libc::gettid() };
            (exists(tid), check(tid))
        });
        let (exists_so, can_be_counted) = threads_own.join().unwrap();
        for refused in [exists_so, can_be_counted] {
            let why = refused.unwrap_err().to_string();
            assert!(why.ends_with(&format!("it is a thread of process {own}; name that")), "{why}");
        }
        assert!(exists(own as i32).is_ok());
    }
}
