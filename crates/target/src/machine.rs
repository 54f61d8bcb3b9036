//! Facts about the machine that many need: its processors, its kernel, and the kernel's settings
//! that decide what a profiler may do.

use std::arch::x86_64::__cpuid;
use std::{fs, io};

/// Processor name as the system gives it; "unknown processor" if it gives none.
pub fn processor_name() -> String {
    cpuinfo("model name").unwrap_or_else(|| "unknown processor".into())
}

/// A core of which something is known beside its name. Of designs with two kinds of cores, as Alder Lake, it is the large
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Core {
    /// AMD Zen and Zen+.
    Zen,
    /// AMD Zen 4.
    Zen4,
    /// AMD Zen 5.
    Zen5,
    /// Intel Golden Cove, and what differs from it in little: Raptor Cove and Redwood Cove.
    GoldenCove,
}

/// Name of the processor's core design for the ones we know, from its vendor, family and model.
pub fn microarchitecture() -> Option<&'static str> {
    here().map(|(name, _)| name)
}

/// The core that the processor has, if it is one of those.
pub fn core() -> Option<Core> {
    here()?.1
}

fn here() -> Option<(&'static str, Option<Core>)> {
    let number = |key| cpuinfo(key)?.parse::<u32>().ok();
    design(&cpuinfo("vendor_id")?, number("cpu family")?, number("model")?)
}

/// Family and model numbers as the vendors publish them.
fn design(vendor: &str, family: u32, model: u32) -> Option<(&'static str, Option<Core>)> {
    Some(match (vendor, family, model) {
        ("GenuineIntel", 6, 0x3c | 0x3f | 0x45 | 0x46) => ("Intel Haswell", None),
        ("GenuineIntel", 6, 0x3d | 0x47 | 0x4f | 0x56) => ("Intel Broadwell", None),
        ("GenuineIntel", 6, 0x4e | 0x5e | 0x55 | 0x8e | 0x9e) => ("Intel Skylake", None),
        ("GenuineIntel", 6, 0x6a | 0x6c | 0x7d | 0x7e) => ("Intel Ice Lake", None),
        ("GenuineIntel", 6, 0x8c | 0x8d) => ("Intel Tiger Lake", None),
        ("GenuineIntel", 6, 0x8f) => ("Intel Sapphire Rapids", Some(Core::GoldenCove)),
        ("GenuineIntel", 6, 0x97 | 0x9a) => ("Intel Alder Lake", Some(Core::GoldenCove)),
        ("GenuineIntel", 6, 0xad | 0xae) => ("Intel Granite Rapids", Some(Core::GoldenCove)),
        ("GenuineIntel", 6, 0xb7 | 0xba | 0xbf) => ("Intel Raptor Lake", Some(Core::GoldenCove)),
        ("GenuineIntel", 6, 0xcf) => ("Intel Emerald Rapids", Some(Core::GoldenCove)),
        ("AuthenticAMD", 0x17, 0x00..=0x2f) => ("AMD Zen", Some(Core::Zen)),
        ("AuthenticAMD", 0x17, 0x30..=0xff) => ("AMD Zen 2", None),
        ("AuthenticAMD", 0x19, 0x10..=0x1f | 0x60..=0xaf) => ("AMD Zen 4", Some(Core::Zen4)),
        ("AuthenticAMD", 0x19, _) => ("AMD Zen 3", None),
        ("AuthenticAMD", 0x1a, _) => ("AMD Zen 5", Some(Core::Zen5)),
        _ => return None,
    })
}

fn cpuinfo(key: &str) -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.split(':').next().is_some_and(|k| k.trim() == key))?;
    Some(line.split_once(':')?.1.trim().to_string())
}

/// Whether `/proc` tells of the processes that we see, by their numbers: not if it is another PID namespace's.
pub fn proc_is_ours() -> bool {
    let ourselves = fs::read_link("/proc/self").ok();
    ourselves.is_none_or(|link| link.to_str() == Some(&std::process::id().to_string()))
}

/// Why nothing can be observed where that is not so, and what to do.
pub const PROC_OF_OTHERS: &str = "/proc is that of another PID namespace, where processes have other numbers; mount \
     this one's: mount -t proc proc /proc";

/// Release of the running kernel, such as `6.1.0-18-amd64`.
pub fn kernel_release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease")
        .map_or_else(|_| "unknown".into(), |s| s.trim().to_string())
}

/// The time between two of the kernel's timer ticks, nanoseconds. Each tick is due at a multiple of it by the monotonic
/// clock, unless the kernel was started with `skew_tick`; none if it is older than 6.4, where they may fall anywhere.
pub fn timer_tick_ns() -> Option<u64> {
    let is_aligned = kernel_version().is_some_and(|version| version >= (6, 4));
    // The coarse clock goes on at each tick.
    let mut tick = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills the structure, which outlives the call.
    let answer = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut tick) };
    (is_aligned && answer == 0 && tick.tv_nsec > 0).then_some(tick.tv_nsec as u64)
}

/// Numbers of the processors online, ascending; 0 alone if the system does not tell.
pub fn online_processors() -> Vec<u32> {
    let listed = fs::read_to_string("/sys/devices/system/cpu/online").ok();
    let listed = listed.and_then(|text| parse_list(text.trim()));
    // Where `/sys` is hidden or not mounted.
    let accounts = || accounted(&fs::read_to_string("/proc/stat").ok()?);
    listed.or_else(accounts).unwrap_or_else(|| vec![0])
}

/// The processors that `/proc/stat` has accounts of: those online.
fn accounted(stat: &str) -> Option<Vec<u32>> {
    let numbers = stat.lines().filter_map(|line| line.strip_prefix("cpu")?.split(' ').next()?.parse().ok());
    Some(numbers.collect()).filter(|numbers: &Vec<u32>| !numbers.is_empty())
}

/// Lets the calling thread run on this processor only.
///
/// # Errors
/// The system's, if the processor is offline or not ours to use.
pub fn move_to_processor(processor: u32) -> io::Result<()> {
    // SAFETY: an all-zero set is a valid, empty one.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    if processor as usize >= libc::CPU_SETSIZE as usize {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: the number is within the set, which is live for both calls.
    let result = unsafe {
        libc::CPU_SET(processor as usize, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &set)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Reads lists such as `0-3,8`.
fn parse_list(text: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        numbers.extend(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?);
    }
    (!numbers.is_empty()).then_some(numbers)
}

/// The hypervisor that this machine is a guest of.
pub fn hypervisor() -> Option<String> {
    const HYPERVISOR_PRESENT: u32 = 1 << 31;
    if __cpuid(1).ecx & HYPERVISOR_PRESENT == 0 {
        return None;
    }
    let leaf = __cpuid(0x4000_0000);
    let signature: Vec<u8> = [leaf.ebx, leaf.ecx, leaf.edx].iter().flat_map(|r| r.to_le_bytes()).collect();
    let signature = String::from_utf8_lossy(&signature);
    Some(match signature.trim_end_matches('\0') {
        "KVMKVMKVM" => "KVM".into(),
        "Microsoft Hv" => "Hyper-V".into(),
        "VMwareVMware" => "VMware".into(),
        "XenVMMXenVMM" => "Xen".into(),
        "TCGTCGTCGTCG" => "QEMU".into(),
        other => other.to_string(),
    })
}

/// The kernel's `perf_event_paranoid`; `None` if it was built without performance events.
pub fn perf_event_paranoid() -> Option<i32> {
    setting("kernel/perf_event_paranoid")
}

/// The kernel's version, as far as its first two numbers; `None` if it does not begin with them.
pub fn kernel_version() -> Option<(u32, u32)> {
    version(&setting::<String>("kernel/osrelease")?)
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// Most samples a second that the kernel grants to one event.
pub fn perf_event_max_sample_rate() -> Option<u32> {
    setting("kernel/perf_event_max_sample_rate")
}

/// Yama's `ptrace_scope`; `None` without Yama.
pub fn yama_ptrace_scope() -> Option<u32> {
    setting("kernel/yama/ptrace_scope")
}

fn setting<T: std::str::FromStr>(name: &str) -> Option<T> {
    fs::read_to_string(format!("/proc/sys/{name}")).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The coarse clock stands still between ticks.
    #[test]
    fn a_tick_is_as_far_as_the_coarse_clock_goes_at_once() {
        let Some(tick) = timer_tick_ns() else { return };
        let now = |clock| {
            let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: fills the structure, which outlives the call.
            assert_eq!(unsafe { libc::clock_gettime(clock, &raw mut time) }, 0);
            time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
        };
        let coarse = now(libc::CLOCK_MONOTONIC_COARSE);
        let steps = std::iter::repeat_with(|| now(libc::CLOCK_MONOTONIC_COARSE)).map(|time| time - coarse);
        let step = steps.take(100_000_000).find(|&step| step > 0).unwrap();
        // Ticks that were missed make it several.
        let off = step % tick;
        assert!(off.min(tick - off) < tick / 10, "{step} of {tick}");
    }

    #[test]
    fn processors_agree_with_the_standard_library() {
        let available = std::thread::available_parallelism().unwrap().get();
        assert!(online_processors().len() >= available);
        assert_eq!(parse_list("0-2,5,8-9"), Some(vec![0, 1, 2, 5, 8, 9]));
        assert_eq!(parse_list(""), None);
        let stat = fs::read_to_string("/proc/stat").unwrap();
        assert_eq!(accounted(&stat), Some(online_processors()));
        assert_eq!(accounted("intr 1 2"), None);
    }

    #[test]
    fn designs_are_told_by_vendor_family_and_model() {
        let golden = Some(Core::GoldenCove);
        assert_eq!(design("GenuineIntel", 6, 207), Some(("Intel Emerald Rapids", golden)));
        assert_eq!(design("GenuineIntel", 6, 173), Some(("Intel Granite Rapids", golden)));
        assert_eq!(design("AuthenticAMD", 25, 17), Some(("AMD Zen 4", Some(Core::Zen4))));
        assert_eq!(design("AuthenticAMD", 25, 1), Some(("AMD Zen 3", None)));
        assert_eq!(design("Nobody", 6, 207), None);
    }

    #[test]
    fn a_release_begins_with_its_version() {
        assert_eq!(version("6.18.5-cloud"), Some((6, 18)));
        assert_eq!(version("4.9-rc1"), Some((4, 9)));
        assert_eq!(version("unknown"), None);
        assert!(kernel_version() > Some((2, 6)));
    }
}
