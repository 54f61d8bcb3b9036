//! What a system call is about, read from a thread that stands where it enters it.

use crate::addresses;
use crate::calls::About;
use crate::descriptors::{Descriptors, plain_path};
use timewise_target::memory;

/// The kernel takes no longer path.
const LONGEST_PATH: usize = 4096;
/// Nor address.
const LONGEST_ADDRESS: u64 = 128;
/// Memory is mapped by pages of this, and read up to the end of one at a time.
const PAGE: u64 = 4096;

/// A thread that stands where it enters a call.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    /// Its process.
    pub pid: i32,
    /// Its number.
    pub tid: i32,
    /// The arguments of the call.
    pub arguments: [u64; 6],
}

impl Caller {
    /// What the call is about; `None` if it does not say, or what it points to cannot be read.
    pub fn object(self, about: About, descriptors: &mut Descriptors) -> Option<Vec<u8>> {
        match about {
            About::Nothing => None,
            About::Path(at) => self.path(at),
            About::At(folder, at) => self.path_below(folder, at, descriptors),
            About::Paths(from, to) => joined(self.path(from)?, self.path(to)?),
            About::BothAt => joined(self.path_below(0, 1, descriptors)?, self.path_below(2, 3, descriptors)?),
            About::Link => joined(self.path(0)?, self.path_below(1, 2, descriptors)?),
            About::Descriptor(at) => self.descriptor(at, descriptors),
            About::Address => self.address(1, 2).or_else(|| self.descriptor(0, descriptors)),
            About::MayHaveAddress => self.address(4, 5).or_else(|| self.descriptor(0, descriptors)),
            About::OnlyOne if self.arguments[1] == 1 => {
                let mut number = [0; size_of::<i32>()];
                let read = memory::read(self.tid, self.arguments[0], &mut number);
                (read == number.len())
                    .then(|| i32::from_ne_bytes(number))
                    .and_then(|number| descriptors.name(self.pid, self.tid, number))
            }
            About::OnlyOne => None,
            About::Mapped => {
                let is_anonymous = self.arguments[3] & libc::MAP_ANONYMOUS as u64 != 0;
                if is_anonymous { None } else { self.descriptor(4, descriptors) }
            }
            About::NewSocket => Some(addresses::of_new(self.arguments[0], self.arguments[1])),
        }
    }

    fn descriptor(self, at: usize, descriptors: &mut Descriptors) -> Option<Vec<u8>> {
        descriptors.name(self.pid, self.tid, self.arguments[at] as i32)
    }

    /// Where no path is given, the call is about the descriptor itself.
    fn path_below(self, folder: usize, at: usize, descriptors: &mut Descriptors) -> Option<Vec<u8>> {
        let path = match self.arguments[at] {
            0 => Vec::new(),
            _ => self.path(at)?,
        };
        let below = descriptors.below((self.pid, self.tid), self.arguments[folder] as i32, path);
        (!below.is_empty()).then_some(below)
    }

    fn path(self, at: usize) -> Option<Vec<u8>> {
        let mut path = Vec::new();
        while path.len() < LONGEST_PATH {
            let address = self.arguments[at].checked_add(path.len() as u64)?;
            let begin = path.len();
            path.resize(begin + (PAGE - address % PAGE) as usize, 0);
            let read = memory::read(self.tid, address, &mut path[begin..]);
            path.truncate(begin + read);
            if let Some(end) = path[begin..].iter().position(|byte| *byte == 0) {
                path.truncate(begin + end);
                return Some(plain_path(path, self.pid));
            }
            if read == 0 {
                return None;
            }
        }
        path.truncate(LONGEST_PATH);
        Some(path)
    }

    fn address(self, at: usize, length: usize) -> Option<Vec<u8>> {
        if self.arguments[at] == 0 {
            return None;
        }
        // Of the length, which is a 32-bit number, the kernel looks at no more.
        let mut bytes = vec![0; u64::from(self.arguments[length] as u32).min(LONGEST_ADDRESS) as usize];
        let read = memory::read(self.tid, self.arguments[at], &mut bytes);
        bytes.truncate(read);
        addresses::of_bytes(&bytes)
    }
}

/// From where to where.
fn joined(from: Vec<u8>, to: Vec<u8>) -> Option<Vec<u8>> {
    Some([&from[..], b" -> ", &to[..]].concat())
}
