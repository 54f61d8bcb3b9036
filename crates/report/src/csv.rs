//! Reports for spreadsheets: CSV (RFC 4180 with plain line feeds), one header line, the fields of the
//! JSON rows in their order, an empty cell for null.

use crate::request::{By, Request};
use crate::rows::{self, Costed, Seen, Stacked, Totalled};
use serde::Serialize;
use timewise_flow::Analysis;

/// The whole table.
///
/// # Errors
/// None in practice: rows are flat and memory does not fail.
pub fn report(analysis: &Analysis, request: impl Into<Request>) -> Result<String, csv::Error> {
    let Request { by, sort, calls } = request.into();
    match by {
        By::Function if rows::is_traced_only(analysis.profile) => {
            table(rows::branching(analysis.profile).into_iter().map(Seen::into_parts))
        }
        By::Branch => table(rows::branches(analysis.profile).into_iter().map(Seen::into_parts)),
        By::Function => table(rows::functions(analysis, sort).map(Totalled::into_parts)),
        By::Loop => table(rows::loops(analysis, sort).map(Totalled::into_parts)),
        By::Call => table(rows::calls(analysis, calls).map(Totalled::into_parts)),
        By::Block => table(rows::blocks(analysis).map(Costed::into_parts)),
        By::Instruction => table(rows::instructions(analysis).map(Costed::into_parts)),
        By::Path => table(rows::paths(analysis)),
        By::Waiting => table(rows::waits(analysis).into_iter().map(Stacked::into_parts)),
        By::Kernel => table(rows::kernel(analysis).into_iter().map(Stacked::into_parts)),
        By::Line => table(rows::lines(analysis).map(Costed::into_parts)),
    }
}

/// A table of rows, with its header also where there are none.
pub(crate) fn table<R: Serialize + Default>(rows: impl IntoIterator<Item = R>) -> Result<String, csv::Error> {
    let mut rows = rows.into_iter().peekable();
    if rows.peek().is_none() {
        let header = text([R::default()].into_iter())?;
        return Ok(header.split_inclusive('\n').take(1).collect());
    }
    text(rows)
}

fn text<R: Serialize>(rows: impl Iterator<Item = R>) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row)?;
    }
    let bytes = writer.into_inner().map_err(csv::IntoInnerError::into_error)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{CostFields, LineRow};

    #[test]
    fn a_table_without_rows_has_its_header() {
        let none = table(std::iter::empty::<(LineRow, CostFields)>()).unwrap();
        assert!(none.starts_with("module,file,line,") && none.ends_with('\n'), "{none}");
        assert_eq!(none.lines().count(), 1);
    }
}
