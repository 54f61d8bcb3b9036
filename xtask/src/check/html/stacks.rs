//! The views of call stacks that lead to the kernel, of a program that waits and copies.

use super::browser::Browser;
use super::pages::Page;
use super::{column, same};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::path::Path;

/// Looks at both, and leaves pictures of them in `scratch`.
///
/// # Errors
/// If something is wrong.
pub fn check(browser: &mut Browser, page: &Page, scratch: &Path) -> Result<()> {
    browser.open(&page.file, "document.querySelector('.tile') !== null")?;
    browser.screenshot(&scratch.join("stacks.png"))?;
    let cards = "document.querySelectorAll('.card a[href=\"#waiting\"], .card a[href=\"#kernel\"]').length";
    ensure!(
        browser.evaluate(cards)?.as_u64() > Some(2),
        "the overview tells nothing of waiting and the kernel"
    );
    let waits = view(browser, page, "waiting")?;
    shows(browser, "Time", &format!("duration({})", waits["duration_ns"]))?;
    shows(browser, "Times", &format!("count({})", waits["times"]))?;
    browser.screenshot(&scratch.join("waiting.png"))?;
    let kernel = view(browser, page, "kernel")?;
    shows(browser, "Samples", &format!("tenths({})", kernel["samples"]))?;
    browser.screenshot(&scratch.join("kernel.png"))?;
    println!("html: what threads waited for and what the kernel did is as reported");
    Ok(())
}

/// Opens the view of that name: the first row of the report of that name, whose names it shows too.
fn view(browser: &mut Browser, page: &Page, by: &str) -> Result<Value> {
    browser.click(&format!("#views a[href='#{by}']"))?;
    let rows = page.rows(by)?;
    browser.wait(&format!(
        "document.querySelector('.rows-shown').textContent === '{} call stacks · {by}'",
        rows.len()
    ))?;
    let first = rows.into_iter().next().context("no rows")?;
    for (title, field) in [("Function", "function"), ("Called by", "caller")] {
        let named = first[field].as_str().unwrap_or("–");
        shows(browser, title, &json!(named).to_string())?;
    }
    Ok(first)
}

/// The first row shows in a column what an expression in the page gives.
fn shows(browser: &mut Browser, title: &str, expected: &str) -> Result<()> {
    let at = column(browser, title)?;
    let cell = format!("document.querySelector('tbody tr:not(.pad) td:nth-child({at})').textContent");
    let (shown, expected) = (browser.evaluate(&cell)?, browser.evaluate(expected)?);
    same(title, shown, expected)
}
