//! A crate's tests are one program where they can be, because each has to be linked and they run one after the other:
//! no file is left out of it.

use anyhow::Result;
use std::path::Path;

/// Each file beside a `tests/main.rs` that neither this nor the manifest names, one sentence each.
pub fn faults(root: &Path, files: &[String]) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for main in files.iter().filter(|path| path.ends_with("/tests/main.rs")) {
        let folder = main.trim_end_matches("main.rs");
        let manifest = folder.replace("tests/", "Cargo.toml");
        let [modules, manifest] = [main, &manifest].map(|path| std::fs::read_to_string(root.join(path)));
        faults.extend(left_out(folder, files, &modules?, &manifest?));
    }
    Ok(faults)
}

fn left_out(folder: &str, files: &[String], modules: &str, manifest: &str) -> Vec<String> {
    let in_folder = files.iter().filter_map(|path| path.strip_prefix(folder)?.strip_suffix(".rs"));
    let left_out = in_folder.filter(|name| {
        let is_module = modules.lines().any(|line| line == format!("mod {name};"));
        let is_program = manifest.contains(&format!("path = \"tests/{name}.rs\""));
        !name.contains('/') && !is_module && !is_program
    });
    left_out
        .map(|name| format!("{folder}{name}.rs: no test, for {folder}main.rs lacks `mod {name};`"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_nothing_names_are_found() {
        let files = ["main", "loops", "alone", "forgotten", "made/mod"];
        let files = files.map(|name| format!("crates/a/tests/{name}.rs"));
        let manifest = "path = \"tests/main.rs\"\npath = \"tests/alone.rs\"\n";
        let faults = left_out("crates/a/tests/", &files, "//! Tests.\n\nmod loops;\nmod made;\n", manifest);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].starts_with("crates/a/tests/forgotten.rs: "));
    }
}
