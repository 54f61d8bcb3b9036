//! Which function a name means: one function has several, and two tools may choose differently.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

/// A function of a module; equal and ordered by where it is.
#[derive(Clone, Debug)]
pub struct Function {
    /// Name of the module's file.
    pub module: String,
    /// First offset; of a function that no symbol table names, 0.
    pub offset: u64,
    /// One of its names.
    pub name: String,
}

impl Function {
    fn key(&self) -> (&str, u64, &str) {
        (&self.module, self.offset, if self.offset == 0 { &self.name } else { "" })
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Function {}

impl PartialOrd for Function {
    fn partial_cmp(&self, other: &Function) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Function {
    fn cmp(&self, other: &Function) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// Offsets of all symbols of modules, as `nm` lists them.
#[derive(Default)]
pub struct Symbols {
    modules: HashMap<String, HashMap<String, u64>>,
}

impl Symbols {
    /// The function that the file at `path` has by this name.
    pub fn function(&mut self, path: &Path, name: &str) -> Function {
        let module = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = without_version(name);
        let known = self.modules.entry(module.clone()).or_insert_with(|| symbols_of(path));
        Function { module, offset: known.get(name).copied().unwrap_or(0), name: name.to_string() }
    }
}

fn without_version(name: &str) -> &str {
    name.split('@').next().unwrap_or(name)
}

/// Those of the file and of its debug file. A name that stands for several functions stands for none.
fn symbols_of(path: &Path) -> HashMap<String, u64> {
    let text = path.to_string_lossy().into_owned();
    let mut listings = vec![printed("nm", &[&text]), printed("nm", &["-D", &text])];
    let notes = printed("readelf", &["-n", &text]);
    if let Some(id) = notes.lines().find_map(|line| Some(line.split_once("Build ID: ")?.1.trim()))
        && let Some((first, rest)) = id.split_at_checked(2)
    {
        listings.push(printed("nm", &[&format!("/usr/lib/debug/.build-id/{first}/{rest}.debug")]));
    }
    let mut symbols: HashMap<String, u64> = HashMap::new();
    for line in listings.iter().flat_map(|listing| listing.lines()) {
        let mut fields = line.splitn(3, ' ');
        let (Some(offset), Some(_), Some(name)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let Ok(offset) = u64::from_str_radix(offset, 16) else { continue };
        let known = symbols.entry(without_version(name).to_string()).or_insert(offset);
        if *known != offset {
            *known = 0;
        }
    }
    symbols
}

/// What a tool prints; nothing where it fails, as `nm` does for a file that is not there.
fn printed(tool: &str, arguments: &[&str]) -> String {
    let output = Command::new(tool).args(arguments).output();
    output.map_or_else(|_| String::new(), |output| String::from_utf8_lossy(&output.stdout).into_owned())
}
