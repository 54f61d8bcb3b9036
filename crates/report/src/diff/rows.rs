//! Rows of a comparison, with what each is in BASE and in TEST.

use super::By;
use super::fields::ChangeFields;
use crate::code_text::CodeText;
use crate::site::{self, Site};
use serde::Serialize;
use timewise_diff::comparison::Row;
use timewise_diff::{Both, Change, Comparison};
use timewise_flow::Analysis;

/// A function, loop, instruction or line of one side or of both.
#[derive(Clone, Debug, Serialize)]
pub struct DiffRow {
    /// What it is.
    #[serde(flatten)]
    pub site: SiteFields,
    /// How it changed.
    #[serde(flatten)]
    pub fields: ChangeFields,
    /// The change itself.
    #[serde(skip)]
    pub change: Change,
    /// What it is on each side.
    #[serde(skip)]
    pub what: Both<Site>,
}

/// Fields of what a row is.
#[derive(Clone, Debug, Serialize)]
pub struct SiteFields {
    /// Whether its change is more than noise.
    pub finding: bool,
    /// `both`, `new` (only TEST has it) or `gone` (only BASE has it).
    pub status: &'static str,
    /// Path of the module in BASE; null if BASE has it not, as is all else of BASE.
    pub base_module: Option<String>,
    /// Name of the function in BASE.
    pub base_function: Option<String>,
    /// Link-time address in BASE: of a function, of a loop's header, of an instruction; null for a line.
    pub base_offset: Option<u64>,
    /// Source file in BASE, if known.
    pub base_file: Option<String>,
    /// Source line in BASE, the first of a loop.
    pub base_line: Option<u32>,
    /// Last source line of a loop in BASE, in the file of its header; null for what is no loop.
    pub base_line_last: Option<u32>,
    /// Intel syntax in BASE; null unless it is an instruction.
    pub base_text: Option<String>,
    /// Path of the module in TEST; null if TEST has it not, as is all else of TEST.
    pub test_module: Option<String>,
    /// Name of the function in TEST.
    pub test_function: Option<String>,
    /// Link-time address in TEST.
    pub test_offset: Option<u64>,
    /// Source file in TEST.
    pub test_file: Option<String>,
    /// Source line in TEST.
    pub test_line: Option<u32>,
    /// Last source line of a loop in TEST.
    pub test_line_last: Option<u32>,
    /// Intel syntax in TEST.
    pub test_text: Option<String>,
}

impl DiffRow {
    /// The row as a sequence of two, which is how a table without nesting takes both.
    pub fn parts(&self) -> (&SiteFields, &ChangeFields) {
        (&self.site, &self.fields)
    }

    fn new(what: Both<Site>, change: Change, finding: bool) -> DiffRow {
        let (base, test) = (what.base.clone(), what.test.clone());
        let status = match (&base, &test) {
            (None, _) => "new",
            (_, None) => "gone",
            _ => "both",
        };
        let named = |site: &Option<Site>| {
            site.as_ref().map(|site| site.function.clone()).filter(|name| !name.is_empty())
        };
        let site = SiteFields {
            finding,
            status,
            base_module: base.as_ref().map(|site| site.module.clone()),
            base_function: named(&base),
            base_offset: base.as_ref().and_then(|site| site.offset),
            base_file: base.as_ref().and_then(|site| site.file.clone()),
            base_line: base.as_ref().and_then(|site| site.line),
            base_line_last: base.as_ref().and_then(|site| site.last_line),
            base_text: base.and_then(|site| site.text),
            test_module: test.as_ref().map(|site| site.module.clone()),
            test_function: named(&test),
            test_offset: test.as_ref().and_then(|site| site.offset),
            test_file: test.as_ref().and_then(|site| site.file.clone()),
            test_line: test.as_ref().and_then(|site| site.line),
            test_line_last: test.as_ref().and_then(|site| site.last_line),
            test_text: test.and_then(|site| site.text),
        };
        DiffRow { site, fields: ChangeFields::of(&change), change, what }
    }
}

/// All rows, findings first.
pub fn rows(comparison: &Comparison, by: By) -> Vec<DiffRow> {
    let sides = (comparison.base, comparison.test);
    match by {
        By::Function => {
            described(comparison.functions(), sides, |_, analysis, id| site::function(analysis, id))
        }
        By::Loop => described(comparison.loops(), sides, |_, analysis, id| site::a_loop(analysis, id)),
        By::Instruction => described(comparison.instructions(), sides, site::instruction),
        By::Line => {
            described(comparison.lines(), sides, |_, analysis, line| site::source_line(analysis, line))
        }
    }
}

fn described<'a, T>(
    rows: Vec<Row<T>>,
    (base, test): (&'a Analysis<'a>, &'a Analysis<'a>),
    site: impl Fn(&CodeText<'a>, &'a Analysis<'a>, T) -> Site,
) -> Vec<DiffRow> {
    let (base_text, test_text) = (CodeText::new(base), CodeText::new(test));
    let row = |row: Row<T>| {
        let what = row.what.map(|id| site(&base_text, base, id), |id| site(&test_text, test, id));
        DiffRow::new(what, row.change, row.is_finding)
    };
    rows.into_iter().map(row).collect()
}
