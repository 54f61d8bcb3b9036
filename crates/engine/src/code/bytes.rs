//! The bytes of code that were seen to be executed, for each module and version.

use std::collections::HashMap;
use timewise_profile::{CodeVersion, ModuleId, Place};

/// Few pages of a large program are executed, and of these not much: what is kept of them is in small parts.
const PAGE: usize = 256;

/// Bytes by place.
#[derive(Debug, Default)]
pub struct KnownBytes {
    pages: HashMap<(ModuleId, CodeVersion, u64), Box<Page>>,
}

#[derive(Debug)]
struct Page {
    bytes: [u8; PAGE],
    /// One bit for each byte.
    known: [u64; PAGE / 64],
}

impl Page {
    fn knows(&self, at: usize) -> bool {
        self.known[at / 64] >> (at % 64) & 1 == 1
    }
}

impl KnownBytes {
    /// Whether nothing that is known contradicts that `code` stands at `place`.
    pub fn agrees(&self, place: Place, code: &[u8]) -> bool {
        chunks(place, code.len()).all(|(page, at, from, length)| {
            let Some(page) = self.pages.get(&(place.module, place.version, page)) else { return true };
            let (bytes, code) = (&page.bytes[at..at + length], &code[from..from + length]);
            bytes == code || code.iter().zip(bytes).zip(at..).all(|((a, b), at)| a == b || !page.knows(at))
        })
    }

    /// Notes that `code` stands at `place`.
    pub fn learn(&mut self, place: Place, code: &[u8]) {
        for (page, at, from, length) in chunks(place, code.len()) {
            let key = (place.module, place.version, page);
            let new = || Box::new(Page { bytes: [0; PAGE], known: [0; PAGE / 64] });
            let page = self.pages.entry(key).or_insert_with(new);
            page.bytes[at..at + length].copy_from_slice(&code[from..from + length]);
            for at in at..at + length {
                page.known[at / 64] |= 1 << (at % 64);
            }
        }
    }

    /// The bytes at `place`; zero where nothing is known.
    pub fn read(&self, place: Place, length: usize) -> Vec<u8> {
        let mut code = vec![0; length];
        for (page, at, from, length) in chunks(place, length) {
            if let Some(page) = self.pages.get(&(place.module, place.version, page)) {
                code[from..from + length].copy_from_slice(&page.bytes[at..at + length]);
            }
        }
        code
    }
}

/// Splits a range at pages: number of the page, position in it, position in the range, and length.
fn chunks(place: Place, length: usize) -> impl Iterator<Item = (u64, usize, usize, usize)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let offset = place.offset.0.wrapping_add(from as u64);
        let at = (offset % PAGE as u64) as usize;
        let now = (length - from).min(PAGE - at);
        let chunk = (offset / PAGE as u64, at, from, now);
        from += now;
        (now > 0).then_some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_profile::Offset;

    #[test]
    fn code_across_pages_is_remembered_and_compared() {
        let mut known = KnownBytes::default();
        let place = |offset| Place { module: ModuleId(0), version: CodeVersion(0), offset: Offset(offset) };
        let end = 7 * PAGE as u64;
        known.learn(place(end - 2), &[1, 2, 3, 4]);
        assert_eq!(known.read(place(end - 3), 6), [0, 1, 2, 3, 4, 0]);
        assert!(known.agrees(place(end - 3), &[9, 1, 2]), "what is not known contradicts nothing");
        assert!(!known.agrees(place(end), &[3, 5]));
        assert!(known.agrees(Place { version: CodeVersion(1), ..place(end) }, &[3, 5]));
    }
}
