//! What the check runs: small inputs of its own, or workloads of the suite at size `test`.

use crate::suite;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program with an input.
#[derive(Clone, Debug)]
pub struct Program {
    /// What it is called on the command line.
    pub name: String,
    /// Shell command; a prefix goes before its first word.
    pub command: String,
    /// Where it runs.
    pub folder: PathBuf,
    /// Variables that it needs.
    pub environment: Vec<(String, String)>,
    /// Whether it is linked statically. Its command then is words without quotes.
    pub is_static: bool,
}

/// Programs that are installed anyway, with inputs of a second or two under callgrind.
const SMALL: [(&str, &str); 7] = [
    ("small-bzip2", "bzip2 -c Cargo.lock"),
    ("small-xz", "xz -T1 -1 -c Cargo.lock"),
    ("small-perl", "perl suite/scripts/perlbench.pl ARCHITECTURE.md 1"),
    (
        "small-sqlite3",
        "sqlite3 -batch :memory: \"with recursive n(i) as (select 1 union all select i+1 from n where i<3000) select sum(i*i%7), count(distinct i%97) from n;\"",
    ),
    (
        "small-gnugo",
        "/usr/games/gnugo --mode gtp --seed 1 --level 1 <<< $'boardsize 5\ngenmove black\ngenmove white\nshowboard\nquit'",
    ),
    ("small-static", "$STATIC"),
    ("small-sort", "sort -k2 Cargo.lock"),
];

/// The programs named (small ones, `lua-unseeded`, or workloads), or all small ones if `names` is empty.
///
/// # Errors
/// If there is no such program, or one cannot be built.
pub fn select(root: &Path, scratch: &Path, names: &[String]) -> Result<Vec<Program>> {
    if names.is_empty() {
        return SMALL.iter().map(|(name, command)| small(root, scratch, name, command)).collect();
    }
    let one = |name: &String| {
        if let Some((name, command)) = SMALL.iter().find(|(small, _)| small == name) {
            return small(root, scratch, name, command);
        }
        if name == UNSEEDED_LUA {
            return unseeded_lua(root, scratch);
        }
        let workload = suite::select(root, std::slice::from_ref(name))?.pop().context("no workload")?;
        Ok(Program {
            name: name.clone(),
            command: workload.command(suite::Size::Test).to_string(),
            folder: suite::work_folder(root)?,
            environment: workload.environment,
            is_static: name.ends_with("-static"),
        })
    };
    names.iter().map(one).collect()
}

/// The suite's Lua, whose hashes depend on neither the time nor on where its stack lies.
const UNSEEDED_LUA: &str = "lua-unseeded";

fn unseeded_lua(root: &Path, scratch: &Path) -> Result<Program> {
    let folder = suite::work_folder(root)?;
    let built = scratch.join(UNSEEDED_LUA);
    let mut sources = Vec::new();
    for entry in std::fs::read_dir(folder.join("build/lua-5.4.4/src"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|kind| kind == "c") && !path.ends_with("luac.c") {
            sources.push(path);
        }
    }
    let mut compiler = Command::new("gcc");
    compiler.args(["-O2", "-g", "-DLUA_USE_POSIX", "-Dluai_makeseed(L)=1", "-o"]).arg(&built);
    let compiled = compiler.args(sources).arg("-lm").status().context("gcc")?;
    ensure!(compiled.success(), "{UNSEEDED_LUA}: does not compile");
    Ok(Program {
        name: UNSEEDED_LUA.to_string(),
        command: format!("{} scripts/luabench.lua 16", built.display()),
        folder,
        environment: Vec::new(),
        is_static: false,
    })
}

fn small(root: &Path, scratch: &Path, name: &str, command: &str) -> Result<Program> {
    let mut command = command.to_string();
    if command.contains("$STATIC") {
        let built = scratch.join("interp-static");
        compile_static(&root.join("suite/kernels/interp.c"), &built)?;
        command = format!("{} 0 1", built.display());
    }
    let environment = [("PERL_HASH_SEED", "0"), ("PERL_PERTURB_KEYS", "0")];
    let environment = environment.map(|(name, value)| (name.to_string(), value.to_string())).to_vec();
    let is_static = name == "small-static";
    Ok(Program { name: name.to_string(), command, folder: root.to_path_buf(), environment, is_static })
}

fn compile_static(source: &Path, built: &Path) -> Result<()> {
    let mut compiler = Command::new("gcc");
    let compiled =
        compiler.args(["-O2", "-g", "-static", "-o"]).arg(built).arg(source).status().context("gcc")?;
    ensure!(compiled.success(), "{}: does not compile", source.display());
    Ok(())
}
