//! What paths tell that edges do not, in words and as rows of JSON.

use crate::abbreviate::in_sentence;
use crate::labels;
use crate::number::{count, percent, quantity};
use crate::rows::compact;
use crate::style::{Style, Tone};
use serde::Serialize;
use timewise_flow::Analysis;
use timewise_flow::code::ExecutedBlock;
use timewise_flow::correlation::{Correlations, Follower, Trunk, correlations};
use timewise_profile::BlockId;

/// Hints below a table of paths.
const SHOWN: usize = 5;

/// A hint as a row.
#[derive(Clone, Debug, Serialize)]
pub struct PathHintRow {
    /// `superblock` or `correlated-branches`.
    pub kind: &'static str,
    /// Path of the module.
    pub module: String,
    /// Name of the function.
    pub function: String,
    /// Link-time address of the path's first block, or of the block that ends with the branch that follows.
    pub offset: u64,
    /// The same of the block that ends with the branch that it follows; null for a path.
    pub follows: Option<u64>,
    /// How often the path was taken, or control went through both branches.
    pub executions: u64,
    /// How often the second branch went as the first lets expect; null for a path.
    pub as_expected: Option<u64>,
    /// Share of all instructions, 0 to 1.
    #[serde(serialize_with = "compact")]
    pub share: f64,
    /// All of it in words.
    pub sentence: String,
}

/// All hints: of each kind the largest shares first.
pub fn rows(analysis: &Analysis) -> Vec<PathHintRow> {
    let Correlations { trunks, followers } = correlations(analysis);
    let trunks = trunks.iter().map(|trunk| of_trunk(analysis, trunk));
    trunks.chain(followers.iter().map(|follower| of_follower(analysis, follower))).collect()
}

fn of_trunk(analysis: &Analysis, trunk: &Trunk) -> PathHintRow {
    let path = &analysis.profile.paths[trunk.path];
    let [first, .., last] = path.blocks[..] else { unreachable!("branches on a path are blocks of it") };
    let sentence = format!(
        "the path from {} to {} takes {} of the function's instructions, past {}: as one superblock it \
         would fall through",
        labels::place(analysis.profile, block(analysis, first).place),
        end(analysis, last),
        percent(trunk.share_of_function),
        quantity(trunk.branches as u64, "branch"),
    );
    row(analysis, "superblock", first, path.executions, trunk.share, sentence)
}

fn of_follower(analysis: &Analysis, follower: &Follower) -> PathHintRow {
    let &Follower { first, second, executions, as_expected, share } = follower;
    let part = as_expected as f64 / executions.max(1) as f64;
    let sentence = format!(
        "the branch at {} goes as the one at {} went, in {} of {}: the way behind the first needs no second test",
        end(analysis, second),
        end(analysis, first),
        percent(part),
        count(executions),
    );
    let follows = Some(block(analysis, first).place.offset.0);
    PathHintRow {
        follows,
        as_expected: Some(as_expected),
        ..row(analysis, "correlated-branches", second, executions, share, sentence)
    }
}

fn row(
    analysis: &Analysis,
    kind: &'static str,
    at: BlockId,
    executions: u64,
    share: f64,
    sentence: String,
) -> PathHintRow {
    let place = block(analysis, at).place;
    PathHintRow {
        kind,
        module: labels::module_path(analysis.profile, place.module),
        function: analysis.name_of(analysis.owner[at.index()]),
        offset: place.offset.0,
        follows: None,
        executions,
        as_expected: None,
        share,
        sentence,
    }
}

fn block<'a>(analysis: &'a Analysis, id: BlockId) -> &'a ExecutedBlock {
    &analysis.code.blocks[id.index()]
}

/// Where a block's last instruction stands.
fn end(analysis: &Analysis, id: BlockId) -> String {
    labels::place(analysis.profile, analysis.code.place(block(analysis, id).last()))
}

/// The first of them as lines of text; nothing where there are none.
pub fn text(analysis: &Analysis, style: Style) -> String {
    let line = |hint: PathHintRow| {
        style.wrap(
            Tone::Plain,
            &format!("{} of all in {}: {}", percent(hint.share), in_sentence(&hint.function), hint.sentence),
        )
    };
    let lines: String = rows(analysis).into_iter().take(SHOWN).map(line).collect();
    match lines.is_empty() {
        true => lines,
        false => format!("\n{}\n{lines}", style.paint(Tone::Heading, "Hints")),
    }
}
