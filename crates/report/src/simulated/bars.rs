//! Cycle stacks as bars in text.

use super::why::reasons;
use timewise_attribution::Parts;
use timewise_flow::{Analysis, InstructionId, Modelled};

/// Columns of the longest bar of a listing.
const LONGEST: f64 = 16.0;

/// Components shorter than this have no bar of their own.
const SHORTEST: f64 = 0.5;

/// Parts of a column, in eighths.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// An instruction's stack as a bar for each reason, with the reason behind it: `████▌ TLB miss ██ commits`. A bar
/// as long as any is `longest` cycles.
pub fn bar(analysis: &Analysis, modelled: &Modelled, id: InstructionId, longest: Parts) -> String {
    let pieces = reasons(analysis, modelled, id).into_iter().filter_map(|reason| {
        let columns = LONGEST * reason.cycles.of(longest);
        (columns >= SHORTEST).then(|| format!("{} {}", blocks(columns), reason.words))
    });
    pieces.collect::<Vec<_>>().join(" ")
}

fn blocks(columns: f64) -> String {
    let eighths = (8.0 * columns).round() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::blocks;

    #[test]
    fn a_column_has_eight_parts() {
        assert_eq!([blocks(0.5), blocks(2.0), blocks(1.99), blocks(1.125)], ["▌", "██", "██", "█▏"]);
    }
}
