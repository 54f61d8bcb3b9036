//! Where that is what rows of a comparison are of.

use crate::code_text::CodeText;
use crate::site::{self, Site};
use timewise_diff::{Both, Comparison, Thing};
use timewise_flow::Analysis;

/// Where the things of both sides are.
pub struct Sites<'a> {
    base: Side<'a>,
    test: Side<'a>,
}

struct Side<'a> {
    analysis: &'a Analysis<'a>,
    text: CodeText<'a>,
}

impl<'a> Sites<'a> {
    /// Those of a comparison.
    pub fn new(comparison: &Comparison<'a>) -> Sites<'a> {
        let side = |analysis| Side { analysis, text: CodeText::new(analysis) };
        Sites { base: side(comparison.base), test: side(comparison.test) }
    }

    /// What and where a row is on each side.
    pub fn of(&self, what: Both<Thing>) -> Both<Site> {
        what.map(|thing| self.base.site(thing), |thing| self.test.site(thing))
    }
}

impl Side<'_> {
    fn site(&self, thing: Thing) -> Site {
        match thing {
            Thing::Function(id) => site::function(self.analysis, id),
            Thing::Loop(id) => site::a_loop(self.analysis, id),
            Thing::Instruction(id) => site::instruction(&self.text, self.analysis, id),
            Thing::Line(line) => site::source_line(self.analysis, line),
        }
    }
}
