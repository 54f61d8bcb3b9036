//! What follows from opcodes: the tables of [`super::quick`].

use crate::flags::FlagSet;

/// What follows from an opcode.
#[derive(Clone, Copy)]
pub struct Form(u16);

impl Form {
    /// Nothing is said of it.
    const OTHER: Form = Form(0);
    /// An instruction without operand bytes, that touches no flag.
    const PLAIN: Form = Form(1);
    /// A ModRM byte follows, with what belongs to it.
    pub const OPERAND: u16 = 2;
    /// An immediate of a byte follows.
    pub const BYTE: u16 = 4;
    /// An immediate of 4 bytes follows.
    pub const WORD: u16 = 8;
    /// Reads the flags of the condition that its last four bits name.
    pub const CONDITION: u16 = 0x10;
    /// Reads the carry flag.
    pub const CARRY_IN: u16 = 0x20;
    /// A group: the ModRM byte's middle says which instruction it is.
    pub const GROUP: u16 = 0x40;
    /// Control may go elsewhere.
    pub const TRANSFER: u16 = 0x80;
    /// Written flags stand above.
    const WRITTEN: u32 = 8;

    /// The same, from which more follows.
    pub const fn with(self, bits: u16) -> Form {
        Form(self.0 | bits | 1)
    }

    /// The same, if it writes flags, by which nothing was said of them yet.
    pub const fn writes(self, flags: FlagSet) -> Form {
        Form(self.0 | (flags.bits() as u16) << Form::WRITTEN)
    }

    /// Whether something follows from it.
    pub const fn has(self, bit: u16) -> bool {
        self.0 & bit != 0
    }

    /// Whether anything is said of it.
    pub const fn is_told(self) -> bool {
        self.0 != 0
    }

    /// The flags that it writes.
    pub const fn written(self) -> FlagSet {
        FlagSet::from_bits((self.0 >> Form::WRITTEN) as u8)
    }
}

const OPERAND: Form = Form::PLAIN.with(Form::OPERAND);
const GROUP: Form = OPERAND.with(Form::GROUP);
const TRANSFER: Form = Form::PLAIN.with(Form::TRANSFER);
/// What a multiplication writes.
pub const PRODUCT: FlagSet = FlagSet::CARRY.union(FlagSet::OVERFLOW);

/// Opcodes of one byte.
pub static ONE: [Form; 256] = {
    let mut forms = [Form::OTHER; 256];
    let mut at = 0;
    // add, or, adc, sbb, and, sub, xor, cmp
    while at < 0x40 {
        let carry = if at & 0x38 == 0x10 || at & 0x38 == 0x18 { Form::CARRY_IN } else { 0 };
        let form = Form::PLAIN.with(carry).writes(FlagSet::ALL);
        forms[at] = match at & 7 {
            0..4 => form.with(Form::OPERAND),
            4 => form.with(Form::BYTE),
            5 => form.with(Form::WORD),
            _ => Form::OTHER,
        };
        at += 1;
    }
    at = 0x50;
    while at < 0x60 {
        forms[at] = Form::PLAIN; // push, pop
        at += 1;
    }
    forms[0x63] = OPERAND; // movsxd
    forms[0x68] = Form::PLAIN.with(Form::WORD); // push
    forms[0x69] = OPERAND.with(Form::WORD).writes(PRODUCT); // imul
    forms[0x6a] = Form::PLAIN.with(Form::BYTE);
    forms[0x6b] = OPERAND.with(Form::BYTE).writes(PRODUCT);
    at = 0x70;
    while at < 0x80 {
        forms[at] = TRANSFER.with(Form::BYTE | Form::CONDITION); // jcc
        at += 1;
    }
    forms[0x80] = GROUP.with(Form::BYTE).writes(FlagSet::ALL);
    forms[0x81] = GROUP.with(Form::WORD).writes(FlagSet::ALL);
    forms[0x83] = forms[0x80];
    forms[0x84] = OPERAND.writes(FlagSet::ALL); // test
    forms[0x85] = forms[0x84];
    at = 0x88;
    while at < 0x8c {
        forms[at] = OPERAND; // mov
        at += 1;
    }
    forms[0x8d] = GROUP; // lea
    forms[0x90] = TRANSFER; // nop, unless there is a prefix
    forms[0x98] = Form::PLAIN; // cdqe
    forms[0x99] = Form::PLAIN; // cqo
    forms[0xa8] = Form::PLAIN.with(Form::BYTE).writes(FlagSet::ALL); // test
    forms[0xa9] = Form::PLAIN.with(Form::WORD).writes(FlagSet::ALL);
    at = 0xb0;
    while at < 0xb8 {
        forms[at] = Form::PLAIN.with(Form::BYTE); // mov
        forms[at + 8] = Form::PLAIN.with(Form::WORD);
        at += 1;
    }
    forms[0xc0] = GROUP.with(Form::BYTE); // shifts
    forms[0xc1] = forms[0xc0];
    forms[0xc3] = TRANSFER; // ret
    forms[0xc6] = GROUP.with(Form::BYTE); // mov
    forms[0xc7] = GROUP.with(Form::WORD);
    forms[0xc9] = Form::PLAIN; // leave
    forms[0xd0] = GROUP;
    forms[0xd1] = GROUP;
    forms[0xe8] = TRANSFER.with(Form::WORD); // call
    forms[0xe9] = TRANSFER.with(Form::WORD); // jmp
    forms[0xeb] = TRANSFER.with(Form::BYTE);
    forms[0xf6] = GROUP; // test, not, neg, mul, imul, div, idiv
    forms[0xf7] = GROUP;
    forms[0xfe] = GROUP; // inc, dec
    forms[0xff] = GROUP; // inc, dec, call, jmp, push
    forms
};

/// Opcodes of two bytes, of which the first is 0x0f, without a prefix.
pub static TWO: [Form; 256] = {
    let mut forms = of_integers();
    let mut at = 0x80;
    while at < 0x90 {
        forms[at] = TRANSFER.with(Form::WORD | Form::CONDITION); // jcc
        forms[at + 0x10] = OPERAND.with(Form::CONDITION); // setcc
        at += 1;
    }
    at = 0xc8;
    while at < 0xd0 {
        forms[at] = Form::PLAIN; // bswap
        at += 1;
    }
    forms[0xba] = GROUP.with(Form::BYTE).writes(FlagSet::CARRY); // bt, bts, btr, btc
    forms[0xc6] = OPERAND.with(Form::BYTE); // shufps
    among(
        forms,
        &[
            0x10, 0x11, 0x14, 0x28, 0x29, 0x51, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5a, 0x5c, 0x5d, 0x5e,
            0x5f,
        ],
    )
};

/// The same after prefix 0x66.
pub static TWO_66: [Form; 256] = {
    let mut forms = of_integers();
    forms[0x70] = OPERAND.with(Form::BYTE); // pshufd
    let forms = among(
        forms,
        &[
            0x10, 0x11, 0x14, 0x15, 0x28, 0x29, 0x51, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5a, 0x5b, 0x5c,
            0x5d, 0x5e, 0x5f,
        ],
    );
    among(
        forms,
        &[
            0x60, 0x61, 0x62, 0x64, 0x65, 0x66, 0x68, 0x69, 0x6a, 0x6c, 0x6d, 0x6e, 0x6f, 0x74, 0x75, 0x76,
            0x7e, 0x7f, 0xd4, 0xd6, 0xdb, 0xdf, 0xeb, 0xef, 0xf4, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe,
        ],
    )
};

/// The same after prefix 0xf3.
pub static TWO_F3: [Form; 256] = among(
    [Form::OTHER; 256],
    &[
        0x10, 0x11, 0x2a, 0x2c, 0x2d, 0x51, 0x58, 0x59, 0x5a, 0x5b, 0x5c, 0x5d, 0x5e, 0x5f, 0x6f, 0x7e, 0x7f,
        0xe6,
    ],
);

/// The same after prefix 0xf2.
pub static TWO_F2: [Form; 256] = among(
    [Form::OTHER; 256],
    &[0x10, 0x11, 0x2a, 0x2c, 0x2d, 0x51, 0x58, 0x59, 0x5a, 0x5c, 0x5d, 0x5e, 0x5f, 0xe6],
);

/// Those of two bytes that prefix 0x66 makes work on 16 bits, if it means anything.
const fn of_integers() -> [Form; 256] {
    let mut forms = [Form::OTHER; 256];
    let mut at = 0x40;
    while at < 0x50 {
        forms[at] = OPERAND.with(Form::CONDITION); // cmov
        at += 1;
    }
    forms[0x1f] = GROUP; // nop
    forms[0x2e] = OPERAND.writes(FlagSet::ALL); // ucomiss, ucomisd
    forms[0x2f] = forms[0x2e];
    forms[0xaf] = OPERAND.writes(PRODUCT); // imul
    among(forms, &[0xb6, 0xb7, 0xbe, 0xbf]) // movzx, movsx
}

/// Opcodes with an operand that touch no flag, added to others.
const fn among(mut forms: [Form; 256], opcodes: &[u8]) -> [Form; 256] {
    let mut at = 0;
    while at < opcodes.len() {
        forms[opcodes[at] as usize] = OPERAND;
        at += 1;
    }
    forms
}
