//! `timewise report --format html`: everything that a profile says, as one page that needs no network.
//!
//! The page is a program of its own (`page/`): it gets the figures as columns of JSON (`Content`), sorts,
//! searches and draws them in the browser, and makes its elements by script, row by row as they come into
//! view, so that names are never read as markup and a hundred thousand rows are no burden.

mod code;
mod columns;
mod embed;
mod flame;
mod functions;
mod hints;
mod instructions;
mod loops;
mod source;
mod stacks;
mod summary;

use crate::annotate::Source;
use crate::request::Sort;
use crate::rows;
use askama::Template;
use columns::Strings;
use serde::Serialize;
use timewise_flow::Analysis;

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The figures could not be written as JSON.
    #[error("cannot write the figures as JSON: {0}")]
    Figures(#[from] serde_json::Error),
    /// The page could not be put together.
    #[error("cannot put the page together: {0}")]
    Template(#[from] askama::Error),
}

/// All that the page shows. Functions, loops and texts are named by their position in a table.
#[derive(Serialize)]
struct Content {
    summary: summary::Summary,
    functions: functions::Functions,
    calls: functions::Calls,
    loops: loops::Loops,
    instructions: instructions::Costliest,
    hints: Vec<hints::Hint>,
    waiting: stacks::Waiting,
    kernel: stacks::Kernel,
    code: code::Code,
    sources: Vec<source::SourceFile>,
    flame: flame::Flame,
    strings: Strings,
}

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    command: &'a str,
    version: &'a str,
    style: &'a str,
    script: &'a str,
    content: &'a str,
}

const STYLE: &str = include_str!("page/page.css");

/// The program in the page, a file an idea, in the order in which they build on each other.
const SCRIPT: &str = concat!(
    include_str!("page/number.js"),
    include_str!("page/element.js"),
    include_str!("page/content.js"),
    include_str!("page/rows.js"),
    include_str!("page/table.js"),
    include_str!("page/tables.js"),
    include_str!("page/stacks.js"),
    include_str!("page/flame.js"),
    include_str!("page/code.js"),
    include_str!("page/function.js"),
    include_str!("page/overview.js"),
    include_str!("page/page.js"),
);

/// The whole page. `source` gives the lines of source files.
///
/// # Errors
/// None in practice: memory does not fail.
pub fn page(analysis: &Analysis, source: Source) -> Result<String, PageError> {
    let mut strings = Strings::default();
    let summary = summary::Summary::new(analysis);
    let order = functions::Order::new(rows::functions(analysis, Sort::Own).collect());
    let loop_rows: Vec<_> = rows::loops(analysis, Sort::Own).collect();
    let (code, at) = code::Code::new(analysis, &order, &loop_rows, &mut strings);
    let content = Content {
        functions: functions::Functions::new(analysis, &order, &mut strings),
        calls: functions::Calls::new(analysis, &order),
        loops: loops::Loops::new(analysis, &loop_rows, &order, &at, &mut strings),
        instructions: instructions::Costliest::new(analysis, &order, &at, &mut strings),
        hints: hints::hints(analysis, &order, &at),
        waiting: stacks::Waiting::new(analysis, &mut strings),
        kernel: stacks::Kernel::new(analysis, &mut strings),
        sources: source::sources(analysis, &code, source),
        flame: flame::Flame::new(analysis, &order, &mut strings),
        code,
        summary,
        strings,
    };
    let page = Page {
        command: &content.summary.command,
        version: env!("CARGO_PKG_VERSION"),
        style: STYLE,
        script: SCRIPT,
        content: &embed::json(&content)?,
    };
    Ok(page.render()?)
}
