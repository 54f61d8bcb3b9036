//! An executable file made of code and data, without a linker.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Where code and data lie, and whether the code may be written to.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Address of the code.
    pub code: u64,
    /// Address of the data.
    pub data: u64,
    /// Whether the code is writable.
    pub writable: bool,
}

/// Every kind of place that matters to a translator: in reach of 32-bit addresses, in reach of a code
/// cache nearby, with data out of its reach, and with code that may change.
pub const LAYOUTS: [Layout; 5] = [
    Layout { code: 0x40_0000, data: 0x60_0000, writable: false },
    Layout { code: 0x5555_0000_0000, data: 0x5555_0020_0000, writable: false },
    Layout { code: 0x1000_0000_0000, data: 0x1000_7f00_0000, writable: false },
    Layout { code: 0x40_0000, data: 0x60_0000, writable: true },
    Layout { code: 0x1000_0000_0000, data: 0x1000_7f00_0000, writable: true },
];

const HEADER: u64 = 64;
const SEGMENT_HEADER: u64 = 56;
const PAGE: u64 = 4096;

/// Writes an executable whose first instruction is that of `code`, with `data` zero bytes.
///
/// # Panics
/// If the file cannot be written.
pub fn write(path: &Path, layout: Layout, code: &[u8], data: u64) {
    let words = |values: &[u64]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0\x01\0\0\0".to_vec();
    file.extend(words(&[layout.code, HEADER, 0]));
    file.extend([0, 0, 0, 0, HEADER as u8, 0, SEGMENT_HEADER as u8, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    let segment = |flags: u32, address: u64, size: [u64; 2], offset: u64| {
        let mut header = 1u32.to_le_bytes().to_vec();
        header.extend(flags.to_le_bytes());
        header.extend(words(&[offset, address, address, size[0], size[1], PAGE]));
        header
    };
    let size = code.len() as u64;
    let code_flags = if layout.writable { 7 } else { 5 };
    file.extend(segment(code_flags, layout.code, [size, size], PAGE));
    file.extend(segment(6, layout.data, [0, data], 0));
    file.resize(PAGE as usize, 0);
    file.extend_from_slice(code);
    fs::write(path, file).expect("a temporary file");
    fs::set_permissions(path, Permissions::from_mode(0o755)).expect("a temporary file");
}
