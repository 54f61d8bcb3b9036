//! JSON inside a page: nothing in it ends the element that holds it.

use serde::Serialize;

/// `value` as JSON that may stand in a `script` element: an HTML parser finds no tag and no comment in it,
/// and whatever reads it as JSON finds the same value.
///
/// # Errors
/// Those of the value's own serialisation.
pub fn json(value: &impl Serialize) -> Result<String, serde_json::Error> {
    // Outside strings JSON has none of these characters, and within them an escape means the same.
    Ok(serde_json::to_string(value)?
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_a_script_and_nothing_is_lost() {
        let names =
            ["</script><script>alert(1)</script>", "<!--", "]]>", "a\"b\\c'&amp;", "\u{2028}\u{2029}\0"];
        let embedded = json(&names).unwrap();
        assert!(!embedded.contains(['<', '>', '&', '\u{2028}', '\u{2029}', '\0']), "{embedded}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&embedded).unwrap(), names);
    }
}
