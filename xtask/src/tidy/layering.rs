//! ARCHITECTURE.md's table of crates against the workspace: the same crates, the same arrows,
//! and every arrow pointing up the table.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// A crate's name (its folder under `crates/`) and those it may use.
type Arrows = Vec<(String, BTreeSet<String>)>;

/// Every difference between the printed table and the real dependencies, one sentence each.
pub fn faults(root: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(root.join("ARCHITECTURE.md")).context("ARCHITECTURE.md")?;
    Ok(compare(&printed(&text), &real(root)?))
}

/// Rows of the form ``| `name` | what lives there | a, b |``; a dash stands for none.
fn printed(text: &str) -> Arrows {
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| `")?.split('|');
        let name = cells.next()?.trim().trim_end_matches('`').to_string();
        let uses = cells.nth(1)?;
        let uses = uses.split(',').map(str::trim).filter(|u| !u.is_empty() && *u != "–");
        Some((name, uses.map(str::to_string).collect()))
    };
    text.lines().filter_map(row).collect()
}

/// The workspace's own crates and their dependencies on each other, tests excepted.
fn real(root: &Path) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root)
        .output()
        .context("cargo metadata")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let folder = |package: &Value| {
        let manifest = Path::new(package["manifest_path"].as_str()?).parent()?;
        manifest.parent()?.ends_with("crates").then(|| manifest.file_name())??.to_str().map(str::to_string)
    };
    let names: BTreeMap<&str, String> =
        packages.iter().filter_map(|p| Some((p["name"].as_str()?, folder(p)?))).collect();
    let arrows = packages.iter().filter_map(|package| {
        let dependencies = package["dependencies"].as_array()?.iter();
        // `kind` is null for what the crate itself uses, "dev" for its tests, "build" for build.rs.
        let uses = dependencies.filter(|d| d["kind"] != "dev").filter_map(|d| names.get(d["name"].as_str()?));
        Some((folder(package)?, uses.cloned().collect()))
    });
    Ok(arrows.collect())
}

fn compare(printed: &Arrows, real: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let mut faults = Vec::new();
    let list = |uses: &BTreeSet<String>| match uses.is_empty() {
        true => "–".to_string(),
        false => uses.iter().cloned().collect::<Vec<_>>().join(", "),
    };
    for (position, (name, uses)) in printed.iter().enumerate() {
        match real.get(name) {
            None => faults.push(format!("ARCHITECTURE.md lists crate {name}, which is not in the workspace")),
            Some(found) if found != uses => faults.push(format!(
                "ARCHITECTURE.md says that {name} uses {}; its Cargo.toml says {}",
                list(uses),
                list(found)
            )),
            Some(_) => {}
        }
        let above: BTreeSet<&String> = printed[..position].iter().map(|(name, _)| name).collect();
        for used in uses.iter().filter(|u| !above.contains(u)) {
            faults.push(format!("ARCHITECTURE.md: {name} uses {used}, which does not stand above it"));
        }
    }
    for (name, uses) in real.iter().filter(|(name, _)| !printed.iter().any(|(p, _)| p == *name)) {
        faults.push(format!("ARCHITECTURE.md lacks a row: | `{name}` | what lives there | {} |", list(uses)));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn real(arrows: &[(&str, &[&str])]) -> BTreeMap<String, BTreeSet<String>> {
        let set = |uses: &[&str]| uses.iter().map(|u| u.to_string()).collect();
        arrows.iter().map(|(name, uses)| (name.to_string(), set(uses))).collect()
    }

    const TABLE: &str =
        "| crate | what | may use |\n|---|---|---|\n| `isa` | facts | – |\n| `image` | files | isa |\n";

    #[test]
    fn a_true_table_has_no_faults() {
        assert_eq!(compare(&printed(TABLE), &real(&[("isa", &[]), ("image", &["isa"])])), [""; 0]);
    }

    #[test]
    fn missing_rows_wrong_arrows_and_upward_arrows_are_found() {
        let faults = compare(&printed(TABLE), &real(&[("isa", &["image"]), ("flow", &["image"])]));
        assert_eq!(
            faults,
            [
                "ARCHITECTURE.md says that isa uses –; its Cargo.toml says image",
                "ARCHITECTURE.md lists crate image, which is not in the workspace",
                "ARCHITECTURE.md lacks a row: | `flow` | what lives there | image |",
            ]
        );
        let circle = printed("| `a` | x | b |\n| `b` | y | – |\n");
        assert_eq!(
            compare(&circle, &real(&[("a", &["b"]), ("b", &[])])),
            ["ARCHITECTURE.md: a uses b, which does not stand above it"]
        );
    }
}
