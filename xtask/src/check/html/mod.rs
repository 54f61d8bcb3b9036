//! `cargo xtask check html`: the page of `timewise report --format html`, in a browser.
//!
//! One page is of a real program, timewise itself reading a profile; what it shows is compared with the JSON
//! reports of the same profile. Another has a hundred thousand functions, some with names that would break a
//! page which takes names for markup. A third is of a program that waits and has the kernel copy.

mod browser;
mod many;
mod pages;
mod stacks;
mod views;

use crate::folder::Folder;
use crate::profiler::Profiler;
use anyhow::{Context, Result, ensure};
use browser::Browser;
use clap::Args;
use pages::Page;
use std::path::{Path, PathBuf};

/// What to check.
#[derive(Args)]
pub struct Options {
    /// Save what an overview of the first page looks like as this PNG file
    #[arg(long, value_name = "FILE")]
    screenshot: Option<PathBuf>,
    /// Show this profile in the first page instead of a new one
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
}

/// Width and height of the window, in pixels.
const WINDOW: (u32, u32) = (1280, 900);

/// Prints what was found right.
///
/// # Errors
/// If anything is not as it should be, or there is no browser.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let timewise = Profiler::build(root)?.program;
    let scratch = Folder::of(root, "html")?;
    let mut browser = Browser::start(&scratch.join("browser"), WINDOW.0, WINDOW.1)
        .context("no browser: scripts/setup-debian browser installs one")?;
    let real = match &options.profile {
        Some(profile) => Page::of(&timewise, &profile.canonicalize()?, &scratch.join("real.html"))?,
        None => pages::of_timewise_itself(root, &timewise, &scratch)?,
    };
    views::check(&mut browser, &real, &scratch)?;
    if let Some(file) = &options.screenshot {
        views::picture(&mut browser, &real, file)?;
    }
    let kernel = pages::of_the_kernel(&timewise, &scratch)?;
    stacks::check(&mut browser, &kernel, &scratch)?;
    let many = pages::of_many_functions(&timewise, &scratch)?;
    many::check(&mut browser, &many)?;
    ensure!(browser.complaints.is_empty(), "the pages complain: {}", browser.complaints.join("; "));
    println!("html: the pages asked for nothing and reported no error");
    Ok(())
}

/// Two values that the page shows and the report says must be the same.
fn same<T: PartialEq + std::fmt::Debug>(what: &str, shown: T, reported: T) -> Result<()> {
    ensure!(shown == reported, "{what}: the page shows {shown:?}, the report says {reported:?}");
    Ok(())
}

/// Position of a column by its title, from 1.
fn column(browser: &mut Browser, title: &str) -> Result<u64> {
    let found = browser.evaluate(&format!(
        "[...document.querySelectorAll('th')].findIndex((heading) => heading.textContent === '{title}') + 1"
    ))?;
    found.as_u64().filter(|&at| at > 0).with_context(|| format!("no column {title}"))
}
