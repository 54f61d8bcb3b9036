//! Programs to plant a change in, and how they are built.

use crate::suite;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Command;

/// More work on a variable, without a change of its value: some multiplications, each of which waits for the one
/// before, and for the last of which the variable waits.
const PLANT: &str = "if (WHEN) do { unsigned long work_ = (unsigned long)(VARIABLE), none_ = 0; \
    for (int round_ = 0; round_ < ROUNDS; round_++) work_ = (work_ ^ work_ >> 9) * 0xd6e8feb86659fd93ul; \
    __asm__(\"\" : \"+r\"(none_)); (VARIABLE) += (work_ & none_); } while (0);";

/// A program with a place for a change.
pub struct Program {
    /// What it is called.
    pub name: &'static str,
    /// The function that the change is planted in.
    pub function: &'static str,
    /// Folders whose files are copied before it is built.
    sources: Vec<PathBuf>,
    /// Shell command that builds `./program`; `$PLANTED` is `-DPLANTED` or empty.
    compile: &'static str,
    change: Change,
    /// Arguments for a run of a second or two and for a shorter one, read by a shell.
    arguments: [String; 2],
}

/// How the change gets in.
enum Change {
    /// The source has it where `PLANTED` is defined.
    Defined(&'static str),
    /// A line before the only one of `file` that holds `line`, with the variable, the multiplications, and when
    /// there are any.
    Planted {
        file: &'static str,
        line: &'static str,
        variable: &'static str,
        rounds: u32,
        when: &'static str,
    },
}

/// A program that was built.
pub struct Built {
    /// Where it is built, and run.
    pub folder: PathBuf,
    /// How it is run there for a second or two, and for less.
    pub commands: [String; 2],
    /// Lines of the source that hold the change.
    pub lines: RangeInclusive<u64>,
}

impl Program {
    /// The program of this name.
    ///
    /// # Errors
    /// If there is none, or its sources are not there.
    pub fn named(root: &Path, name: &str) -> Result<Program> {
        if name == "planted" {
            return Ok(Program {
                name: "planted",
                function: "scatter",
                sources: vec![root.join("suite/cases"), root.join("suite/kernels")],
                compile: "sed -i 's|../kernels/||' planted.c; gcc -O2 -g $PLANTED -o program planted.c",
                change: Change::Defined("planted.c"),
                arguments: ["20000", "4000"].map(str::to_string),
            });
        }
        let work = suite::work_folder(root)?;
        let input = |file: &str| work.join("in").join(file).display().to_string();
        Ok(match name {
            "bzip2" => Program {
                name: "bzip2",
                function: "generateMTFValues",
                sources: vec![work.join("build/bzip2-1.0.8")],
                compile: "gcc -O2 -g -D_FILE_OFFSET_BITS=64 -o program bzip2.c blocksort.c huffman.c crctable.c \
                          randtable.c compress.c decompress.c bzlib.c",
                change: Change::Planted {
                    file: "compress.c",
                    line: "AssertD ( ll_i < s->nInUse, \"generateMTFValues(2a)\" );",
                    variable: "ll_i",
                    rounds: 2,
                    when: "i & 1",
                },
                arguments: [
                    format!("-9 -k -c {0} {0} {1}", input("text-m.txt"), input("blob-m.bin")),
                    format!("-9 -k -c {} {}", input("text-s.txt"), input("blob-m.bin")),
                ],
            },
            "lua" => Program {
                name: "lua",
                function: "luaH_getshortstr",
                sources: vec![work.join("build/lua-5.4.4/src")],
                // The seed of its hashes is one for all runs: else they count differently.
                compile: "rm -f luac.c; gcc -O2 -g -DLUA_USE_POSIX '-Dluai_makeseed(L)=24301u' -o program *.c -lm",
                change: Change::Planted {
                    file: "ltable.c",
                    line: "if (keyisshrstr(n) && eqshrstr(keystrval(n), key))",
                    variable: "n",
                    rounds: 1,
                    when: "(key->hash & 3) == 0",
                },
                arguments: [160, 16]
                    .map(|rounds| format!("{} {rounds}", work.join("scripts/luabench.lua").display())),
            },
            "sqlite" => Program {
                name: "sqlite",
                function: "sqlite3BtreeIndexMoveto",
                sources: vec![sqlite_sources(root)?, root.join("suite/diff")],
                compile: "gcc -O2 -g -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -o program statements.c \
                          sqlite3.c -lm",
                change: Change::Planted {
                    file: "sqlite3.c",
                    line: "if( pCell + nCell >= pPage->aDataEnd ){",
                    variable: "nCell",
                    rounds: 2,
                    when: "1",
                },
                arguments: ["q-m.sql", "q-s.sql"].map(input),
            },
            _ => bail!("no program {name}: there are bzip2, lua, sqlite and planted"),
        })
    }

    /// Builds it in `folder`.
    ///
    /// # Errors
    /// If it does not build, or there is no place for the change.
    pub fn build(&self, folder: &Path, is_planted: bool) -> Result<Built> {
        std::fs::create_dir_all(folder)?;
        for source in &self.sources {
            copy_files(source, folder)?;
        }
        let lines = match (&self.change, is_planted) {
            (_, false) => 0..=0,
            (Change::Defined(file), true) => defined_lines(&folder.join(file))?,
            (Change::Planted { file, line, variable, rounds, when }, true) => {
                let text = PLANT.replace("WHEN", when).replace("VARIABLE", variable);
                let text = text.replace("ROUNDS", &rounds.to_string());
                plant(&folder.join(file), line, &text)?
            }
        };
        let output = Command::new("bash")
            .args(["-c", self.compile])
            .env("PLANTED", if is_planted { "-DPLANTED" } else { "" })
            .current_dir(folder)
            .output()
            .context("bash")?;
        ensure!(output.status.success(), "{}: {}", self.name, String::from_utf8_lossy(&output.stderr));
        let commands = self.arguments.each_ref().map(|arguments| format!("./program {arguments}"));
        Ok(Built { folder: folder.to_path_buf(), commands, lines })
    }
}

/// The files of one folder, without those of folders in it.
fn copy_files(from: &Path, to: &Path) -> Result<()> {
    for entry in std::fs::read_dir(from).with_context(|| from.display().to_string())? {
        let path = entry?.path();
        if let (true, Some(name)) = (path.is_file(), path.file_name()) {
            std::fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

/// Puts a line before the one that holds `line`, and gives its number.
fn plant(file: &Path, line: &str, text: &str) -> Result<RangeInclusive<u64>> {
    let bytes = std::fs::read(file).with_context(|| file.display().to_string())?;
    let source = String::from_utf8_lossy(&bytes);
    let found: Vec<usize> =
        (0..).zip(source.lines()).filter(|(_, of)| of.contains(line)).map(|(at, _)| at).collect();
    let [at] = found[..] else { bail!("{}: {} lines hold {line:?}", file.display(), found.len()) };
    let lines: Vec<&str> = source.lines().collect();
    let planted = [&lines[..at], &[text], &lines[at..]].concat().join("\n");
    std::fs::write(file, planted + "\n")?;
    let number = at as u64 + 1;
    Ok(number..=number)
}

/// The lines between `#ifdef PLANTED` and `#endif`.
fn defined_lines(file: &Path) -> Result<RangeInclusive<u64>> {
    let source = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let at =
        |text: &str, from: usize| source.lines().skip(from).position(|line| line == text).map(|at| at + from);
    let begin = at("#ifdef PLANTED", 0).context("no #ifdef PLANTED")?;
    let end = at("#endif", begin).context("no #endif")?;
    Ok(begin as u64 + 2..=end as u64)
}

/// Where cargo keeps the amalgamation of SQLite that timewise is built with.
fn sqlite_sources(root: &Path) -> Result<PathBuf> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline"])
        .current_dir(root)
        .output()
        .context("cargo metadata")?;
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let package = packages.iter().find(|package| package["name"] == "libsqlite3-sys").context("no SQLite")?;
    let manifest = Path::new(package["manifest_path"].as_str().context("a package without a manifest")?);
    Ok(manifest.with_file_name("sqlite3"))
}
