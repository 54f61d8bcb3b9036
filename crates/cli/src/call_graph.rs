//! The argument that says how callers are found, in the spelling of `perf record`.

use std::str::FromStr;
use timewise_sampler::{CallGraph, Options};

/// `auto`, `fp`, `dwarf`, `dwarf,BYTES` or `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallGraphArgument {
    call_graph: CallGraph,
    stack_bytes: Option<u32>,
}

/// What the kernel grants in one sample.
const STACK_BYTES: std::ops::RangeInclusive<u32> = 8..=65_528;

impl FromStr for CallGraphArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<CallGraphArgument, String> {
        let (how, bytes) = match text.split_once(',') {
            Some((how, bytes)) => (how, Some(bytes)),
            None => (text, None),
        };
        let call_graph = match how {
            "auto" => CallGraph::Automatic,
            "fp" => CallGraph::FramePointers,
            "dwarf" => CallGraph::UnwindTables,
            "none" => CallGraph::Off,
            "lbr" => return Err("branch records (lbr) are not used for call stacks; use auto".into()),
            _ => return Err("the ways are auto, fp, dwarf and none".into()),
        };
        let stack_bytes = match bytes {
            None => None,
            Some(bytes) if matches!(call_graph, CallGraph::Automatic | CallGraph::UnwindTables) => {
                let number = bytes.parse().ok().filter(|bytes| STACK_BYTES.contains(bytes));
                Some(number.ok_or("of the stack, 8 to 65528 bytes can be copied")?)
            }
            Some(_) => return Err(format!("with {how}, nothing of the stack is copied")),
        };
        Ok(CallGraphArgument { call_graph, stack_bytes })
    }
}

impl CallGraphArgument {
    /// Tells the sampler.
    pub fn put_into(self, options: &mut Options) {
        options.call_graph = self.call_graph;
        options.stack_bytes = self.stack_bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perfs_spelling_is_understood() {
        let read =
            |text: &str| text.parse().map(|read: CallGraphArgument| (read.call_graph, read.stack_bytes));
        assert_eq!(read("auto"), Ok((CallGraph::Automatic, None)));
        assert_eq!(read("dwarf,4096"), Ok((CallGraph::UnwindTables, Some(4096))));
        assert_eq!(read("fp"), Ok((CallGraph::FramePointers, None)));
        assert_eq!(read("none"), Ok((CallGraph::Off, None)));
        for wrong in ["", "all", "fp,4096", "dwarf,", "dwarf,0", "dwarf,70000", "lbr"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
