//! A table in a Markdown file, between two marks that name it.

use anyhow::{Context, Result};
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};

/// Where tables go, beside the terminal.
#[derive(Args)]
pub struct Destination {
    /// A Markdown file whose table is to be replaced
    // Absolute: who measures may change its folder.
    #[arg(long, value_name = "FILE", value_parser = |file: &str| std::path::absolute(file))]
    into: Option<PathBuf>,
}

impl Destination {
    /// Whether there is a place for a table of this name, before it is measured.
    ///
    /// # Errors
    /// If the file cannot be read, or has no marks.
    pub fn check(&self, name: &str) -> Result<()> {
        self.into.as_deref().map_or(Ok(()), |file| around(file, name).map(drop))
    }

    /// Puts a table there, whose first row has the titles.
    ///
    /// # Errors
    /// If the file cannot be read or written, or has no marks.
    pub fn put(&self, name: &str, caption: &str, rows: &[impl AsRef<[String]>]) -> Result<()> {
        self.into.as_deref().map_or(Ok(()), |file| replace(file, name, caption, rows))
    }
}

/// The lines between which a table stands.
fn marks(name: &str) -> [String; 2] {
    [format!("<!-- {name} -->"), format!("<!-- end of {name} -->")]
}

/// What stands before the table in a file, and after it.
///
/// # Errors
/// If the file cannot be read, or has no marks.
fn around(file: &Path, name: &str) -> Result<[String; 2]> {
    let text = fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let marks = marks(name);
    let parts = text.split_once(&marks[0]).zip(text.split_once(&marks[1]));
    let ((before, _), (_, after)) =
        parts.with_context(|| format!("{} has no table between {marks:?}", file.display()))?;
    Ok([before, after].map(String::from))
}

/// Replaces what stands between the marks in a file by a table, whose first row has the titles.
///
/// # Errors
/// If the file cannot be read or written, or has no marks.
fn replace(file: &Path, name: &str, caption: &str, rows: &[impl AsRef<[String]>]) -> Result<()> {
    let [before, after] = around(file, name)?;
    let [begin, end] = marks(name);
    let mut lines: Vec<String> = rows.iter().map(|row| format!("| {} |", row.as_ref().join(" | "))).collect();
    let columns = rows.first().map_or(0, |row| row.as_ref().len());
    lines.insert(1.min(lines.len()), format!("|{}", "---|".repeat(columns)));
    let text = format!("{before}{begin}\n{caption}.\n\n{}\n{end}{after}", lines.join("\n"));
    fs::write(file, text).with_context(|| format!("{} cannot be written", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_takes_the_place_of_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("page.md");
        fs::write(&file, "above\n\n<!-- of it -->\nold\n<!-- end of of it -->\n\nbelow\n").unwrap();
        let rows = [["a", "b"].map(String::from), ["1", "2"].map(String::from)];
        replace(&file, "of it", "said", &rows).unwrap();
        replace(&file, "of it", "said again", &rows).unwrap();
        let table = "<!-- of it -->\nsaid again.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n<!-- end of of it -->";
        assert_eq!(fs::read_to_string(&file).unwrap(), format!("above\n\n{table}\n\nbelow\n"));
        assert!(around(&file, "another").is_err());
    }
}
