//! The six arithmetic flags, as a set.

use iced_x86::RflagsBits;

/// A set of arithmetic flags: carry, parity, auxiliary, zero, sign, overflow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlagSet(u8);

impl FlagSet {
    /// No flag.
    pub const NONE: FlagSet = FlagSet(0);
    /// The carry flag, which `inc` and `dec` leave alone.
    pub const CARRY: FlagSet = FlagSet(1);
    /// The parity flag.
    pub const PARITY: FlagSet = FlagSet(2);
    /// The auxiliary flag, which hardly anything reads.
    pub const AUXILIARY: FlagSet = FlagSet(4);
    /// The zero flag.
    pub const ZERO: FlagSet = FlagSet(8);
    /// The sign flag.
    pub const SIGN: FlagSet = FlagSet(16);
    /// The overflow flag.
    pub const OVERFLOW: FlagSet = FlagSet(32);
    /// All six.
    pub const ALL: FlagSet = FlagSet(0x3f);
    /// What `inc` writes: all but carry.
    pub const WRITTEN_BY_INC: FlagSet = FlagSet(0x3e);

    /// The set of flags that the decoder library's bits name; flags that are not arithmetic are dropped.
    pub(crate) fn from_library(bits: u32) -> FlagSet {
        let mut set = 0;
        for (bit, flag) in [
            (RflagsBits::CF, 1),
            (RflagsBits::PF, 2),
            (RflagsBits::AF, 4),
            (RflagsBits::ZF, 8),
            (RflagsBits::SF, 16),
            (RflagsBits::OF, 32),
        ] {
            if bits & bit != 0 {
                set |= flag;
            }
        }
        FlagSet(set)
    }

    /// The set as bits of its own.
    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    /// The set of such bits.
    pub(crate) const fn from_bits(bits: u8) -> FlagSet {
        FlagSet(bits)
    }

    /// Flags in either set.
    pub const fn union(self, other: FlagSet) -> FlagSet {
        FlagSet(self.0 | other.0)
    }

    /// Flags in this set and not in `other`.
    pub const fn without(self, other: FlagSet) -> FlagSet {
        FlagSet(self.0 & !other.0)
    }

    /// Flags in both sets.
    pub const fn intersection(self, other: FlagSet) -> FlagSet {
        FlagSet(self.0 & other.0)
    }

    /// Whether the sets share a flag.
    pub const fn intersects(self, other: FlagSet) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether no flag is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}
