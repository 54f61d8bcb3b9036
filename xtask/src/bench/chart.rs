//! A chart of lines as an SVG file, over an axis of powers.

use anyhow::{Context, Result};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// A line of a chart.
pub struct Line {
    /// What it is called.
    pub name: String,
    /// Lines of one number have one colour.
    pub colour: usize,
    /// Whether it is drawn with gaps.
    pub dashed: bool,
    /// Where it goes, from left to right, and whether a point is well founded: one that is not is drawn hollow.
    pub points: Vec<(f64, f64, bool)>,
}

/// A chart, whose vertical axis goes from 0 to 100 %.
pub struct Chart<'a> {
    /// What it shows.
    pub title: &'a str,
    /// What the horizontal axis says.
    pub across: &'a str,
    /// Its lines.
    pub lines: Vec<Line>,
}

/// The space of the lines, and left of and above it.
const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 56.0;
const TOP: f64 = 36.0;
/// Colours that can be told apart in print, too.
const COLOURS: [&str; 6] = ["#0b6e8c", "#c4561a", "#5a5a5a", "#7a3b8f", "#2f7d32", "#b08900"];

impl Chart<'_> {
    /// Writes it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, file: &Path) -> Result<()> {
        fs::write(file, self.drawn()).with_context(|| format!("{} cannot be written", file.display()))
    }

    fn drawn(&self) -> String {
        let all = || self.lines.iter().flat_map(|line| &line.points).map(|point| point.0.log10());
        let (first, last) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
        let x = |value: f64| LEFT + WIDTH * (value.log10() - first) / (last - first).max(1e-9);
        let y = |part: f64| TOP + HEIGHT * (1.0 - part);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" font-family=\"sans-serif\" \
             font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
            LEFT + WIDTH + 180.0,
            TOP + HEIGHT + 48.0
        );
        text(&mut svg, LEFT, TOP - 16.0, "start", self.title);
        text(&mut svg, LEFT + WIDTH / 2.0, TOP + HEIGHT + 38.0, "middle", self.across);
        for step in 0..=5 {
            let part = f64::from(step) / 5.0;
            rule(&mut svg, [LEFT, y(part), LEFT + WIDTH, y(part)]);
            text(&mut svg, LEFT - 6.0, y(part) + 4.0, "end", &format!("{:.0} %", 100.0 * part));
        }
        let mut values: Vec<f64> =
            self.lines.iter().flat_map(|line| &line.points).map(|point| point.0).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        for value in values {
            rule(&mut svg, [x(value), TOP, x(value), TOP + HEIGHT]);
            text(&mut svg, x(value), TOP + HEIGHT + 18.0, "middle", &value.to_string());
        }
        for (number, line) in self.lines.iter().enumerate() {
            let colour = COLOURS[line.colour % COLOURS.len()];
            let dashes = if line.dashed { " stroke-dasharray=\"6 4\"" } else { "" };
            let stroke = format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}");
            let places = line.points.iter().map(|point| format!("{:.1},{:.1}", x(point.0), y(point.1)));
            let _ = writeln!(svg, "<polyline points=\"{}\" {stroke}/>", places.collect::<Vec<_>>().join(" "));
            for &(value, part, founded) in &line.points {
                let fill = if founded { colour } else { "white" };
                let _ = writeln!(
                    svg,
                    "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{fill}\" stroke=\"{colour}\"/>",
                    x(value),
                    y(part)
                );
            }
            let (left, row) = (LEFT + WIDTH + 14.0, TOP + 10.0 + 18.0 * number as f64);
            let _ = writeln!(svg, "<polyline points=\"{left},{row} {},{row}\" {stroke}/>", left + 26.0);
            text(&mut svg, left + 32.0, row + 4.0, "start", &line.name);
        }
        svg.push_str("</svg>\n");
        svg
    }
}

fn rule(svg: &mut String, [x1, y1, x2, y2]: [f64; 4]) {
    let _ = writeln!(svg, "<path d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\" stroke=\"#dddddd\"/>");
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, said: &str) {
    let said = said.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{said}</text>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_stand_at_their_powers() {
        let line = |points| Line { name: "a<b".into(), colour: 0, dashed: true, points };
        let points = vec![(10.0, 0.0, true), (100.0, 0.5, true), (1000.0, 1.0, false)];
        let svg = Chart { title: "t", across: "x", lines: vec![line(points)] }.drawn();
        assert!(svg.contains("points=\"56.0,296.0 286.0,166.0 516.0,36.0\""), "{svg}");
        assert_eq!(svg.matches("fill=\"white\" stroke=").count(), 1, "one point is hollow");
        assert!(svg.contains("a&lt;b"));
    }
}
