//! Programs that are built from source, by a command of the shell for which `$CLANG`, `$LINKED` and `$FDO_FLAGS` are
//! set: of packages that `suite/build` unpacked, and of the suite's kernels.

use std::path::Path;

/// A program, and what it is to do.
pub struct Program {
    /// What it is called.
    pub name: &'static str,
    /// In which folder it is built: of the suite's, or of its sources.
    folder: Folder,
    /// What is compiled there, and with what besides.
    sources: &'static str,
    /// Its arguments; it runs in the suite's folder.
    pub arguments: &'static [&'static str],
    /// What it reads.
    pub input: Option<&'static str>,
    /// A run that is short enough for every instruction of it to be simulated.
    pub short: Run,
    /// One that does next to nothing besides what each run does once, which is much of so short a run.
    pub start: Run,
}

/// Arguments of a program, and what it reads.
pub type Run = (&'static [&'static str], &'static str);

enum Folder {
    Unpacked(&'static str),
    Kernels,
}

/// What SQLite does with a table of so many rows.
macro_rules! queries {
    ($rows:literal) => {
        concat!(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, k INT, v TEXT, x REAL);
             WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c WHERE i<",
            $rows,
            ")
             INSERT INTO t SELECT i, (i*7919)%5003, 'row'||((i*31)%1009), (i*17%1000)/8.0 FROM c;
             CREATE INDEX ti ON t(k); SELECT count(*), sum(x), sum(length(v)) FROM t;
             SELECT v, count(DISTINCT k) c FROM t GROUP BY v ORDER BY c DESC, v LIMIT 5;"
        )
    };
}

/// All of them. Lua is one whose interpreter has a `switch` rather than computed gotos, which BOLT refuses.
pub const PROGRAMS: [Program; 9] = [
    Program {
        name: "bzip2",
        folder: Folder::Unpacked("bzip2-1.0.8"),
        sources: "$CLANG -D_FILE_OFFSET_BITS=64 blocksort.c huffman.c crctable.c randtable.c compress.c decompress.c \
                  bzlib.c bzip2.c",
        arguments: &["-9", "-k", "-c", "in/text-m.txt"],
        input: None,
        short: (&["-9", "-k", "-c", "in/text.txt"], ""),
        start: (&["-9", "-c"], ""),
    },
    Program {
        name: "gnugo",
        folder: Folder::Unpacked("gnugo-3.8"),
        // The members of its libraries are what belongs to the program; other sources there make its tables.
        sources: "for part in engine sgf utils patterns; do
                      for member in $(ar t $part/lib$part.a); do set -- \"$@\" $part/${member%.o}.c; done
                  done
                  $CLANG -w -fcommon -DHAVE_CONFIG_H -I. -Iutils -Iengine -Isgf -Ipatterns -Iinterface \"$@\" \
                  interface/[gmp]*.c",
        arguments: &["--mode", "gtp", "--seed", "1", "--level", "8"],
        input: Some("in/gnugo-m.gtp"),
        short: (&["--mode", "gtp", "--seed", "1", "--level", "1"], "boardsize 9\ngenmove black\ngenmove white\ngenmove black\n"),
        start: (&["--mode", "gtp", "--seed", "1", "--level", "1"], "boardsize 9\n"),
    },
    Program {
        name: "lua",
        folder: Folder::Unpacked("lua-5.4.4/src"),
        sources: "$CLANG -DLUA_USE_POSIX -DLUA_USE_JUMPTABLE=0 '-Dluai_makeseed(L)=42' $(ls *.c | grep -v luac.c)",
        arguments: &["scripts/luabench.lua", "80"],
        input: None,
        short: (&["scripts/luabench.lua", "1"], ""),
        start: (&["scripts/luabench.lua", "0"], ""),
    },
    Program {
        name: "sqlite",
        folder: Folder::Unpacked("sqlite3-3.40.1"),
        sources: "$CLANG -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION shell.c sqlite3.c",
        arguments: &["-batch", ":memory:"],
        input: Some("in/q-m.sql"),
        short: (&["-batch", ":memory:"], queries!("6000")),
        start: (&["-batch", ":memory:"], queries!("6")),
    },
    Program {
        name: "pcre2grep",
        folder: Folder::Unpacked("pcre2-10.42"),
        // All that the library consists of but what others of its sources include, and what makes its tables.
        sources: "for source in src/pcre2_*.c; do
                      case $source in
                      *dftables*|*fuzzsupport*|*jit_match*|*jit_misc*|*jit_test*|*printint*|*ucptables*) ;;
                      *) set -- \"$@\" $source ;;
                      esac
                  done
                  $CLANG -w -include src/config.h.generic -DHAVE_STRERROR -DHAVE_MEMMOVE -DPCRE2_CODE_UNIT_WIDTH=8 \
                  -DSUPPORT_PCRE2_8 -DSUPPORT_UNICODE \"$@\" src/pcre2grep.c",
        arguments: &[
            "-c", "-f", "scripts/patterns.txt", "in/text-m.txt", "in/text-m.txt"
        ],
        input: None,
        short: (&["-c", "-f", "scripts/patterns.txt", "in/text.txt"], ""),
        start: (&["-c", "-f", "scripts/patterns.txt", "scripts/patterns.txt"], ""),
    },
    Program {
        name: "mawk",
        folder: Folder::Unpacked("mawk-1.3.4-20200120"),
        // All but what others of its sources include, what makes its tables, and checks.
        sources: "for source in *.c; do
                      case $source in
                      fpe_check*|make*|regexp_*|rexp*|trace*) ;;
                      *) set -- \"$@\" $source ;;
                      esac
                  done
                  $CLANG -w -I. -DHAVE_CONFIG_H -DLOCAL_REGEXP -D_DEFAULT_SOURCE -D_XOPEN_SOURCE=500 \"$@\"",
        arguments: &["-f", "scripts/words.awk", "in/text-m.txt", "in/text-m.txt", "in/text-m.txt"],
        input: None,
        short: (&["-f", "scripts/words.awk", "in/text.txt"], ""),
        start: (&["-f", "scripts/words.awk"], "words\n"),
    },
    Program {
        name: "interp",
        folder: Folder::Kernels,
        sources: "$CLANG interp.c",
        arguments: &["0", "200"],
        input: None,
        short: (&["0", "2"], ""),
        start: (&["0", "0"], ""),
    },
    Program {
        name: "qsortdiv",
        folder: Folder::Kernels,
        sources: "$CLANG qsortdiv.c",
        arguments: &["2000"],
        input: None,
        short: (&["100"], ""),
        start: (&["1"], ""),
    },
    Program {
        name: "events",
        folder: Folder::Kernels,
        sources: "$CLANG++ events.cc",
        arguments: &["1000"],
        input: None,
        short: (&["50"], ""),
        start: (&["0"], ""),
    },
];

/// What a compiler is told, besides `-O2`, that gets the profile: functions that are hot stand together.
pub const FOR_CLANG: &str = "-Wl,-z,keep-text-section-prefix";

/// Likewise of a program that BOLT is to lay out: it leaves functions with jump tables alone.
pub const FOR_BOLT: &str = "-Wl,--emit-relocs -fno-jump-tables";

impl Program {
    /// The command that builds it at `$OUTPUT`: with the compiler of `llvm`, and with `flags`.
    pub fn build(&self, root: &Path, work: &Path, llvm: &Path, flags: &str) -> String {
        let folder = match self.folder {
            Folder::Unpacked(name) => work.join("build").join(name),
            Folder::Kernels => root.join("suite/kernels"),
        };
        let (folder, llvm) = (folder.display(), llvm.display());
        let sources = self.sources;
        // What follows the name of the compiler follows all else: only libraries have to come last.
        format!(
            "set --; cd '{folder}' && CLANG='{llvm}/clang' && {sources} -O2 -fuse-ld=lld {flags} $FDO_FLAGS -o \"$OUTPUT\" -lm"
        )
    }
}
