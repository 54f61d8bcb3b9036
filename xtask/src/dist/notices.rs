//! The licences of what is linked into the executable, as its packages give them.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How files begin, in capitals, in which packages state their terms.
const FILES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];

/// What no package of the lock file is.
const BESIDE: &str = "\
The Rust standard library: MIT OR Apache-2.0, https://www.rust-lang.org
The GNU C Library: LGPL-2.1-or-later, https://www.gnu.org/software/libc; timewise's own source, with which the
executable can be linked to another version of it, is where timewise comes from
SQLite: in the public domain, https://www.sqlite.org
";

/// The text of the notices.
///
/// # Errors
/// If cargo does not tell the packages, or one of them has no terms at all.
pub fn notices(root: &Path, target: &str) -> Result<String> {
    let told = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked", "--filter-platform", target])
        .current_dir(root)
        .output()
        .context("cargo")?;
    ensure!(told.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&told.stderr));
    let metadata: Value = serde_json::from_slice(&told.stdout)?;
    let packages = rows(&metadata["packages"]).map(|package| (text(&package["id"]), package));
    let packages: BTreeMap<&str, &Value> = packages.collect();
    let mut notices = format!("What is linked into this executable, with its terms.\n\n{BESIDE}");
    for id in linked(&metadata) {
        let package = packages.get(id).with_context(|| format!("cargo does not describe {id}"))?;
        if !package["source"].is_null() {
            add(&mut notices, package)?;
        }
    }
    Ok(notices)
}

/// Ids of the packages whose code is in the executable.
fn linked(metadata: &Value) -> BTreeSet<&str> {
    let nodes: BTreeMap<&str, &Value> =
        rows(&metadata["resolve"]["nodes"]).map(|node| (text(&node["id"]), node)).collect();
    let is_chore = |id: &str| id.contains("#xtask@") || id.contains("/xtask#");
    let ours = rows(&metadata["workspace_members"]).map(text);
    let mut open: Vec<&str> = ours.filter(|id| !is_chore(id)).collect();
    let mut linked = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !linked.insert(id) {
            continue;
        }
        let uses = nodes.get(id).into_iter().flat_map(|node| rows(&node["deps"]));
        // Those of kind null are neither for tests nor for building.
        let normal = uses.filter(|used| rows(&used["dep_kinds"]).any(|how| how["kind"].is_null()));
        open.extend(normal.map(|used| text(&used["pkg"])));
    }
    linked
}

fn add(notices: &mut String, package: &Value) -> Result<()> {
    let [name, version, terms] = ["name", "version", "license"].map(|key| text(&package[key]));
    writeln!(notices, "\n{:=<80}\n{name} {version}: {terms}", "")?;
    let authors: Vec<&str> = rows(&package["authors"]).map(text).collect();
    if !authors.is_empty() {
        writeln!(notices, "by {}", authors.join(", "))?;
    }
    let folder = Path::new(text(&package["manifest_path"])).parent().context("a manifest in a folder")?;
    let files = files(folder)?;
    ensure!(!files.is_empty() || !terms.is_empty(), "{name} {version} does not say under which terms it is");
    for file in files {
        let said = fs::read(&file).with_context(|| file.display().to_string())?;
        writeln!(notices, "\n{}", String::from_utf8_lossy(&said).trim_end())?;
    }
    Ok(())
}

/// The files in which a package states its terms, in order of their names.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if path.is_file() && FILES.iter().any(|file| name.starts_with(file)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn rows(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_is_named_and_what_is_not_is_not() {
        let notices = notices(&crate::root(), "x86_64-unknown-linux-gnu").unwrap();
        assert!(notices.contains("\niced-x86 ") && notices.contains("\nrusqlite "));
        // Its own licence file, not just its name.
        assert!(notices.contains("Permission is hereby granted"));
        assert!(!notices.contains("\nproptest ") && !notices.contains("\ntimewise"));
    }
}
