//! A page of a hundred thousand rows: how fast it opens, sorts and scrolls, and that names stay names.

use super::browser::Browser;
use super::pages::{HOSTILE, MANY, Page};
use super::{column, same};
use anyhow::{Result, ensure};
use serde_json::json;
use std::time::{Duration, Instant};

/// A page is to open, and to be sorted, before its reader looks elsewhere: within some seconds, and on a crowded
/// machine in no more than ten times that.
const OPENED: Duration = Duration::from_secs(60);
const SORTED: Duration = Duration::from_secs(30);

/// The names in the rows that are shown, from the first on.
const NAMES: &str = "[...document.querySelectorAll('tbody td.name a')].map((a) => a.textContent)";

/// Looks at the page.
///
/// # Errors
/// If something is wrong or slow.
pub fn check(browser: &mut Browser, page: &Page) -> Result<()> {
    let opened = browser.open(&page.file, "document.querySelectorAll('.hottest li').length > 0")?;
    let overview =
        browser.evaluate("[...document.querySelectorAll('.hottest b')].map((b) => b.textContent)")?;
    same(
        "hottest names",
        overview.as_array().map(|all| all[..HOSTILE.len()].to_vec()),
        Some(HOSTILE.map(|name| json!(name)).to_vec()),
    )?;
    browser.click("#views a[href='#functions']")?;
    browser.wait("document.querySelectorAll('tbody td.name a').length > 20")?;
    let names = browser.evaluate(NAMES)?;
    same(
        "names in the table",
        names.as_array().map(|all| all[..HOSTILE.len()].to_vec()),
        Some(HOSTILE.map(|name| json!(name)).to_vec()),
    )?;
    same(
        "rows",
        browser.evaluate("document.querySelector('.rows').getAttribute('aria-rowcount')")?,
        json!((MANY + 1).to_string()),
    )?;

    let heading = format!("th:nth-child({})", column(browser, "Calls")?);
    let started = Instant::now();
    browser.click(&format!("{heading} button"))?;
    browser.wait(&format!("document.querySelector('{heading}').ariaSort === 'descending'"))?;
    browser.wait(&format!("{NAMES}[0] === 'function_{:06}'", MANY - 1))?;
    let sorted = started.elapsed();
    browser.click(&format!("{heading} button"))?;
    browser.wait(&format!("{NAMES}[0] === {}", json!(HOSTILE[0])))?;

    browser.evaluate("document.querySelector('.scroller').scrollTop = 1e9")?;
    browser.wait(&format!("{NAMES}.at(-1) === 'function_{:06}'", MANY - 1))?;
    let elements = browser.evaluate("document.querySelectorAll('tr').length")?;
    ensure!(
        elements.as_u64().is_some_and(|rows| rows < 200),
        "{elements} rows are elements: the page will be slow"
    );

    browser.press("/")?;
    browser.type_text("_0999")?;
    browser.wait("document.querySelector('.rows-shown').textContent === '100 of 100,000 functions'")?;
    browser.click("tbody td.name a")?;
    browser.wait("document.querySelector('h1').textContent === 'function_099900'")?;
    browser.wait("document.querySelectorAll('table.code td.asm').length === 2")?;
    same("script in a name", browser.evaluate("typeof window.harmed")?, json!("undefined"))?;

    ensure!(opened < OPENED, "100,000 rows take {opened:?} to open");
    ensure!(sorted < SORTED, "100,000 rows take {sorted:?} to sort");
    println!("html: 100,000 functions open in {opened:.1?} and are sorted in {sorted:.1?}");
    Ok(())
}
