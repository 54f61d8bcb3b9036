//! What LLVM's tools say of branches.

use std::fmt;

/// Their findings.
#[derive(Debug, Default, PartialEq)]
pub struct Said {
    /// Percent of the stretches of straight code that contradict the program, to `perf2bolt`.
    mismatching: f64,
    /// Percent of them that lie in no code.
    out_of_range: f64,
    /// Functions whose profile `llvm-bolt` does not believe.
    stale: u64,
    /// Why `llvm-bolt` gave up, if it did, and what `llvm-profgen` warns of.
    pub lines: Vec<String>,
}

impl Said {
    /// Titles of the columns.
    pub const TITLES: &str = "mismatching  out of range  stale functions  other warnings";

    /// Of what `perf2bolt`, `llvm-bolt` and `llvm-profgen` wrote.
    pub fn new([converted, laid_out, sampled]: &[String; 3]) -> Said {
        let percent = |words: &str| {
            let behind = converted.split_once(words).map_or("", |(_, behind)| behind);
            let share = behind.split(['(', '%']).nth(1).and_then(|number| number.trim().parse().ok());
            share.unwrap_or_default()
        };
        // Of how few samples there are, nobody needs to be warned here.
        let is_fault = |line: &&str| line.contains("warning:") && !line.contains("more samples");
        let given_up =
            laid_out.lines().filter(|line| line.contains("BOLT-ERROR") || line.contains("llvm-bolt: "));
        Said {
            mismatching: percent("traces mismatching disassembled function contents:"),
            out_of_range: percent("traces involving unknown regions:"),
            stale: stale(laid_out),
            lines: given_up.chain(sampled.lines().filter(is_fault)).map(String::from).collect(),
        }
    }

    /// Whether they find more fault here than with `counted`, which has every branch of the program and no other:
    /// what they find there, is theirs.
    pub fn blames_more_than(&self, counted: &Said) -> bool {
        self.mismatching > 0.0 && counted.mismatching == 0.0
            || self.out_of_range > 0.0 && counted.out_of_range == 0.0
            || self.stale > counted.stale
            || self.lines.len() > counted.lines.len()
    }
}

/// The number that begins what is said of stale profiles: "4 (2.0% of all profiled) functions have invalid (possibly
/// stale) profile".
fn stale(laid_out: &str) -> u64 {
    let line = laid_out.lines().find(|line| line.contains("(possibly stale) profile")).unwrap_or_default();
    line.split_whitespace().find_map(|word| word.parse().ok()).unwrap_or_default()
}

impl fmt::Display for Said {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let (mismatching, out_of_range) = (self.mismatching, self.out_of_range);
        write!(
            formatter,
            "{mismatching:9.1} % {out_of_range:11.1} % {:16} {:15}",
            self.stale,
            self.lines.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(converted: &str, laid_out: &str, sampled: &str) -> Said {
        Said::new(&[converted, laid_out, sampled].map(String::from))
    }

    #[test]
    fn what_is_found_is_understood() {
        let converted = "PERF2BOLT: traces mismatching disassembled function contents: 12 (0.5%)\n\
                         PERF2BOLT: Out of range traces involving unknown regions: 3 (0.1%)\n";
        let laid_out = "BOLT-INFO: 9 functions\nBOLT-WARNING: 4 (2.0% of all profiled) functions have invalid (possibly \
                        stale) profile. Use -report-stale to see the list.\n";
        let sampled = "warning: Sample PGO is estimated to optimize better with 2x more samples.\n\
                       warning: 2.10% of samples are from ranges that are not on instruction boundary\n";
        let found = said(converted, laid_out, sampled);
        assert_eq!((found.mismatching, found.out_of_range, found.stale, found.lines.len()), (0.5, 0.1, 4, 1));
        assert!(found.blames_more_than(&said("", "", "")) && !found.blames_more_than(&found));
    }

    #[test]
    fn a_tool_that_gives_up_says_why() {
        let found = said("", "/usr/bin/llvm-bolt: exit status: 1: BOLT-ERROR: cannot process", "");
        assert_eq!(found.lines.len(), 1);
        assert_eq!(said("", "", ""), Said::default());
    }
}
