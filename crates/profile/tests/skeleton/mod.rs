//! Small profiles to build upon.

use timewise_profile::*;

/// A place in code of a file.
pub fn at(module: u32, offset: u64) -> Place {
    Place { module: ModuleId(module), version: CodeVersion(0), offset: Offset(offset) }
}

/// A file.
pub fn module(path: &str, build_id: &[u8]) -> Module {
    Module { kind: ModuleKind::File, path: path.into(), build_id: build_id.into() }
}

/// A process of the first run.
pub fn process(executable: &str) -> Process {
    Process {
        run: RunId(0),
        pid: 100,
        parent: None,
        executable: executable.into(),
        exit: Exit::Code(0),
        count_uncertainty: 0,
    }
}

/// A run of two processes whose second is a child of the first, with one thread each.
pub fn skeleton(kind: RunKind) -> Profile {
    let child = Process { pid: 101, parent: Some(ProcessId(0)), ..process("child") };
    let thread =
        |of| Thread { process: ProcessId(of), tid: 100 + of, name: String::new(), instructions: None };
    Profile {
        runs: vec![Run::new(kind)],
        processes: vec![process("app"), child],
        threads: vec![thread(0), thread(1)],
        ..Profile::default()
    }
}
