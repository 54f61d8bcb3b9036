//! Programs to plant a change in, and how they are built.

use crate::check::native::Run;
use crate::suite;
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program with a place for a change.
pub struct Program {
    /// What it is called.
    pub name: &'static str,
    /// The function that the change is planted in.
    pub function: &'static str,
    /// Folders whose files are copied before it is built.
    sources: Vec<PathBuf>,
    /// Shell command that builds `./program`.
    compile: &'static str,
    plant: Plant,
    /// Arguments for a run of a second or two and for a shorter one, read by a shell.
    arguments: [String; 2],
}

/// A change of one line in a loop, such as somebody might make, that costs about 2 % of the program's time.
struct Plant {
    file: &'static str,
    /// What only one line of the file holds.
    old: &'static str,
    /// What stands there instead.
    new: &'static str,
    /// How many lines behind it hold code that the compiler makes of it.
    further_lines: u64,
}

/// A program that was built.
pub struct Built {
    /// Where it is built, and run.
    pub folder: PathBuf,
    /// How it is run there for a second or two.
    pub long: String,
    /// How it is run there for less.
    pub short: String,
    /// The lines of the source that hold the change; none if it has it not.
    pub planted: Range<u64>,
}

impl Built {
    /// The long run.
    pub fn long_run(&self) -> Run<'_> {
        (&self.folder, &self.long)
    }
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
                sources: vec![root.join("suite/diff"), root.join("suite/kernels")],
                // What lies behind the change does not move within its line of the cache, which would move samples
                // from one instruction to the next.
                compile: "gcc -O2 -g -falign-functions=64 -o program planted.c",
                plant: Plant {
                    file: "planted.c",
                    old: "h = cells[h % CELLS] + (h >> 7);",
                    new: "h = (cells[h % CELLS] + (h >> 7)) * 0xd6e8feb86659fd93ul;",
                    further_lines: 0,
                },
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
                // A position that wraps around does so by a remainder, of 64 bits lest the sum overflow.
                plant: Plant {
                    file: "compress.c",
                    old: "j = ptr[i]-1; if (j < 0) j += s->nblock;",
                    new: "j = (ptr[i] + (unsigned long)s->nblock - 1) % (unsigned long)s->nblock;",
                    // The position is used there, and only there.
                    further_lines: 1,
                },
                arguments: [
                    format!("-9 -k -c {}", input("text-m.txt")),
                    format!("-9 -k -c {} {}", input("text-s.txt"), input("blob-m.bin")),
                ],
            },
            "lua" => Program {
                name: "lua",
                function: "luaS_hash",
                sources: vec![work.join("build/lua-5.4.4/src")],
                // The seed of its hashes is one for all runs: else they count differently. The function must not be a
                // part of its caller in one build only, and what lies behind it must not move: where Lua's code lies
                // is worth 3 % of its time.
                compile: "rm -f luac.c; gcc -O2 -g -fno-inline-small-functions -falign-functions=64 -DLUA_USE_POSIX \
                          '-Dluai_makeseed(L)=24301u' -o program $(ls *.c | grep -v lstring.c) lstring.c -lm",
                // A hash whose shift has become a division.
                plant: Plant {
                    file: "lstring.c",
                    old: "h ^= ((h<<5) + (h>>2) + cast_byte(str[l - 1]));",
                    new: "h ^= ((h<<5) + h / (4 | l >> 40) + cast_byte(str[l - 1]));",
                    further_lines: 0,
                },
                arguments: [80, 12]
                    .map(|rounds| format!("{} {rounds}", work.join("scripts/luabench.lua").display())),
            },
            "sqlite" => Program {
                name: "sqlite",
                function: "sqlite3BtreeIndexMoveto",
                sources: vec![sqlite_sources(root)?, root.join("suite/diff")],
                compile: "gcc -O2 -g -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -o program statements.c \
                          sqlite3.c -lm",
                // A cell's position on its page, held to the page by a remainder.
                plant: Plant {
                    file: "sqlite3.c",
                    old: "      nCell = pCell[0];",
                    new: "pCell = pPage->aData + (u32)(pCell - pPage->aData) % pCur->pBt->pageSize; nCell = pCell[0];",
                    further_lines: 0,
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
        let planted = if is_planted { self.plant.put_into(folder)? } else { 0..0 };
        let output = Command::new("bash").args(["-c", self.compile]).current_dir(folder).output();
        let output = output.context("bash")?;
        ensure!(output.status.success(), "{}: {}", self.name, String::from_utf8_lossy(&output.stderr));
        let [long, short] = self.arguments.each_ref().map(|arguments| format!("./program {arguments}"));
        Ok(Built { folder: folder.to_path_buf(), long, short, planted })
    }
}

impl Plant {
    /// Changes the line, and gives the numbers of those that hold its code.
    fn put_into(&self, folder: &Path) -> Result<Range<u64>> {
        let file = folder.join(self.file);
        // Not all sources are UTF-8, in comments that do not matter.
        let bytes = std::fs::read(&file).with_context(|| file.display().to_string())?;
        let source = String::from_utf8_lossy(&bytes);
        let holds = |(_, line): &(u64, &str)| line.contains(self.old);
        let found: Vec<u64> = (1..).zip(source.lines()).filter(holds).map(|(number, _)| number).collect();
        let [number] = found[..] else {
            bail!("{}: {} lines hold {:?}", file.display(), found.len(), self.old)
        };
        std::fs::write(&file, source.replacen(self.old, self.new, 1))?;
        Ok(number..number + 1 + self.further_lines)
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

/// Where cargo keeps the amalgamation of SQLite that timewise is built with.
fn sqlite_sources(root: &Path) -> Result<PathBuf> {
    let output = Command::new(env!("CARGO"))
        // Packages for other systems need not have been downloaded.
        .args([
            "metadata",
            "--format-version",
            "1",
            "--offline",
            "--filter-platform",
            "x86_64-unknown-linux-gnu",
        ])
        .current_dir(root)
        .output()
        .context("cargo metadata")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let package = packages.iter().find(|package| package["name"] == "libsqlite3-sys").context("no SQLite")?;
    let manifest = Path::new(package["manifest_path"].as_str().context("a package without a manifest")?);
    Ok(manifest.with_file_name("sqlite3"))
}
