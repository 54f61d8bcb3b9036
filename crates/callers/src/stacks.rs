//! Call stacks as one tree: a stack that shares its outer frames with another shares their rows.

use std::collections::HashMap;
use timewise_profile::{Place, StackId, StackNode};

/// Rows that are kept at most: with what finds them some 300 MB.
const MOST_NODES: usize = 1 << 22;

/// The tree, built from the outermost caller inwards.
#[derive(Debug)]
pub struct Stacks {
    nodes: Vec<StackNode>,
    ids: HashMap<StackNode, StackId>,
    most: usize,
    /// Stacks for which there was no room.
    pub left_out: u64,
}

impl Default for Stacks {
    fn default() -> Stacks {
        Stacks { nodes: Vec::new(), ids: HashMap::new(), most: MOST_NODES, left_out: 0 }
    }
}

impl Stacks {
    /// The row of a stack whose return places come innermost first; `None` for an empty one, and where there is no room.
    pub fn intern(&mut self, innermost_first: &[Place]) -> Option<StackId> {
        let mut parent = None;
        for &return_place in innermost_first.iter().rev() {
            let node = StackNode { parent, return_place };
            let known = self.ids.get(&node).copied();
            if known.is_none() && self.nodes.len() >= self.most {
                self.left_out += 1;
                return None;
            }
            let id = known.unwrap_or_else(|| {
                let next = StackId(self.nodes.len() as u32);
                self.nodes.push(node);
                self.ids.insert(node, next);
                next
            });
            parent = Some(id);
        }
        parent
    }

    /// All rows, in the order of their ids.
    pub fn into_vec(self) -> Vec<StackNode> {
        self.nodes
    }
}

/// What must be said of so many stacks for which there was no room; nothing of none.
pub fn stacks_left_out(stacks: u64) -> Option<String> {
    (stacks > 0)
        .then(|| format!("{stacks} call stacks were not kept: all different ones take too much memory; record less at a time"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_profile::{CodeVersion, ModuleId, Offset};

    fn place(offset: u64) -> Place {
        Place { module: ModuleId(0), version: CodeVersion(0), offset: Offset(offset) }
    }

    #[test]
    fn what_has_no_room_is_counted() {
        let mut stacks = Stacks { most: 2, ..Stacks::default() };
        let kept = stacks.intern(&[place(2), place(1)]);
        assert_eq!((stacks.intern(&[place(3), place(1)]), stacks.left_out), (None, 1));
        assert_eq!((stacks.intern(&[place(2), place(1)]), stacks.left_out), (kept, 1));
    }

    #[test]
    fn common_callers_are_stored_once() {
        let mut stacks = Stacks::default();
        let deep = stacks.intern(&[place(3), place(2), place(1)]);
        let other = stacks.intern(&[place(4), place(2), place(1)]);
        assert_eq!(stacks.intern(&[place(3), place(2), place(1)]), deep);
        assert_eq!(stacks.intern(&[]), None);
        let nodes = stacks.into_vec();
        assert_eq!(nodes.len(), 4);
        let [deep, other] = [deep, other].map(|id| nodes[id.unwrap().index()]);
        assert_eq!(deep.parent, other.parent);
        let walked: Vec<u64> =
            std::iter::successors(Some(deep), |node| node.parent.map(|id| nodes[id.index()]))
                .map(|node| node.return_place.offset.0)
                .collect();
        assert_eq!(walked, [3, 2, 1]);
    }
}
