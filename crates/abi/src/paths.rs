//! What the host asks to be done where control passes, so that paths through functions are counted.
//!
//! All code is named by the file that it comes from, by [`name`], and by offsets in that file: so a plan holds wherever
//! files are mapped, and in every process. Each thread has one register for the path that it is on, and counters of
//! its own for paths; the register of a function that calls is kept in a [`Waiting`] until the call returns.

/// A plan, in the shared file at [`crate::SharedHeader::paths`]; host, before the program's first instruction.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Where in the shared file the [`Record`]s lie, in order, and how many there are.
    pub records: [u64; 2],
    /// Likewise the [`Op`]s that they name.
    pub ops: [u64; 2],
    /// Likewise the [`Site`]s.
    pub sites: [u64; 2],
    /// Where in a thread area the counters of paths lie.
    pub counters: u64,
    /// Where in a thread area the [`Waiting`]s lie, up to its end.
    pub waiting: u64,
}

/// What is to be done at a place. Records are ordered by their fields.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Record {
    /// A [`kind`].
    pub kind: u64,
    /// The [`name`] of the file.
    pub file: u64,
    /// Offset in the file; of what control leaves, that behind its last byte.
    pub from: u64,
    /// Of [`kind::WITHIN`]: offset of what control comes to. Otherwise 0.
    pub to: u64,
    /// The first of its ops.
    pub first: u32,
    /// How many there are.
    pub count: u32,
    /// Of a call, or of where it returns to: its [`Site`], or [`crate::NONE`]. Of [`kind::LANDING`] and [`kind::EXIT`]: the
    /// function, or [`crate::NONE`] if it has no plan.
    pub site: u32,
    /// Keeps the layout free of implicit padding.
    pub reserved: u32,
}

/// Values of [`Record::kind`].
pub mod kind {
    /// From one block to another within an activation of a function, other than by the return of a call.
    pub const WITHIN: u64 = 1;
    /// Out of a function, from a block on.
    pub const EXIT: u64 = 2;
    /// Into a function, to a block.
    pub const ENTRY: u64 = 3;
    /// A call, whose function's register is to be kept.
    pub const CALL: u64 = 4;
    /// To where a call returns.
    pub const RETURN: u64 = 5;
    /// To where exceptions and long jumps land.
    pub const LANDING: u64 = 6;
    /// The end of a block of a function that has a plan; in place of operations, how many bytes it has.
    pub const KNOWN: u64 = 7;
}

/// Something to do.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Op {
    /// One of [`op`].
    pub kind: u32,
    /// Where in a thread area the counter or counters lie.
    pub place: u32,
    /// What is set or added.
    pub value: i32,
    /// How many counters there are; the one behind them is for paths without a number.
    pub limit: u32,
}

/// Values of [`Op::kind`].
pub mod op {
    /// The register is set to the value.
    pub const SET: u32 = 1;
    /// The value is added to it.
    pub const ADD: u32 = 2;
    /// A counter is increased.
    pub const INCREMENT: u32 = 3;
    /// A counter of an array is increased, by the register plus the value.
    pub const COUNT: u32 = 4;
    /// A counter of a [`super::table`] is increased, by the register plus the value.
    pub const HASH: u32 = 5;
    /// The one of the value.
    pub const HASH_THIS: u32 = 6;
}

/// What is added to all numbers in the register: so it is never below 0, unless poisoned.
pub const BIAS: i32 = 1 << 30;

/// What the register holds on paths that have no number: whatever is added or taken away, it stays below 0, also in the
/// 32 bits of a [`Waiting`].
pub const POISON: i32 = -BIAS;

// No sum of what is added or taken away is further from 0 than numbers go.
const _: () = assert!(POISON.checked_sub(BIAS).is_some() && POISON + BIAS <= 0);

/// A call out of a function whose register is kept.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// What is to be done if the call does not return: the first op.
    pub first: u32,
    /// How many there are.
    pub count: u32,
    /// The function.
    pub function: u32,
    /// Keeps the layout free of implicit padding.
    pub reserved: u32,
}

/// A call that has not returned, and whose function's register is kept. The first of a thread stands for none. A handler
/// is two: the second says where the thread goes on behind it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Address of the return address on the program's stack; for a handler, of what it returns to, and in the second of
    /// it the address at which the thread goes on.
    pub slot: u64,
    /// The register; in the second of a handler the block behind which the thread was, if it was behind one.
    pub register: i32,
    /// The [`Site`]; for a handler [`HANDLER`], in its second [`BEHIND`].
    pub site: u32,
}

/// In [`Waiting::site`]: a handler, of which the rest is the number of the [`Record`] that says how the function is
/// left that it interrupted, plus 1, or 0 if there is none.
pub const HANDLER: u32 = 1 << 31;

/// In [`Waiting::site`]: what follows on a handler, of which the rest is the kind of edge that the thread was about to
/// take, or 0 if it was in the middle of a block.
pub const BEHIND: u32 = 1 << 30;

impl Waiting {
    /// Whether it is the first of a handler.
    pub fn is_handler(&self) -> bool {
        self.site & (HANDLER | BEHIND) == HANDLER
    }

    /// Whether it is the second of a handler.
    pub fn is_second(&self) -> bool {
        self.site & (HANDLER | BEHIND) == HANDLER | BEHIND
    }
}

/// A table of counters that are found by hashing.
pub mod table {
    /// How many counters it has.
    pub const SLOTS: u32 = 1 << 16;
    /// Most that are used: beyond, paths count as ones without a number.
    pub const MOST: u32 = SLOTS / 4 * 3;
    /// Where the counters lie; the numbers, plus 1, that they are of lie before. The one behind them is for paths without
    /// a number.
    pub const COUNTS: u32 = 8 * SLOTS;
    /// Where it lies.
    pub const COLD: u32 = COUNTS + 8 * SLOTS;
    /// Where it stands how many are used.
    pub const USED: u32 = COLD + 8;
    /// Bytes of all.
    pub const SIZE: u32 = USED + 8;

    /// Where the search for a number begins.
    pub fn start(key: u32) -> u32 {
        let high = key.swap_bytes() & 0xffff;
        (9 * high).wrapping_add(key) & (SLOTS - 1)
    }
}

/// What files are told apart by: FNV-1a, which is not stored, as this crate uses no other.
pub fn name(path: &[u8]) -> u64 {
    path.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
