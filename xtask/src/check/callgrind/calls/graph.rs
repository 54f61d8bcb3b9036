//! Functions and the ways between them: which lie in a cycle, and which can be reached.

use super::super::dump::Function;
use std::collections::{BTreeSet, HashMap};

/// Functions by number, and the ways from each to others.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    numbers: HashMap<Function, usize>,
    ways: Vec<BTreeSet<usize>>,
}

impl Graph {
    /// The number of a function, which may be new.
    pub fn number(&mut self, function: &Function) -> usize {
        if let Some(&number) = self.numbers.get(function) {
            return number;
        }
        self.numbers.insert(function.clone(), self.ways.len());
        self.ways.push(BTreeSet::new());
        self.ways.len() - 1
    }

    /// Adds a way.
    pub fn add(&mut self, from: usize, to: usize) {
        self.ways[from].insert(to);
    }

    fn len(&self) -> usize {
        self.ways.len()
    }

    /// All functions that can be reached from one, that one included.
    pub fn reached_from(&self, start: usize) -> BTreeSet<usize> {
        let mut reached = BTreeSet::from([start]);
        let mut left = vec![start];
        while let Some(function) = left.pop() {
            left.extend(self.ways[function].iter().copied().filter(|&to| reached.insert(to)));
        }
        reached
    }

    /// A number for each function, the same for those that lie in a cycle together (Tarjan's algorithm, with a
    /// stack of its own because chains of calls may be long).
    pub fn components(&self) -> Vec<usize> {
        const NONE: usize = usize::MAX;
        let mut component = vec![NONE; self.len()];
        let (mut index, mut low) = (vec![NONE; self.len()], vec![NONE; self.len()]);
        let (mut next, mut open) = (0, Vec::new());
        for start in 0..self.len() {
            if index[start] != NONE {
                continue;
            }
            let mut path = vec![(start, self.ways[start].iter())];
            while let Some((function, ways)) = path.last_mut() {
                let function = *function;
                if index[function] == NONE {
                    (index[function], low[function]) = (next, next);
                    next += 1;
                    open.push(function);
                }
                if let Some(&to) = ways.next() {
                    if index[to] == NONE {
                        path.push((to, self.ways[to].iter()));
                    } else if component[to] == NONE {
                        low[function] = low[function].min(index[to]);
                    }
                    continue;
                }
                path.pop();
                if let Some(&(caller, _)) = path.last() {
                    low[caller] = low[caller].min(low[function]);
                }
                while low[function] == index[function] && component[function] == NONE {
                    let Some(member) = open.pop() else { break };
                    component[member] = function;
                }
            }
        }
        component
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_and_reach() {
        let mut graph = Graph::default();
        let numbers: Vec<usize> = ["main", "even", "odd", "leaf", "self"]
            .map(|name| graph.number(&Function { module: String::new(), name: name.into() }))
            .into();
        for (from, to) in [(0, 1), (1, 2), (2, 1), (2, 3), (0, 4), (4, 4), (4, 3)] {
            graph.add(numbers[from], numbers[to]);
        }
        let component = graph.components();
        assert_eq!(component[1], component[2]);
        assert_eq!(BTreeSet::from_iter(component.clone()).len(), 4);
        assert_eq!(graph.reached_from(1), BTreeSet::from([1, 2, 3]));
        assert_eq!(graph.reached_from(3), BTreeSet::from([3]));
        assert_eq!(graph.number(&Function { module: String::new(), name: "odd".into() }), 2);
    }
}
