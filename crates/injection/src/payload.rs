//! The in-target runtime as it is mapped into a program: loaded and relocated once, on the host.

use object::read::elf::ElfFile64;
use object::{Object, ObjectSegment, RelocationFlags};

static FILE: &[u8] = include_bytes!(env!("TIMEWISE_PAYLOAD"));

/// Where the runtime lies in every program: far from where the kernel, the loader and sanitisers put
/// things.
pub const BASE: u64 = timewise_abi::IMAGE;

/// The runtime, ready to be mapped at [`BASE`].
#[derive(Debug)]
pub struct Payload {
    /// Its bytes from [`BASE`] on, a whole number of pages.
    pub image: Vec<u8>,
    /// Offset of the first writable page; what lies before is code and constants.
    pub writable_from: u64,
    /// Address of its first instruction.
    pub entry: u64,
}

/// The image is unusable: a fault of the build.
#[derive(Debug, thiserror::Error)]
#[error("the in-target runtime is unusable: {0}; rebuild timewise")]
pub struct PayloadFault(String);

/// Loads the runtime.
///
/// # Errors
/// A fault of the build.
pub fn load() -> Result<Payload, PayloadFault> {
    let fault = |what: &str| PayloadFault(what.to_string());
    let elf = ElfFile64::<object::LittleEndian>::parse(FILE).map_err(|e| fault(&e.to_string()))?;
    let end = elf.segments().map(|s| s.address() + s.size()).max().ok_or_else(|| fault("no segments"))?;
    let mut image = vec![0; end.next_multiple_of(4096) as usize];
    let mut writable_from = image.len() as u64;
    for segment in elf.segments() {
        let data = segment.data().map_err(|e| fault(&e.to_string()))?;
        let at = segment.address() as usize;
        image[at..at + data.len()].copy_from_slice(data);
        if segment.permissions().writable() {
            writable_from = writable_from.min(segment.address() & !0xfff);
        }
    }
    for (place, relocation) in elf.dynamic_relocations().into_iter().flatten() {
        let RelocationFlags::Elf { r_type: object::elf::R_X86_64_RELATIVE } = relocation.flags() else {
            return Err(fault("a relocation that is not relative"));
        };
        let value = BASE.wrapping_add(relocation.addend() as u64);
        image[place as usize..place as usize + 8].copy_from_slice(&value.to_le_bytes());
    }
    Ok(Payload { image, writable_from, entry: BASE + elf.entry() })
}

#[cfg(test)]
mod tests {
    #[test]
    fn code_and_data_share_no_page() {
        let payload = super::load().unwrap();
        assert!(payload.writable_from > payload.entry - super::BASE);
        assert!(payload.writable_from < payload.image.len() as u64);
        // Of what is left of the page, the decoder's tables take 740 KiB.
        assert!(timewise_abi::LARGE_PAGE - payload.image.len() as u64 > 900 << 10);
    }
}
