//! Names of calls, signals, and of what they were about, each kept once.

use std::collections::HashMap;
use timewise_profile::NameId;

/// Names may take this much memory; what would come beyond has none.
const MOST_BYTES: usize = 256 << 20;

/// All names so far.
#[derive(Debug, Default)]
pub struct Names {
    ids: HashMap<Vec<u8>, NameId>,
    bytes: usize,
    /// Events whose object has no name for want of room.
    pub unnamed: u64,
}

impl Names {
    /// The number of a name; `None` if there is no room for it.
    pub fn id(&mut self, name: &[u8]) -> Option<NameId> {
        if let Some(&id) = self.ids.get(name) {
            return Some(id);
        }
        if self.bytes + name.len() > MOST_BYTES {
            self.unnamed += 1;
            return None;
        }
        self.bytes += name.len();
        let id = NameId(self.ids.len() as u32);
        self.ids.insert(name.to_vec(), id);
        Some(id)
    }

    /// All of them, in the order of their numbers.
    pub fn into_rows(self) -> Vec<Vec<u8>> {
        let mut rows = vec![Vec::new(); self.ids.len()];
        for (name, id) in self.ids {
            rows[id.index()] = name;
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_have_one_number() {
        let mut names = Names::default();
        let [one, other, again] = [b"read", b"open", b"read"].map(|name| names.id(name).unwrap());
        assert_eq!((one, other), (again, NameId(1)));
        assert_eq!(names.into_rows(), [b"read", b"open"]);
    }

    #[test]
    fn there_is_an_end_to_them() {
        let mut names = Names { bytes: MOST_BYTES - 4, ..Names::default() };
        assert!(names.id(b"read").is_some() && names.id(b"x").is_none() && names.id(b"read").is_some());
        assert_eq!(names.unnamed, 1);
    }
}
