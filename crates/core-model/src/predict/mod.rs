//! Branch prediction: direction, target, and where both come from.
//!
//! Predictors learn from each branch right after it was predicted. In a processor that happens only when the
//! branch is executed or commits, which costs little with histories that are put right after mispredictions.

mod history;
mod indirect;
mod returns;
mod tage;
mod targets;

use crate::processor::BranchPredictor;
use history::History;
use indirect::Indirect;
use returns::Returns;
use tage::Direction;
use targets::{Known, Targets};

/// Kinds of branches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Branch {
    /// Not a branch.
    #[default]
    None,
    /// By a condition.
    Conditional,
    /// To a place that the instruction says.
    Jump,
    /// Likewise, with a return address.
    Call,
    /// To a place in a register or memory.
    IndirectJump,
    /// Likewise, with a return address.
    IndirectCall,
    /// To the latest return address.
    Return,
}

/// A branch that was executed.
#[derive(Clone, Copy, Debug)]
pub struct Executed {
    /// What it is.
    pub branch: Branch,
    /// Its address.
    pub address: u64,
    /// The address behind it.
    pub next: u64,
    /// Where it went: `next` if it was not taken.
    pub target: u64,
}

/// What fetch does behind a branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It goes on in the same cycle: the branch is not taken, as predicted.
    Straight,
    /// It goes on at the target after so many cycles.
    Taken(u64),
    /// Likewise, but prediction learns only then that there is a branch.
    Found(u64),
    /// It goes wrong until the branch is executed.
    Mispredicted,
}

/// A branch predictor.
#[derive(Debug)]
pub struct Predictor {
    direction: Direction,
    targets: Targets,
    returns: Returns,
    indirect: Indirect,
    history: History,
    first_bubble: u64,
    second_bubble: u64,
    decode_bubble: u64,
    return_bubble: u64,
    indirect_bubble: u64,
}

impl Predictor {
    /// One that knows nothing yet.
    pub fn new(record: &BranchPredictor) -> Predictor {
        let mut history = History::default();
        Predictor {
            direction: Direction::new(&record.tage, &mut history),
            targets: Targets::new(record),
            returns: Returns::new(record.returns),
            indirect: Indirect::new(record.indirect, &mut history),
            history,
            first_bubble: record.first_bubble,
            second_bubble: record.second_bubble,
            decode_bubble: record.decode_bubble,
            return_bubble: record.return_bubble,
            indirect_bubble: record.indirect_bubble,
        }
    }

    /// Whether a conditional branch would be predicted to be taken.
    pub fn foresees(&self, address: u64) -> bool {
        self.direction.look(address, &self.history).predicted
    }

    /// Predicts a branch, learns from what it did, and tells what that does to fetch.
    pub fn see(&mut self, executed: Executed) -> Outcome {
        let Executed { branch, address, next, target } = executed;
        let taken = match branch {
            Branch::Conditional => target != next,
            _ => true,
        };
        let foreseen = match branch {
            Branch::None => return Outcome::Straight,
            Branch::Conditional => self.direction.see(address, taken, &self.history) == taken,
            Branch::Jump | Branch::Call => true,
            Branch::IndirectJump | Branch::IndirectCall => {
                self.indirect.see(address, target, &self.history) == target
            }
            Branch::Return => self.returns.pop() == target,
        };
        if matches!(branch, Branch::Call | Branch::IndirectCall) {
            self.returns.push(next);
        }
        self.history.push(&executed, taken);
        if !foreseen {
            if taken {
                self.targets.learn(address);
            }
            return Outcome::Mispredicted;
        }
        if !taken {
            return Outcome::Straight;
        }
        let lost = match self.targets.find(address) {
            Known::Nearest => 0,
            Known::First => self.first_bubble,
            Known::Second => self.second_bubble,
            Known::Not => return Outcome::Found(self.decode_bubble),
        };
        let least = match branch {
            Branch::Return => self.return_bubble,
            Branch::IndirectJump | Branch::IndirectCall => self.indirect_bubble,
            _ => 0,
        };
        Outcome::Taken(lost.max(least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processor::Processor;

    fn predictor() -> Predictor {
        Predictor::new(&Processor::named("zen-4").unwrap().branches)
    }

    fn see(predictor: &mut Predictor, branch: Branch, address: u64, target: u64) -> Outcome {
        predictor.see(Executed { branch, address, next: address + 4, target })
    }

    #[test]
    fn a_jump_is_known_from_its_second_time_on() {
        let mut predictor = predictor();
        assert!(matches!(see(&mut predictor, Branch::Jump, 100, 900), Outcome::Found(bubble) if bubble > 0));
        assert_eq!(see(&mut predictor, Branch::Jump, 100, 900), Outcome::Taken(0));
    }

    #[test]
    fn an_indirect_branch_that_is_foreseen_may_cost_more_than_a_direct_one() {
        let mut predictor = Predictor::new(&Processor::named("raptor-cove").unwrap().branches);
        for (branch, address, lost) in [(Branch::Jump, 100, 0), (Branch::IndirectJump, 200, 1)] {
            (0..20).for_each(|_| _ = see(&mut predictor, branch, address, 900));
            assert_eq!(see(&mut predictor, branch, address, 900), Outcome::Taken(lost));
        }
    }

    #[test]
    fn returns_go_back_to_their_calls() {
        let mut predictor = predictor();
        see(&mut predictor, Branch::Call, 100, 500);
        see(&mut predictor, Branch::Call, 510, 600);
        assert!(matches!(see(&mut predictor, Branch::Return, 620, 514), Outcome::Found(_)));
        assert!(matches!(see(&mut predictor, Branch::Return, 530, 104), Outcome::Found(_)));
        assert_eq!(see(&mut predictor, Branch::Return, 530, 104), Outcome::Mispredicted, "one too many");
    }

    #[test]
    fn a_loop_of_constant_length_is_learnt() {
        let mut predictor = predictor();
        let mut wrong = 0;
        for round in 0..2000 {
            let target = if round % 7 == 6 { 104 } else { 60 };
            let outcome = see(&mut predictor, Branch::Conditional, 100, target);
            wrong += u32::from(round > 1000 && outcome == Outcome::Mispredicted);
        }
        assert!(wrong < 10, "{wrong}");
    }

    #[test]
    fn coin_tosses_are_not() {
        let mut predictor = predictor();
        let (mut wrong, mut state) = (0, 1u64);
        for _ in 0..4000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let target = if state >> 40 & 1 == 1 { 104 } else { 60 };
            wrong +=
                u32::from(see(&mut predictor, Branch::Conditional, 100, target) == Outcome::Mispredicted);
        }
        assert!((1500..2500).contains(&wrong), "{wrong}");
    }

    #[test]
    fn a_pattern_of_targets_is_learnt() {
        let mut predictor = predictor();
        let mut wrong = 0;
        for round in 0..3000u64 {
            let target = 0x4000 + 64 * [0, 3, 1, 1, 2][round as usize % 5];
            let outcome = see(&mut predictor, Branch::IndirectJump, 100, target);
            wrong += u32::from(round > 2000 && outcome == Outcome::Mispredicted);
        }
        assert!(wrong < 20, "{wrong}");
    }
}
