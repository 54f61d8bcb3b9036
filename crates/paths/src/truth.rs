//! Counting paths as they are, block by block, without numbers.

use crate::accuracy::PathProfile;
use crate::decoder::Path;

/// The paths of a routine, as a tree of their beginnings.
#[derive(Clone, Debug)]
pub struct Truth {
    beginnings: Vec<Beginning>,
}

/// The first blocks of some paths.
#[derive(Clone, Debug)]
struct Beginning {
    /// Those but for the last block.
    before: u32,
    block: u32,
    longer: Vec<(u32, u32)>,
    /// Paths that ended here: those at a cut, and those that left the routine.
    ended: [u64; 2],
}

/// The first blocks of a path that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun(u32);

impl Begun {
    /// A path that begins where control enters the routine, without its first block.
    pub const ENTERED: Begun = Begun(0);
    /// A path that begins behind a cut, likewise.
    pub const RESUMED: Begun = Begun(1);
}

impl Default for Truth {
    fn default() -> Truth {
        let empty = Beginning { before: 0, block: 0, longer: Vec::new(), ended: [0; 2] };
        Truth { beginnings: vec![empty.clone(), empty] }
    }
}

impl Truth {
    /// A path goes on with a block.
    pub fn step(&mut self, path: Begun, block: u32) -> Begun {
        let longer = &self.beginnings[path.0 as usize].longer;
        if let Some(&(_, known)) = longer.iter().find(|(next, _)| *next == block) {
            return Begun(known);
        }
        let new = self.beginnings.len() as u32;
        self.beginnings[path.0 as usize].longer.push((block, new));
        self.beginnings.push(Beginning { before: path.0, block, longer: Vec::new(), ended: [0; 2] });
        Begun(new)
    }

    /// A path ends: by leaving the routine, or at a cut.
    pub fn end(&mut self, path: Begun, left: bool) {
        self.beginnings[path.0 as usize].ended[usize::from(left)] += 1;
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.beginnings.iter().all(|beginning| beginning.ended == [0; 2])
    }

    /// All paths with their counts.
    pub fn profile(&self) -> PathProfile {
        let mut profile = PathProfile::new();
        for at in 2..self.beginnings.len() as u32 {
            for left in [false, true] {
                let count = self.beginnings[at as usize].ended[usize::from(left)];
                if count > 0 {
                    let (blocks, entered) = self.blocks(at);
                    profile.insert(Path { blocks, entered, left }, count);
                }
            }
        }
        profile
    }

    fn blocks(&self, mut at: u32) -> (Vec<u32>, bool) {
        let mut blocks = Vec::new();
        while at > Begun::RESUMED.0 {
            blocks.push(self.beginnings[at as usize].block);
            at = self.beginnings[at as usize].before;
        }
        blocks.reverse();
        (blocks, at == Begun::ENTERED.0)
    }
}
