//! CSV (RFC 4180 with plain line feeds) of the table of places, one header line, an empty cell where
//! something is not known.

use crate::places;
use timewise_flow::Analysis;

/// The whole table.
///
/// # Errors
/// None in practice: rows are flat and memory does not fail.
pub fn export(analysis: &Analysis) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in places::rows(analysis) {
        writer.serialize(row)?;
    }
    let bytes = writer.into_inner().map_err(csv::IntoInnerError::into_error)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
