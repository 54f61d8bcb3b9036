//! How text may look: how wide, and whether coloured.

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
    /// Of little interest, or of little certainty.
    Faint,
    /// A warning.
    Warning,
}

impl Style {
    /// `text` in the colours of `tone`.
    pub fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            _ if !self.colour || text.trim().is_empty() => return text.to_string(),
            Tone::Plain => return text.to_string(),
            Tone::Heading => "1",
            Tone::Hot => "1;31",
            Tone::Faint => "2",
            Tone::Warning => "33",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}
