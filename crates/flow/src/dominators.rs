//! Dominators of a graph (Cooper, Harvey and Kennedy: A Simple, Fast Dominance Algorithm).

/// Immediate dominators under a virtual root that leads to every one of several entries.
#[derive(Clone, Debug)]
pub struct Dominators {
    /// Immediate dominator of each node; `ROOT` below the virtual root, `UNREACHED` for nodes that no
    /// entry leads to.
    above: Vec<u32>,
    /// Position in reverse postorder, to compare nodes by.
    order: Vec<u32>,
    depth: Vec<u32>,
}

const ROOT: u32 = u32::MAX;
const UNREACHED: u32 = u32::MAX - 1;

impl Dominators {
    /// Computes the dominators of all nodes that `entries` lead to.
    pub fn new(successors: &[Vec<u32>], predecessors: &[Vec<u32>], entries: &[u32]) -> Dominators {
        let postorder = postorder(successors, entries);
        let size = successors.len();
        let mut order = vec![UNREACHED; size];
        for (position, &node) in postorder.iter().rev().enumerate() {
            order[node as usize] = position as u32;
        }
        let mut above = vec![UNREACHED; size];
        for &entry in entries {
            above[entry as usize] = ROOT;
        }
        let mut changed = true;
        while changed {
            changed = false;
            for &node in postorder.iter().rev() {
                if above[node as usize] == ROOT {
                    continue;
                }
                let mut best = UNREACHED;
                for &from in &predecessors[node as usize] {
                    if above[from as usize] != UNREACHED {
                        best = if best == UNREACHED { from } else { meet(&above, &order, best, from) };
                    }
                    if best == ROOT {
                        break;
                    }
                }
                if above[node as usize] != best {
                    above[node as usize] = best;
                    changed = true;
                }
            }
        }
        let mut depth = vec![0; size];
        for &node in postorder.iter().rev() {
            let up = above[node as usize];
            depth[node as usize] = if up == ROOT { 1 } else { depth[up as usize] + 1 };
        }
        Dominators { above, order, depth }
    }

    /// Whether every way from an entry to `node` goes through `over` (also when they are the same).
    pub fn dominates(&self, over: u32, mut node: u32) -> bool {
        if !self.reached(node) || !self.reached(over) {
            return false;
        }
        while self.depth[node as usize] > self.depth[over as usize] {
            node = self.above[node as usize];
        }
        node == over
    }

    /// Whether an entry leads to `node`.
    pub fn reached(&self, node: u32) -> bool {
        self.order[node as usize] != UNREACHED
    }
}

fn meet(above: &[u32], order: &[u32], mut a: u32, mut b: u32) -> u32 {
    while a != b {
        if order[a as usize] < order[b as usize] {
            b = above[b as usize];
        } else {
            a = above[a as usize];
        }
        if a == ROOT || b == ROOT {
            return ROOT;
        }
    }
    a
}

fn postorder(successors: &[Vec<u32>], entries: &[u32]) -> Vec<u32> {
    let mut seen = vec![false; successors.len()];
    let mut order = Vec::with_capacity(successors.len());
    for &entry in entries {
        if std::mem::replace(&mut seen[entry as usize], true) {
            continue;
        }
        let mut calls = vec![(entry, 0)];
        while let Some((node, next)) = calls.last_mut() {
            match successors[*node as usize].get(*next) {
                Some(&to) => {
                    *next += 1;
                    if !std::mem::replace(&mut seen[to as usize], true) {
                        calls.push((to, 0));
                    }
                }
                None => {
                    order.push(*node);
                    calls.pop();
                }
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dominators(size: usize, edges: &[(u32, u32)], entries: &[u32]) -> Dominators {
        let mut successors = vec![Vec::new(); size];
        let mut predecessors = vec![Vec::new(); size];
        for &(from, to) in edges {
            successors[from as usize].push(to);
            predecessors[to as usize].push(from);
        }
        Dominators::new(&successors, &predecessors, entries)
    }

    /// By definition: `over` dominates `node` if removing `over` cuts `node` off from all entries.
    fn dominates_by_definition(edges: &[(u32, u32)], entries: &[u32], over: u32, node: u32) -> bool {
        let reach = |without: Option<u32>| {
            let mut seen: Vec<u32> = entries.iter().copied().filter(|&e| Some(e) != without).collect();
            let mut at = 0;
            while at < seen.len() {
                for &(from, to) in edges {
                    if from == seen[at] && Some(to) != without && !seen.contains(&to) {
                        seen.push(to);
                    }
                }
                at += 1;
            }
            seen
        };
        reach(None).contains(&node) && reach(None).contains(&over) && !reach(Some(over)).contains(&node)
    }

    #[test]
    fn agrees_with_the_definition_on_many_small_graphs() {
        let mut state = 88_172_645_463_325_252u64;
        let mut random = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % below) as u32
        };
        for _ in 0..400 {
            let size = 2 + random(7) as usize;
            let edges: Vec<(u32, u32)> =
                (0..random(16)).map(|_| (random(size as u64), random(size as u64))).collect();
            let entries: Vec<u32> = (0..=random(2)).map(|_| random(size as u64)).collect();
            let computed = dominators(size, &edges, &entries);
            for over in 0..size as u32 {
                for node in 0..size as u32 {
                    let want = dominates_by_definition(&edges, &entries, over, node);
                    assert_eq!(computed.dominates(over, node), want, "{over} {node} {edges:?} {entries:?}");
                }
            }
        }
    }
}
