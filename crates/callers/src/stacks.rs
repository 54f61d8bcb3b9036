//! Call stacks as one tree: a stack that shares its outer frames with another shares their rows.

use std::collections::HashMap;
use timewise_profile::{Place, StackId, StackNode};

/// The tree, built from the outermost caller inwards.
#[derive(Debug, Default)]
pub struct Stacks {
    nodes: Vec<StackNode>,
    ids: HashMap<StackNode, StackId>,
}

impl Stacks {
    /// The row of a stack whose return places come innermost first; `None` for an empty one.
    pub fn intern(&mut self, innermost_first: &[Place]) -> Option<StackId> {
        let mut parent = None;
        for &return_place in innermost_first.iter().rev() {
            let node = StackNode { parent, return_place };
            let next = StackId(self.nodes.len() as u32);
            let id = *self.ids.entry(node).or_insert(next);
            if id == next {
                self.nodes.push(node);
            }
            parent = Some(id);
        }
        parent
    }

    /// All rows, in the order of their ids.
    pub fn into_vec(self) -> Vec<StackNode> {
        self.nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_profile::{CodeVersion, ModuleId, Offset};

    #[test]
    fn common_callers_are_stored_once() {
        let place = |offset| Place { module: ModuleId(0), version: CodeVersion(0), offset: Offset(offset) };
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
