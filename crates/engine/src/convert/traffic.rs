//! How often each piece was entered, and how often it was left early.

use super::flow::Flow;
use super::pieces::{PieceId, Pieces};
use std::collections::HashMap;

/// Sums over flows, by piece.
#[derive(Debug, Default)]
pub struct Traffic {
    entered: Vec<u64>,
    touched: Vec<PieceId>,
    /// After how many instructions, and how often. Few pieces are ever left early.
    left: HashMap<PieceId, Vec<(u16, u64)>>,
}

impl Traffic {
    /// Adds flows.
    pub fn add(&mut self, pieces: &Pieces, flows: &[Flow]) {
        self.entered.resize(pieces.all().len(), 0);
        for flow in flows {
            if let Some(to) = flow.to {
                let entered = &mut self.entered[to.index()];
                if *entered == 0 {
                    self.touched.push(to);
                }
                *entered = entered.saturating_add(flow.count);
            }
            if let Some((piece, executed)) = flow.early(pieces) {
                self.left.entry(piece).or_default().push((executed, flow.count));
            }
        }
    }

    /// Forgets all flows.
    pub fn clear(&mut self) {
        for piece in self.touched.drain(..) {
            self.entered[piece.index()] = 0;
        }
        self.left.clear();
    }

    /// Pieces that were entered.
    pub fn pieces(&self) -> &[PieceId] {
        &self.touched
    }

    /// How often instruction number `at` of a piece was executed.
    pub fn executions(&self, piece: PieceId, at: u16) -> u64 {
        let entered = self.entered[piece.index()];
        if self.left.is_empty() {
            return entered;
        }
        let left = self.left.get(&piece).into_iter().flatten().filter(|(executed, _)| *executed <= at);
        left.fold(entered, |rest, (_, count)| rest.saturating_sub(*count))
    }

    /// How many instructions of a piece were ever executed.
    pub fn reached(&self, pieces: &Pieces, piece: PieceId) -> u16 {
        let all = pieces.get(piece).instructions;
        let ends = self.left.get(&piece).into_iter().flatten().map(|(executed, _)| *executed);
        ends.filter(|&at| self.executions(piece, at) == 0).min().unwrap_or(all)
    }
}
