//! Every view of a real program's page: what it shows, and what clicks and keys do.

use super::browser::Browser;
use super::pages::Page;
use super::{column, same};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::path::Path;

const READY: &str = "document.querySelectorAll('.tile').length > 1";

/// Looks at each view, and leaves a picture of it in `scratch`.
///
/// # Errors
/// If something is wrong.
pub fn check(browser: &mut Browser, page: &Page, scratch: &Path) -> Result<()> {
    let opened = browser.open(&page.file, READY)?;
    let hottest = overview(browser, page)?;
    named_controls(browser)?;
    browser.screenshot(&scratch.join("overview.png"))?;
    functions(browser, page, &hottest)?;
    named_controls(browser)?;
    browser.screenshot(&scratch.join("functions.png"))?;
    loops(browser, page)?;
    browser.screenshot(&scratch.join("loops.png"))?;
    flame_graph(browser, scratch)?;
    named_controls(browser)?;
    function(browser, page, &hottest)?;
    named_controls(browser)?;
    browser.screenshot(&scratch.join("function.png"))?;
    colours(browser)?;
    browser.screenshot(&scratch.join("dark.png"))?;
    println!("html: all views of a real program work; it opens in {opened:.1?}");
    Ok(())
}

/// Saves what the first screen looks like.
///
/// # Errors
/// If it cannot be written.
pub fn picture(browser: &mut Browser, page: &Page, file: &Path) -> Result<()> {
    browser.prefer("light")?;
    browser.evaluate("localStorage.clear(); location.hash = ''")?;
    browser.open(&page.file, READY)?;
    browser.screenshot(file)
}

/// The hottest function, which is named first.
fn overview(browser: &mut Browser, page: &Page) -> Result<Value> {
    let hottest = page.rows("function")?.into_iter().next().context("no functions")?;
    same("hottest function", text(browser, ".hottest b")?, hottest["function"].clone())?;
    let listed = browser.evaluate("document.querySelectorAll('.card a[href^=\"#function/\"]').length")?;
    ensure!(listed.as_u64() > Some(8), "the overview lists too little: {listed}");
    Ok(hottest)
}

fn functions(browser: &mut Browser, page: &Page, hottest: &Value) -> Result<()> {
    browser.click("#views a[href='#functions']")?;
    browser.wait("document.querySelector('tbody td.name a') !== null")?;
    let rows = page.rows("function")?;
    let rows_said = text(browser, ".rows-shown")?;
    same("number of functions", rows_said, json!(format!("{} functions", grouped(rows.len()))))?;
    same("first function", text(browser, "tbody td.name a")?, hottest["function"].clone())?;

    // By calls, most first, and then fewest.
    let most = rows.iter().filter_map(|row| row["calls"].as_u64()).max().context("nothing was called")?;
    let (calls, calls_cell) = (column(browser, "Calls")?, "tbody tr:not(.pad) td");
    browser.click(&format!("th:nth-child({calls}) button"))?;
    browser.wait(&format!("document.querySelector('th:nth-child({calls})').ariaSort === 'descending'"))?;
    let shown =
        browser.evaluate(&format!("document.querySelectorAll('{calls_cell}')[{}].textContent", calls - 1))?;
    let expected = browser.evaluate(&format!("count({most})"))?;
    same("most calls", shown, expected)?;
    browser.click(&format!("th:nth-child({calls}) button"))?;
    browser.wait(&format!("document.querySelector('th:nth-child({calls})').ariaSort === 'ascending'"))?;

    // A search leaves what matches.
    let word = "core::";
    let matching = rows.iter().filter(|row| {
        let file = row["file"].as_str().unwrap_or(row["module"].as_str().unwrap_or_default());
        let place = file.rsplit('/').next().unwrap_or_default();
        row["function"].as_str().is_some_and(|name| name.contains(word)) || place.contains(word)
    });
    let matching = matching.count();
    browser.press("/")?;
    browser.type_text(word)?;
    let said = format!("{} of {} functions", grouped(matching), grouped(rows.len()));
    browser
        .wait(&format!("document.querySelector('.rows-shown').textContent === '{said}'"))
        .with_context(|| format!("search for {word}"))?;
    browser.press("Escape")?;
    browser.wait(&format!(
        "document.querySelector('.rows-shown').textContent === '{} functions'",
        grouped(rows.len())
    ))
}

fn loops(browser: &mut Browser, page: &Page) -> Result<()> {
    browser.click("#views a[href='#loops']")?;
    let rows = page.rows("loop")?;
    browser.wait(&format!(
        "document.querySelector('.rows-shown').textContent === '{} loops'",
        grouped(rows.len())
    ))?;
    let entered = column(browser, "Entered")?;
    let shown = browser.evaluate(&format!(
        "document.querySelector('tbody tr:not(.pad) td:nth-child({entered})').textContent"
    ))?;
    let expected = browser.evaluate(&format!("count({})", rows[0]["invocations"]))?;
    same("entries of the hottest loop", shown, expected)?;
    // Into its function, where its header is marked.
    browser.click("tbody td.name a")?;
    browser.wait("document.querySelector('tr.target') !== null")?;
    browser.evaluate("history.back()").map(drop)
}

fn flame_graph(browser: &mut Browser, scratch: &Path) -> Result<()> {
    browser.click("#views a[href='#flame']")?;
    browser.wait("document.querySelectorAll('.flame-view .frame').length > 5")?;
    browser.screenshot(&scratch.join("flame.png"))?;
    let width = |node: &str| {
        format!("document.querySelector('.flame-view .frame[data-node=\"{node}\"]').style.width")
    };
    // Each frame is as wide as its share of the time, to a pixel.
    let off = browser.evaluate(
        "Math.max(...[...document.querySelectorAll('.flame-view .frame')].map((frame) => { \
         const wanted = flame.cycles[frame.dataset.node] / flame.cycles[0] * frame.parentNode.clientWidth; \
         return Math.abs(parseFloat(frame.style.width) + 1 - wanted); }))",
    )?;
    ensure!(off.as_f64().is_some_and(|off| off < 1.0), "a frame's width is off by {off} pixels");
    // The first frame that is not everything, if it is less than that.
    let node = browser.evaluate(
        "[...document.querySelectorAll('.flame-view .frame')].find((frame) => \
         flame.cycles[frame.dataset.node] < 0.9 * flame.cycles[0] && frame.clientWidth > 60)?.dataset.node",
    )?;
    let node = node.as_str().context("no frame to zoom into")?.to_string();
    let narrow = browser.evaluate(&width(&node))?;
    browser.click(&format!(".flame-view .frame[data-node='{node}']"))?;
    browser.wait(&format!(
        "parseFloat({}) + 1 === document.querySelector('.flame-view .flame').clientWidth",
        width(&node)
    ))?;
    browser.press("Escape")?;
    browser
        .evaluate(&format!("document.querySelector('.flame-view .frame[data-node=\"{node}\"]').focus()"))?;
    browser.press("Escape")?;
    browser.wait(&format!("{} === {narrow}", width(&node)))?;
    // Keys walk from the root to its first callee.
    browser.press("ArrowDown")?;
    browser.wait("flame.parent[document.activeElement.dataset.node] === 0")?;
    browser.press("/")?;
    browser.type_text("report")?;
    browser.wait("document.querySelectorAll('.frame.match').length > 0 && document.querySelectorAll('.frame.other').length > 0")?;
    browser.press("Escape")?;
    browser.wait("document.querySelectorAll('.frame.other').length === 0")?;
    browser.click(".choices button:nth-child(2)")?;
    browser.wait("document.querySelectorAll('.frame.by-cpi').length > 0")?;
    browser.screenshot(&scratch.join("flame-cpi.png"))
}

fn function(browser: &mut Browser, page: &Page, hottest: &Value) -> Result<()> {
    browser.click(".brand")?;
    browser.wait("document.querySelector('.hottest a') !== null")?;
    browser.click(".hottest a")?;
    browser.wait("document.querySelector('table.code') !== null")?;
    same("function", text(browser, "h1")?, hottest["function"].clone())?;
    let of_it = |row: &Value| row["function"] == hottest["function"] && row["module"] == hottest["module"];
    let rows: Vec<Value> = page.rows("instruction")?.into_iter().filter(of_it).collect();
    // The hottest instruction, the first of equally hot ones, is in view, with the executions that the report says.
    let equals = rows.iter().take_while(|row| row["cycles"] == rows[0]["cycles"]);
    let costliest = equals.min_by_key(|row| row["offset"].as_u64()).context("no instruction of it")?;
    let offset = format!("{:#x}", costliest["offset"].as_u64().context("no offset")?);
    let row = format!(
        "[...document.querySelectorAll('table[aria-label=Instructions] tr')].find((row) => row.querySelector('.offset')?.textContent === '{offset}')"
    );
    browser.wait(&format!("{row} !== undefined"))?;
    let executions = browser.evaluate(&format!("{row}.querySelectorAll('td.number')[1].textContent"))?;
    same("executions", executions, browser.evaluate(&format!("count({})", costliest["executions"]))?)?;
    same(
        "instruction",
        browser.evaluate(&format!("{row}.querySelector('.asm').textContent"))?,
        costliest["text"].clone(),
    )?;
    // Its source line is there, and a click on either finds the other.
    let (file, line) = (costliest["file"].as_str(), costliest["line"].as_u64());
    let Some((file, line)) = file.zip(line) else { return Ok(()) };
    let Ok(source) = std::fs::read_to_string(file) else { return Ok(()) };
    let written =
        source.lines().nth(line as usize - 1).context("the source ends before")?.replace('\t', "    ");
    browser.evaluate(&format!("{row}.querySelector('td.line button').click()"))?;
    browser.wait("document.querySelector('table[aria-label=Source] tr.chosen td.source') !== null")?;
    same("source", text(browser, "table[aria-label=Source] tr.chosen td.source")?, json!(written))?;
    browser.wait(&format!("{row}.classList.contains('chosen')"))
}

/// The button changes the colours, and they differ.
fn colours(browser: &mut Browser) -> Result<()> {
    let background = "getComputedStyle(document.documentElement).backgroundColor";
    browser.click("#theme")?;
    let light = browser.evaluate(background)?;
    browser.click("#theme")?;
    let dark = browser.evaluate(background)?;
    ensure!(light != dark, "light and dark are the same");
    Ok(())
}

/// Whatever can be activated has a name for those who do not see it.
fn named_controls(browser: &mut Browser) -> Result<()> {
    browser.call("Accessibility.enable", json!({}))?;
    let tree = browser.call("Accessibility.getFullAXTree", json!({}))?;
    let nodes = tree["nodes"].as_array().context("no accessibility tree")?;
    let active = ["button", "link", "searchbox", "columnheader", "table"];
    for node in nodes.iter().filter(|node| node["ignored"] == false) {
        let role = node["role"]["value"].as_str().unwrap_or_default();
        let name = node["name"]["value"].as_str().unwrap_or_default();
        ensure!(!active.contains(&role) || !name.trim().is_empty(), "a {role} has no name: {node}");
    }
    Ok(())
}

fn text(browser: &mut Browser, selector: &str) -> Result<Value> {
    browser.evaluate(&format!("document.querySelector({}).textContent", json!(selector)))
}

fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
