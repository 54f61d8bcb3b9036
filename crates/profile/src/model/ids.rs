//! Ids: indexes into the tables of a profile.

use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        pub struct $name(pub u32);

        impl $name {
            /// Position in the table that this id indexes.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// Index into [`crate::Profile::runs`].
    RunId,
    /// Index into [`crate::Profile::processes`].
    ProcessId,
    /// Index into [`crate::Profile::threads`].
    ThreadId,
    /// Index into [`crate::Profile::modules`].
    ModuleId,
    /// Index into [`crate::Profile::files`].
    FileId,
    /// Index into [`crate::Profile::functions`].
    FunctionId,
    /// Index into [`crate::Profile::os_names`].
    NameId,
    /// Index into [`crate::Profile::blocks`].
    BlockId,
    /// Index into [`crate::Profile::stacks`].
    StackId,
    /// Index into [`crate::Profile::intervals`].
    IntervalId,
    /// Index into [`crate::Profile::simulations`].
    SimulationId,
    /// Index into [`crate::Profile::simulated_threads`].
    SimulatedThreadId,
}
