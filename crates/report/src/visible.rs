//! Words of others (arguments, paths, names) as a terminal may show them: none of them moves its cursor,
//! changes its colours, turns its text round, or ends a line.

use crate::table::cut;
use std::borrow::Cow;
use timewise_profile::Run;

/// `text` with its control characters written out, as `\n` and `\x1b`.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_control) {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '\0'..'\x20' if !matches!(character, '\t' | '\n' | '\r') => {
                out += &format!("\\x{:02x}", u32::from(character));
            }
            control if is_control(control) => out.extend(control.escape_default()),
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}

/// Whether a character controls what others look like, or which way they run (marks, embeddings, overrides, isolates).
fn is_control(character: char) -> bool {
    let turns = matches!(character, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    character.is_control() || turns
}

/// What `run` executed, cut to `width` columns. The program stands without its directory.
pub fn command_line(run: &Run, width: usize) -> String {
    let words = run.command.iter().map(|word| String::from_utf8_lossy(word));
    let mut line = String::new();
    for (at, word) in words.enumerate() {
        if at > 0 {
            line.push(' ');
        }
        line += &visible(if at == 0 { crate::labels::file_name(&word) } else { &word });
        // There may be a hundred thousand of them.
        if line.len() > width * char::MAX.len_utf8() {
            break;
        }
    }
    if line.is_empty() { "?".into() } else { cut(&line, width) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use timewise_profile::RunKind;

    #[test]
    fn control_characters_are_written_out_and_nothing_else_changes() {
        assert_eq!(visible("a\x1b[31mRED\x07\n\t\r\0"), r"a\x1b[31mRED\x07\n\t\r\x00");
        assert_eq!(visible("\x7f\u{9b}"), r"\u{7f}\u{9b}");
        assert_eq!(visible("a\u{202e}b\u{2066}"), r"a\u{202e}b\u{2066}");
        assert_eq!(visible(r"größe \n 日本 ·"), r"größe \n 日本 ·");
    }

    #[test]
    fn long_commands_are_cut() {
        let mut run = Run::new(RunKind::Sampling);
        assert_eq!(command_line(&run, 20), "?");
        run.command = vec![b"/bin/app".to_vec(), b"a\nb".to_vec()];
        assert_eq!(command_line(&run, 20), r"app a\nb");
        run.command.extend((0..100_000).map(|n| format!("{n}").into_bytes()));
        assert_eq!(command_line(&run, 20), r"app a\nb 0 1 2 3 4 …");
    }
}
