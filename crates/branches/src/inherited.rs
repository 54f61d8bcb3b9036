//! What the events have in common that a process's first thread has and all that it makes inherit.

use timewise_target::perf::sys;

/// Attributes of an event that sends `data` with `SIGTRAP` to the thread that it concerns. Other processes do not
/// inherit it, and a successful `execve` removes it.
pub fn attributes(data: u64) -> sys::perf_event_attr {
    let mut attributes = sys::perf_event_attr::default();
    attributes.sig_data = data;
    attributes.set_exclude_kernel(1);
    attributes.set_exclude_hv(1);
    attributes.set_inherit(1);
    attributes.set_inherit_thread(1);
    attributes.set_remove_on_exec(1);
    attributes.set_sigtrap(1);
    attributes
}
