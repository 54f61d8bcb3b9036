//! Which operands lie in memory.

use iced_x86::OpKind;

/// Whether an operand of this kind lies in memory.
pub fn in_memory(kind: OpKind) -> bool {
    in_replaceable_segment(kind)
        || matches!(kind, OpKind::MemoryESDI | OpKind::MemoryESEDI | OpKind::MemoryESRDI)
}

/// Whether it lies in memory, in a segment that a prefix can replace.
pub fn in_replaceable_segment(kind: OpKind) -> bool {
    matches!(
        kind,
        OpKind::Memory
            | OpKind::MemorySegSI
            | OpKind::MemorySegESI
            | OpKind::MemorySegRSI
            | OpKind::MemorySegDI
            | OpKind::MemorySegEDI
            | OpKind::MemorySegRDI
    )
}
