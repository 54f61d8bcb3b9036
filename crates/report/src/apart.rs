//! Rows that would look alike, as those of one function of a header in several libraries.

use crate::labels::file_name;
use std::collections::HashMap;

/// What a row says of what it is of.
pub struct Label<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Where it is.
    pub place: String,
    /// Path of the module that it is in.
    pub module: &'a str,
}

/// Where each is, with the module's name, or as much of its path as tells it from others, if rows of several modules say
/// the same.
pub fn tell_apart(labels: Vec<Label>) -> Vec<String> {
    let mut alike: HashMap<(&str, &str), Vec<&str>> = HashMap::new();
    for Label { name, place, module } in &labels {
        let modules = alike.entry((name, place)).or_default();
        if !modules.contains(module) {
            modules.push(module);
        }
    }
    let place = |label: &Label| {
        let modules = &alike[&(label.name, label.place.as_str())];
        match (modules.len() > 1, short(label.module, modules)) {
            (true, short) if label.place == file_name(label.module) => short.to_string(),
            (true, short) => format!("{} in {short}", label.place),
            (false, _) => label.place.clone(),
        }
    };
    labels.iter().map(place).collect()
}

/// The end of a path, from the beginning of a folder's or the file's name on, that no other of these has.
fn short<'a>(path: &'a str, all: &[&str]) -> &'a str {
    let ends = path.rmatch_indices('/').map(|(at, _)| &path[at + 1..]);
    let is_other = |end: &str, other: &&&str| {
        let before = other.strip_suffix(end);
        **other != path && before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    ends.into_iter().find(|end| !all.iter().any(|other| is_other(end, &other))).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(labels: &[(&str, &str, &str)]) -> Vec<String> {
        let labels = labels.iter().map(|&(name, place, module)| Label { name, place: place.into(), module });
        tell_apart(labels.collect())
    }

    #[test]
    fn rows_that_say_the_same_say_their_modules() {
        assert_eq!(places(&[("f", "f.c:1", "/a/x.so"), ("g", "f.c:1", "/b/x.so")]), ["f.c:1", "f.c:1"]);
        assert_eq!(places(&[("f", "f.c:1", "/a/x.so"), ("f", "f.c:1", "/a/x.so")]), ["f.c:1", "f.c:1"]);
        assert_eq!(
            places(&[("f", "f.h:1", "/a/x.so"), ("f", "f.h:1", "/a/y.so")]),
            ["f.h:1 in x.so", "f.h:1 in y.so"]
        );
        assert_eq!(
            places(&[("f", "x.so", "/a/lib/x.so"), ("f", "x.so", "/b/lib/x.so"), ("f", "x.so", "x.so")]),
            ["a/lib/x.so", "b/lib/x.so", "x.so"]
        );
        assert_eq!(
            places(&[("f", "f.h:1", "/lib/x.so"), ("f", "f.h:1", "/b/lib/x.so")]),
            ["f.h:1 in /lib/x.so", "f.h:1 in b/lib/x.so"]
        );
    }
}
