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
}

enum Folder {
    Unpacked(&'static str),
    Kernels,
}

/// All of them. Lua is one whose interpreter has a `switch` rather than computed gotos, which BOLT refuses.
pub const PROGRAMS: [Program; 7] = [
    Program {
        name: "bzip2",
        folder: Folder::Unpacked("bzip2-1.0.8"),
        sources: "$CLANG -D_FILE_OFFSET_BITS=64 blocksort.c huffman.c crctable.c randtable.c compress.c decompress.c \
                  bzlib.c bzip2.c",
        arguments: &["-9", "-k", "-c", "in/text-m.txt"],
        input: None,
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
    },
    Program {
        name: "lua",
        folder: Folder::Unpacked("lua-5.4.4/src"),
        sources: "$CLANG -DLUA_USE_POSIX -DLUA_USE_JUMPTABLE=0 '-Dluai_makeseed(L)=42' $(ls *.c | grep -v luac.c)",
        arguments: &["scripts/luabench.lua", "80"],
        input: None,
    },
    Program {
        name: "sqlite",
        folder: Folder::Unpacked("sqlite3-3.40.1"),
        sources: "$CLANG -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION shell.c sqlite3.c",
        arguments: &["-batch", ":memory:"],
        input: Some("in/q-m.sql"),
    },
    Program {
        name: "interp",
        folder: Folder::Kernels,
        sources: "$CLANG interp.c",
        arguments: &["0", "200"],
        input: None,
    },
    Program {
        name: "qsortdiv",
        folder: Folder::Kernels,
        sources: "$CLANG qsortdiv.c",
        arguments: &["2000"],
        input: None,
    },
    Program {
        name: "events",
        folder: Folder::Kernels,
        sources: "$CLANG++ events.cc",
        arguments: &["1000"],
        input: None,
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
