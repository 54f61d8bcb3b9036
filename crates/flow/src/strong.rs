//! Strongly connected components (Tarjan's algorithm, without recursion: functions of generated code
//! are deeper than a stack).

/// Components of the graph over `nodes` that contain a cycle, each sorted. `successors` may name
/// nodes outside `nodes`; they are ignored. `size` is one more than the largest node.
pub fn cyclic_components<I>(nodes: &[u32], size: usize, successors: impl Fn(u32) -> I) -> Vec<Vec<u32>>
where
    I: Iterator<Item = u32>,
{
    const OUTSIDE: u32 = u32::MAX;
    const UNSEEN: u32 = u32::MAX - 1;
    let mut index = vec![OUTSIDE; size];
    for &node in nodes {
        index[node as usize] = UNSEEN;
    }
    let mut low = vec![0u32; size];
    let mut on_stack = vec![false; size];
    let mut stack: Vec<u32> = Vec::new();
    let mut next = 0u32;
    let mut found = Vec::new();
    for &start in nodes {
        if index[start as usize] != UNSEEN {
            continue;
        }
        let mut calls: Vec<(u32, I)> = Vec::new();
        let mut enter = Some(start);
        loop {
            if let Some(node) = enter.take() {
                index[node as usize] = next;
                low[node as usize] = next;
                next += 1;
                stack.push(node);
                on_stack[node as usize] = true;
                calls.push((node, successors(node)));
            }
            let Some((node, rest)) = calls.last_mut() else { break };
            let node = *node;
            match rest.next() {
                Some(to) if index[to as usize] == UNSEEN => enter = Some(to),
                Some(to) if on_stack[to as usize] => {
                    low[node as usize] = low[node as usize].min(index[to as usize]);
                }
                Some(_) => {}
                None => {
                    calls.pop();
                    if let Some((caller, _)) = calls.last() {
                        low[*caller as usize] = low[*caller as usize].min(low[node as usize]);
                    }
                    if low[node as usize] == index[node as usize] {
                        let at = stack.iter().rposition(|&n| n == node).unwrap_or(0);
                        let mut component = stack.split_off(at);
                        for &member in &component {
                            on_stack[member as usize] = false;
                        }
                        if component.len() > 1 || successors(node).any(|to| to == node) {
                            component.sort_unstable();
                            found.push(component);
                        }
                    }
                }
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn components(size: usize, edges: &[(u32, u32)]) -> Vec<Vec<u32>> {
        let nodes: Vec<u32> = (0..size as u32).collect();
        cyclic_components(&nodes, size, |n| edges.iter().filter(move |e| e.0 == n).map(|e| e.1))
    }

    #[test]
    fn cycles_are_found_and_chains_are_not() {
        let edges = [(0, 1), (1, 2), (2, 1), (2, 3), (3, 3), (3, 4), (4, 5)];
        assert_eq!(components(6, &edges), vec![vec![1, 2], vec![3]]);
    }

    #[test]
    fn two_cycles_through_one_node_are_one_component() {
        assert_eq!(components(4, &[(0, 1), (1, 0), (1, 2), (2, 3), (3, 1)]), vec![vec![0, 1, 2, 3]]);
    }

    #[test]
    fn nodes_outside_are_ignored() {
        let edges = [(0, 1), (1, 2), (2, 0), (1, 0)];
        let inside = cyclic_components(&[0, 1], 3, |n| edges.iter().filter(move |e| e.0 == n).map(|e| e.1));
        assert_eq!(inside, vec![vec![0, 1]]);
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        let size = 300_000;
        let nodes: Vec<u32> = (0..size).collect();
        let found = cyclic_components(&nodes, size as usize, |n| std::iter::once((n + 1) % size));
        assert_eq!(found.len(), 1);
    }
}
