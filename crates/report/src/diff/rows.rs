//! Rows of a comparison, with what each is in BASE and in TEST.

use super::Grain;
use super::fields::ChangeFields;
use super::inlined::Inlined;
use super::things::Sites;
use crate::site::Site;
use serde::ser::{Serialize, Serializer};
use timewise_diff::comparison::Row;
use timewise_diff::{Both, Comparison, Thing};

/// All rows of a comparison. Of instructions there may be a million, so what a row is of is only looked up when that is
/// shown.
pub struct Rows<'a> {
    /// Findings first.
    pub all: Vec<Row>,
    sites: Sites<'a>,
    inlined_in_base: Inlined,
    inlined_in_test: Inlined,
}

impl<'a> Rows<'a> {
    /// The rows of a comparison.
    pub fn new(comparison: &Comparison<'a>, by: Grain) -> Rows<'a> {
        Rows {
            all: comparison.rows(by),
            sites: Sites::new(comparison),
            inlined_in_base: Inlined::new(comparison.base),
            inlined_in_test: Inlined::new(comparison.test),
        }
    }

    /// What a row is on each side.
    pub fn what(&self, row: &Row) -> Both<Site> {
        self.sites.of(row.what)
    }

    /// Of a function of one side alone, the one that the other side's compiler put it into.
    pub fn inlined_into(&self, row: &Row) -> Option<&str> {
        if !matches!(row.what.base.or(row.what.test), Some(Thing::Function(_))) {
            return None;
        }
        match self.what(row) {
            Both { base: Some(base), test: None } => self.inlined_in_test.holder(&base.function),
            Both { base: None, test: Some(test) } => self.inlined_in_base.holder(&test.function),
            _ => None,
        }
    }

    /// What JSON and CSV tell of each row: what it is, and how it changed.
    pub fn fields(&self) -> impl Iterator<Item = (SiteFields, ChangeFields)> {
        self.all.iter().map(|row| {
            let site = SiteFields {
                inlined_into: self.inlined_into(row).map(str::to_string),
                ..SiteFields::new(self.what(row), row.is_finding)
            };
            (site, ChangeFields::of(&row.change))
        })
    }
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.fields().map(|(site, change)| Record { site, change }))
    }
}

/// A row as one object of JSON.
#[derive(serde::Serialize)]
struct Record {
    #[serde(flatten)]
    site: SiteFields,
    #[serde(flatten)]
    change: ChangeFields,
}

/// Fields of what a row is.
#[derive(Default, serde::Serialize)]
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
    /// Of a function that only one side has, the one that the other side's compiler put it into, if that was seen.
    pub inlined_into: Option<String>,
}

impl SiteFields {
    fn new(Both { base, test }: Both<Site>, finding: bool) -> SiteFields {
        let status = match (&base, &test) {
            (None, _) => "new",
            (_, None) => "gone",
            _ => "both",
        };
        let named = |site: &Option<Site>| {
            site.as_ref().map(|site| site.function.clone()).filter(|name| !name.is_empty())
        };
        SiteFields {
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
            inlined_into: None,
        }
    }
}
