//! How text may look: how wide, and whether coloured.

use crate::visible::visible;

/// What the reader's screen can show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// Columns of a line.
    pub width: usize,
    /// Whether escape sequences may be used.
    pub colour: bool,
}

impl Default for Style {
    /// What suits a file: no colours, and wide enough for names.
    fn default() -> Style {
        Style { width: 120, colour: false }
    }
}

/// What a piece of text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Tone {
    /// Nothing special.
    #[default]
    Plain,
    /// A heading.
    Heading,
    /// Where much of the time goes.
    Hot,
    /// Where some of it goes.
    Warm,
    /// Of little interest, or of little certainty.
    Faint,
    /// A warning.
    Warning,
}

impl Style {
    /// `text` in lines that fit: broken between facts that are joined by ` · `, and within a fact that
    /// is longer than a line at blanks. All lines but the first are indented. Control characters are written
    /// out.
    pub fn wrap(self, tone: Tone, text: &str) -> String {
        let text = visible(text);
        let mut lines: Vec<String> = Vec::new();
        for fact in text.split(" · ") {
            match lines.last_mut() {
                Some(line) if length(line) + length(" · ") + length(fact) <= self.width => {
                    *line += " · ";
                    *line += fact;
                }
                last => {
                    let indent = if last.is_some() { "  " } else { "" };
                    self.add_words(&mut lines, indent, fact);
                }
            }
        }
        lines.iter().map(|line| self.paint(tone, line) + "\n").collect()
    }

    fn add_words(self, lines: &mut Vec<String>, indent: &str, fact: &str) {
        let mut line = indent.to_string();
        for word in fact.split(' ') {
            let is_begun = !line.trim().is_empty();
            if is_begun && length(&line) + 1 + length(word) > self.width {
                lines.push(std::mem::replace(&mut line, format!("  {word}")));
            } else {
                line.extend([if is_begun { " " } else { "" }, word]);
            }
        }
        lines.push(line);
    }

    /// `text` in the colours of `tone`.
    pub fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            _ if !self.colour || text.trim().is_empty() => return text.to_string(),
            Tone::Plain => return text.to_string(),
            Tone::Heading => "1",
            Tone::Hot => "1;31",
            Tone::Warm => "33",
            Tone::Faint => "2",
            Tone::Warning => "35",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_stay_whole_and_long_ones_break_at_blanks() {
        let style = Style { width: 20, colour: false };
        assert_eq!(
            style.wrap(Tone::Plain, "one fact · another · a third"),
            "one fact · another\n  a third\n"
        );
        assert_eq!(
            style.wrap(Tone::Plain, "a fact that is much longer than a line · b"),
            "a fact that is much\n  longer than a line\n  b\n"
        );
    }
}
