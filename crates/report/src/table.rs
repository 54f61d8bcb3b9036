//! Tables that fit a width: numbers to the right, names to the left and cut short where they must be.

use crate::abbreviate;
use crate::style::{Style, Tone};
use crate::visible::visible;

/// One column.
pub struct Column {
    title: String,
    kind: Kind,
    /// Makes a cell fit a width.
    shorten: fn(&str, usize) -> String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    /// A number that is left out where there is no room.
    Detail,
    Name,
}

impl Column {
    /// A column of numbers.
    pub fn number(title: &str) -> Column {
        Column { title: title.into(), kind: Kind::Number, shorten: cut }
    }

    /// A column of numbers that is the first to go where the screen is narrow.
    pub fn detail(title: &str) -> Column {
        Column { kind: Kind::Detail, ..Column::number(title) }
    }

    /// A column of words, which may be cut short.
    pub fn name(title: &str) -> Column {
        Column { kind: Kind::Name, ..Column::number(title) }
    }

    /// A column of names of functions.
    pub fn function(title: &str) -> Column {
        Column { shorten: abbreviate::function, ..Column::name(title) }
    }

    /// A column of places in source or in modules.
    pub fn place(title: &str) -> Column {
        Column { shorten: abbreviate::place, ..Column::name(title) }
    }

    /// A column of paths through functions.
    pub fn path(title: &str) -> Column {
        Column { shorten: abbreviate::path, ..Column::name(title) }
    }

    fn is_number(&self) -> bool {
        self.kind != Kind::Name
    }

    /// A column of places in functions, as in `table.c:97 in f`.
    pub fn place_in_function(title: &str) -> Column {
        Column { shorten: abbreviate::place_in_function, ..Column::name(title) }
    }
}

/// A table of text.
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<(Tone, Vec<String>)>,
}

/// Names are never cut below this.
const SHORTEST_NAME: usize = 8;

/// Names are cut below this only when no detail is left.
const READABLE_NAME: usize = 24;

/// Stands where nothing is known.
pub const UNKNOWN: &str = "–";

const GAP: usize = 2;

impl Table {
    /// A table without rows.
    pub fn new(columns: Vec<Column>) -> Table {
        Table { columns, rows: Vec::new() }
    }

    /// Adds a row, one cell for each column. Control characters are written out.
    pub fn row(&mut self, tone: Tone, cells: Vec<String>) {
        let cells = cells.iter().map(|cell| visible(cell).into_owned()).collect();
        self.rows.push((tone, cells));
    }

    /// Whether no row was added.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// All cells but names.
    pub fn numbers(&self) -> impl Iterator<Item = &str> {
        let cells = self.rows.iter().flat_map(|(_, cells)| cells.iter().zip(&self.columns));
        cells.filter(|(_, column)| column.kind != Kind::Name).map(|(cell, _)| cell.as_str())
    }

    /// The lines of the table, each indented by two. A column of which nothing is known is left out. The titles take
    /// two lines where one has no room.
    pub fn render(mut self, style: Style) -> String {
        self.leave_out_unknown();
        let widths = self.fit(style);
        let mut out = String::new();
        let mut titles: Vec<String> = self.columns.iter().map(|column| column.title.clone()).collect();
        let fits =
            |(at, title): (usize, &String)| !self.columns[at].is_number() || length(title) <= widths[at];
        if !titles.iter().enumerate().all(fits) {
            let split =
                |at: (usize, &String)| if fits(at) { (String::new(), at.1.clone()) } else { fold(at.1) };
            let (above, below): (Vec<_>, Vec<_>) = titles.iter().enumerate().map(split).unzip();
            out += &self.line(&above, &widths, style, Tone::Heading);
            titles = below;
        }
        if titles.iter().any(|title| !title.is_empty()) {
            out += &self.line(&titles, &widths, style, Tone::Heading);
        }
        for (tone, cells) in &self.rows {
            out += &self.line(cells, &widths, style, *tone);
        }
        out
    }

    fn leave_out_unknown(&mut self) {
        for at in (0..self.columns.len()).rev() {
            let is_unknown = |(_, cells): &(Tone, Vec<String>)| cells[at].is_empty() || cells[at] == UNKNOWN;
            if self.rows.iter().all(is_unknown) {
                self.remove(at);
            }
        }
    }

    /// Widths at which the columns fit: details are left out and names cut where they must.
    fn fit(&mut self, style: Style) -> Vec<usize> {
        let room = style.width.saturating_sub(GAP);
        let mut widths = self.natural_widths(false);
        if total(&widths) > room {
            widths = self.natural_widths(true);
        }
        while total(&widths) > room {
            let excess = total(&widths) - room;
            let can_shrink: usize = self.names().map(|at| widths[at].saturating_sub(READABLE_NAME)).sum();
            let detail = self.columns.iter().rposition(|column| column.kind == Kind::Detail);
            match detail.filter(|_| can_shrink < excess) {
                Some(at) => {
                    self.remove(at);
                    widths.remove(at);
                }
                None => {
                    let names: Vec<usize> = self.names().collect();
                    shrink(&mut widths, &names, excess);
                    break;
                }
            }
        }
        widths
    }

    fn remove(&mut self, at: usize) {
        self.columns.remove(at);
        self.rows.iter_mut().for_each(|(_, cells)| drop(cells.remove(at)));
    }

    fn names(&self) -> impl Iterator<Item = usize> {
        (0..self.columns.len()).filter(|&at| self.columns[at].kind == Kind::Name)
    }

    fn natural_widths(&self, are_folded: bool) -> Vec<usize> {
        let longest = |at: usize| self.rows.iter().map(|(_, cells)| length(&cells[at])).max().unwrap_or(0);
        let title = |column: &Column| match fold(&column.title) {
            (above, below) if are_folded && column.is_number() => length(&above).max(length(&below)),
            _ => length(&column.title),
        };
        self.columns.iter().enumerate().map(|(at, column)| longest(at).max(title(column))).collect()
    }

    fn line(&self, cells: &[String], widths: &[usize], style: Style, tone: Tone) -> String {
        let mut line = String::new();
        for ((cell, &width), column) in cells.iter().zip(widths).zip(&self.columns) {
            let cell = (column.shorten)(cell, width);
            let space = " ".repeat(width - length(&cell));
            line += &" ".repeat(GAP);
            match column.kind {
                Kind::Name => line.extend([cell, space]),
                Kind::Number | Kind::Detail => line.extend([space, cell]),
            }
        }
        style.paint(tone, line.trim_end()) + "\n"
    }
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// A title in two lines, each as short as can be; the first is empty where it has no blank.
fn fold(title: &str) -> (String, String) {
    let halves = title.match_indices(' ').map(|(at, _)| (&title[..at], &title[at + 1..]));
    let shortest = halves.min_by_key(|(above, below)| length(above).max(length(below)));
    let (above, below) = shortest.unwrap_or(("", title));
    (above.to_string(), below.to_string())
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Takes `excess` from the widest of the columns `names`, as long as they are not too short.
fn shrink(widths: &mut [usize], names: &[usize], excess: usize) {
    for _ in 0..excess {
        let widest =
            names.iter().copied().filter(|&at| widths[at] > SHORTEST_NAME).max_by_key(|&at| widths[at]);
        if let Some(at) = widest {
            widths[at] -= 1;
        }
    }
}

/// `text` in at most `width` columns, with an ellipsis where something is missing.
pub fn cut(text: &str, width: usize) -> String {
    if length(text) <= width {
        return text.to_string();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// How many rows are not shown, if any, and what shows them.
pub fn more(rest: usize, how: &str, style: Style) -> String {
    if rest == 0 { String::new() } else { style.wrap(Tone::Faint, &format!("… and {rest} more: {how}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(width: usize) -> String {
        let columns = vec![Column::name("function"), Column::number("time"), Column::detail("calls")];
        let mut table = Table::new(columns);
        table.row(Tone::Plain, vec!["a_rather_long_function_name".into(), "41.2 %".into(), "61.2 M".into()]);
        table.row(Tone::Plain, vec!["main".into(), "0.1 %".into(), "1".into()]);
        table.render(Style { width, colour: false })
    }

    #[test]
    fn wide_screens_show_everything() {
        let want = "  function                       time   calls\n  \
                    a_rather_long_function_name  41.2 %  61.2 M\n  \
                    main                          0.1 %       1\n";
        assert_eq!(table(80), want);
    }

    #[test]
    fn narrower_ones_cut_names_and_then_leave_out_details() {
        assert!(
            table(43)
                .lines()
                .nth(1)
                .is_some_and(|line| line == "  a_rather_long_function_n…  41.2 %  61.2 M")
        );
        assert!(table(25).lines().nth(1).is_some_and(|line| line == "  a_rather_long_…  41.2 %"));
        for width in 20..80 {
            assert!(table(width).lines().all(|line| line.chars().count() <= width.max(22)), "{width}");
        }
    }

    #[test]
    fn titles_take_two_lines_before_anything_is_left_out() {
        let columns = ["rounds each", "ns a round", "(95 %)"].map(Column::detail);
        let mut table = Table::new(columns.into_iter().chain([Column::name("loop")]).collect());
        table.row(Tone::Plain, ["3.7", "12.5", "(11–14)", "table.c:95"].map(String::from).to_vec());
        let want = "  rounds   ns a\n    each  round   (95 %)  loop\n     3.7   12.5  (11–14)  table.c:95\n";
        assert_eq!(table.render(Style { width: 36, colour: false }), want);
    }

    #[test]
    fn columns_of_which_nothing_is_known_are_left_out() {
        let mut table =
            Table::new(vec![Column::name("function"), Column::number("time"), Column::number("calls")]);
        table.row(Tone::Plain, vec!["main".into(), UNKNOWN.into(), "1".into()]);
        table.row(Tone::Plain, vec!["exit".into(), String::new(), UNKNOWN.into()]);
        assert_eq!(
            table.render(Style::default()),
            "  function  calls\n  main          1\n  exit          –\n"
        );
    }

    #[test]
    fn colours_only_where_wanted() {
        let style = Style { width: 80, colour: true };
        assert_eq!(style.paint(Tone::Hot, "x"), "\x1b[1;31mx\x1b[0m");
        assert_eq!(Style { colour: false, ..style }.paint(Tone::Hot, "x"), "x");
    }
}
