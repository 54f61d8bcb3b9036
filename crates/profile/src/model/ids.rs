//! Ids: indexes into the tables of a profile.

use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
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
    /// Index into [`Profile::runs`].
    RunId,
    /// Index into [`Profile::processes`].
    ProcessId,
    /// Index into [`Profile::threads`].
    ThreadId,
    /// Index into [`Profile::modules`].
    ModuleId,
    /// Index into [`Profile::files`].
    FileId,
    /// Index into [`Profile::functions`].
    FunctionId,
    /// Index into [`Profile::blocks`].
    BlockId,
    /// Index into [`Profile::stacks`].
    StackId,
}
