//! Why this system does not let us trace programs of our own, and what would help.

use crate::machine;
use std::fmt;

/// A reason with its remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untraceable {
    /// Why.
    pub why: &'static str,
    /// The command that allows it.
    pub enable: &'static str,
}

impl fmt::Display for Untraceable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; run: {}", self.why, self.enable)
    }
}

impl Untraceable {
    /// Why `ptrace` was refused here.
    pub fn here() -> Untraceable {
        Untraceable::under(machine::yama_ptrace_scope())
    }

    fn under(yama_scope: Option<u32>) -> Untraceable {
        match yama_scope {
            Some(3..) => Untraceable {
                why: "kernel.yama.ptrace_scope is 3, which only a reboot changes",
                enable: "echo kernel.yama.ptrace_scope=1 | sudo tee /etc/sysctl.d/99-ptrace.conf && sudo reboot",
            },
            Some(2) => Untraceable {
                why: "kernel.yama.ptrace_scope is 2, which leaves it to administrators",
                enable: "sudo sysctl kernel.yama.ptrace_scope=1",
            },
            _ => Untraceable {
                why: "forbidden, as by the system call filter of a container",
                enable: "docker run --cap-add SYS_PTRACE …",
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scope_has_its_remedy() {
        let said = |scope| Untraceable::under(scope).to_string();
        assert!(said(Some(3)).contains("reboot"));
        assert!(said(Some(2)).ends_with("run: sudo sysctl kernel.yama.ptrace_scope=1"));
        for allowed in [None, Some(0), Some(1)] {
            assert!(said(allowed).contains("filter"), "{allowed:?}");
        }
    }
}
