//! The rows of a module's unwind table, found by offset.

use super::descriptions::{self, Description};
use super::expression::Expression;
use super::rule::{Frame, Rule, Saved};
use crate::image::Image;

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EndianSlice, FrameDescriptionEntry, LittleEndian, Register,
    RegisterRule, UnwindContext, UnwindExpression, UnwindSection, UnwindTableRow, X86_64,
};
use std::fmt;

/// Longest frame description that is read; those of the largest real functions have some ten thousand bytes.
const LONGEST: usize = 1 << 20;

/// Bytes of frame descriptions that are read for one module in all. A real program has each place looked up
/// once, some hundred bytes at a time; a hostile file could make each cost a megabyte.
const WORK: usize = 1 << 30;

type Reader<'a> = EndianSlice<'a, LittleEndian>;

/// The unwind table of a module.
pub struct UnwindTable {
    section: Vec<u8>,
    bases: BaseAddresses,
    /// Where functions begin, with their descriptions, sorted.
    descriptions: Vec<Description>,
    context: UnwindContext<usize>,
    work_left: usize,
}

impl UnwindTable {
    /// That of `image`; `None` if it has none that can be read.
    pub fn of(image: &Image) -> Option<UnwindTable> {
        let elf = image.elf()?;
        let (section, bases) = descriptions::section(&elf)?;
        let descriptions = descriptions::of(section, &bases);
        (!descriptions.is_empty()).then(|| UnwindTable {
            section: section.to_vec(),
            bases,
            descriptions,
            context: UnwindContext::new(),
            work_left: WORK,
        })
    }

    /// How to find the caller of code at `offset`; `None` if the table does not speak of it.
    pub fn rule(&mut self, offset: u64) -> Option<Rule> {
        let after = self.descriptions.partition_point(|description| description.offsets.start <= offset);
        let description = self.descriptions[..after].last()?;
        if !description.offsets.contains(&offset) {
            return None;
        }
        let table = EhFrame::new(&self.section, LittleEndian);
        let entry: FrameDescriptionEntry<Reader> =
            table.fde_from_offset(&self.bases, description.position.into(), EhFrame::cie_from_offset).ok()?;
        let length = entry.entry_len().saturating_add(entry.cie().entry_len());
        if length > LONGEST {
            return None;
        }
        self.work_left = self.work_left.checked_sub(length)?;
        let row = entry.unwind_info_for_address(&table, &self.bases, &mut self.context, offset).ok()?;
        rule_of(row, &table, &entry)
    }
}

fn rule_of(
    row: &UnwindTableRow<usize>,
    table: &EhFrame<Reader>,
    entry: &FrameDescriptionEntry<Reader>,
) -> Option<Rule> {
    let calculated = |expression: &UnwindExpression<usize>| {
        Expression::new(expression.get(table).ok()?.0.slice(), entry.cie().encoding())
    };
    let saved = |rule: RegisterRule<usize>, own: Register| {
        Some(match rule {
            RegisterRule::SameValue => Saved::In(number(own)?),
            RegisterRule::Offset(offset) => Saved::At(offset),
            RegisterRule::ValOffset(offset) => Saved::Distance(offset),
            RegisterRule::Register(other) => Saved::In(number(other)?),
            RegisterRule::Expression(expression) => Saved::AtCalculated(calculated(&expression)?),
            RegisterRule::ValExpression(expression) => Saved::Calculated(calculated(&expression)?),
            _ => Saved::Gone,
        })
    };
    let frame = match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => {
            Frame::Register { number: number(*register)?, offset: *offset }
        }
        CfaRule::Expression(expression) => Frame::Calculated(calculated(expression)?),
    };
    let return_register = entry.cie().return_address_register();
    let return_address = match row.register(return_register)? {
        RegisterRule::Undefined => None,
        rule => Some(saved(rule, return_register)?),
    };
    let mut registers = Vec::new();
    for (register, rule) in row.registers().filter(|(register, _)| *register != return_register) {
        // Others, vector registers say, lead to no frame.
        if let Some(number) = number(*register) {
            registers.push((number, saved(rule.clone(), *register)?));
        }
    }
    Some(Rule { frame, saved: registers.into(), return_address, signal: entry.is_signal_trampoline() })
}

/// A general register's number.
fn number(register: Register) -> Option<u8> {
    let number = u8::try_from(register.0).ok()?;
    (register.0 < X86_64::RA.0).then_some(number)
}

impl fmt::Debug for UnwindTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("UnwindTable")
            .field("descriptions", &self.descriptions.len())
            .finish_non_exhaustive()
    }
}
