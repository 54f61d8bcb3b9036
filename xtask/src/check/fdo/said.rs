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
    /// Percent of the different stretches that `llvm-profgen` finds impossible.
    impossible: f64,
    /// Why `llvm-bolt` gave up, if it did, or parts of the program.
    pub given_up: Vec<String>,
}

impl Said {
    /// Titles of the columns.
    pub const TITLES: &str = "mismatching  out of range  stale functions  impossible  BOLT gives up";

    /// Of what `perf2bolt`, `llvm-bolt` and `llvm-profgen` wrote.
    pub fn new([converted, laid_out, sampled]: &[String; 3]) -> Said {
        let percent = |words: &str| {
            let behind = converted.split_once(words).map_or("", |(_, behind)| behind);
            let share = behind.split(['(', '%']).nth(1).and_then(|number| number.trim().parse().ok());
            share.unwrap_or_default()
        };
        let given_up =
            laid_out.lines().filter(|line| line.contains("BOLT-ERROR") || line.contains("llvm-bolt: "));
        Said {
            mismatching: percent("traces mismatching disassembled function contents:"),
            out_of_range: percent("traces involving unknown regions:"),
            stale: stale(laid_out),
            impossible: sampled.lines().filter_map(impossible).fold(0.0, |sum, share| sum + share),
            given_up: given_up.map(String::from).collect(),
        }
    }

    /// Whether they find more fault here than with `counted`, which has every branch of the program and no other:
    /// what they find there, is theirs.
    pub fn blames_more_than(&self, counted: &Said) -> bool {
        self.mismatching > 0.0 && counted.mismatching == 0.0
            || self.out_of_range > 0.0 && counted.out_of_range == 0.0
            || self.stale > counted.stale
            || self.impossible > 0.0
            || self.given_up.len() > counted.given_up.len()
    }

    /// Whether it is worth tracing again: of a program that is over soon there may be traces of its start alone, much of
    /// which is linkage stubs, and those BOLT does not know.
    pub fn may_be_unlucky(&self, counted: &Said) -> bool {
        self.blames_more_than(counted) && self.impossible == 0.0 && self.stale <= counted.stale
    }
}

/// The number that begins what is said of stale profiles: "4 (2.0% of all profiled) functions have invalid (possibly
/// stale) profile".
fn stale(laid_out: &str) -> u64 {
    let line = laid_out.lines().find(|line| line.contains("(possibly stale) profile")).unwrap_or_default();
    line.split_whitespace().find_map(|word| word.parse().ok()).unwrap_or_default()
}

/// The percentage of a warning of stretches that begin or end within an instruction, do not end with a branch, or run
/// across an unconditional jump. That code before `main` belongs to no function is no fault.
fn impossible(line: &str) -> Option<f64> {
    const WORDS: [&str; 2] = ["not on instruction boundary", "range start after or too far from range end"];
    let share = line.split_once("warning: ")?.1.split_once('%')?.0;
    WORDS.iter().any(|words| line.contains(words)).then(|| share.parse().ok())?
}

impl fmt::Display for Said {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let Said { mismatching, out_of_range, stale, impossible, given_up } = self;
        let times = given_up.len();
        write!(
            formatter,
            "{mismatching:9.1} % {out_of_range:11.1} % {stale:16} {impossible:9.1} % {times:14}"
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
    fn only_what_bolt_may_not_know_is_worth_another_look() {
        let counted = Said::default();
        let unknown = Said { mismatching: 7.7, ..Said::default() };
        assert!(unknown.may_be_unlucky(&counted) && !counted.may_be_unlucky(&counted));
        assert!(!Said { stale: 1, mismatching: 7.7, ..Said::default() }.may_be_unlucky(&counted));
        assert!(!Said { impossible: 0.1, mismatching: 7.7, ..Said::default() }.may_be_unlucky(&counted));
    }

    #[test]
    fn what_is_found_is_understood() {
        let converted = "PERF2BOLT: traces mismatching disassembled function contents: 12 (0.5%)\n\
                         PERF2BOLT: Out of range traces involving unknown regions: 3 (0.1%)\n";
        let laid_out = "BOLT-INFO: 9 functions\nBOLT-WARNING: 4 (2.0% of all profiled) functions have invalid (possibly \
                        stale) profile. Use -report-stale to see the list.\n";
        let sampled = "warning: Sample PGO is estimated to optimize better with 212.5x more samples.\n\
                       warning: 1.79%(1/56) of samples are from ranges that are not on instruction boundary.\n\
                       warning: 5.36%(3/56) of samples are from ranges that do not belong to any functions.\n";
        let found = said(converted, laid_out, sampled);
        assert_eq!(
            (found.mismatching, found.out_of_range, found.stale, found.impossible),
            (0.5, 0.1, 4, 1.79)
        );
        assert!(found.blames_more_than(&said("", "", "")));
        assert!(said(converted, laid_out, "").blames_more_than(&said("", "", "")));
        assert!(!said(converted, laid_out, "").blames_more_than(&found));
    }

    #[test]
    fn a_tool_that_gives_up_says_why() {
        let found = said("", "/usr/bin/llvm-bolt: exit status: 1: BOLT-ERROR: cannot process", "");
        assert_eq!(found.given_up.len(), 1);
        assert_eq!(said("", "", ""), Said::default());
    }
}
