//! Rows of code and its names: modules, source files, functions, lines, inlined
//! calls and blocks.

use super::load::LoadCause;
use super::reader::Reader;
use super::table::{Bytes, Table, name_of, place_columns};
use crate::model::{Block, FileId, Function, InlinedCall, Line, Module, ModuleKind, Profile, SourceFile};
use rusqlite::{Connection, Result, params};

pub const MODULES: Table = Table { name: "modules", columns: &["module_id", "kind", "path", "build_id"] };

pub const FILES: Table = Table { name: "source_files", columns: &["file_id", "path"] };

pub const FUNCTIONS: Table = Table {
    name: "functions",
    columns: &[
        "function_id",
        "module_id",
        "code_version",
        "offset",
        "size_bytes",
        "name",
        "symbol",
        "file_id",
        "line",
    ],
};

pub const LINES: Table =
    Table { name: "lines", columns: &["module_id", "code_version", "offset", "file_id", "line"] };

pub const INLINED_CALLS: Table = Table {
    name: "inlined_calls",
    columns: &["module_id", "code_version", "offset", "depth", "function", "call_file_id", "call_line"],
};

pub const BLOCKS: Table = Table {
    name: "blocks",
    columns: &["block_id", "module_id", "code_version", "offset", "instructions", "code"],
};

const MODULE_KINDS: [(ModuleKind, &str); 5] = [
    (ModuleKind::File, "file"),
    (ModuleKind::Vdso, "vdso"),
    (ModuleKind::Jit, "jit"),
    (ModuleKind::Kernel, "kernel"),
    (ModuleKind::Unknown, "unknown"),
];

/// Writes all rows of this file's tables.
pub fn write(database: &Connection, profile: &Profile) -> Result<()> {
    let mut insert = MODULES.insert(database)?;
    for (id, module) in profile.modules.iter().enumerate() {
        let kind = name_of(&MODULE_KINDS, module.kind);
        insert.execute(params![id as u32, kind, Bytes(&module.path), module.build_id])?;
    }
    let mut insert = FILES.insert(database)?;
    for (id, file) in profile.files.iter().enumerate() {
        insert.execute(params![id as u32, file.path])?;
    }
    let mut insert = FUNCTIONS.insert(database)?;
    for (id, function) in profile.functions.iter().enumerate() {
        let (module, version, offset) = place_columns(function.place);
        insert.execute(params![
            id as u32,
            module,
            version,
            offset,
            function.size as i64,
            function.name,
            function.symbol,
            function.file.map(|file| file.0),
            function.line,
        ])?;
    }
    let row = |line: &Line| {
        let (module, version, offset) = place_columns(line.place);
        let file = line.file.map(|file| file.0.into());
        [Some(module.into()), Some(version.into()), Some(offset), file, Some(line.line.into())]
    };
    LINES.insert_numbers(database, profile.lines.iter().map(row))?;
    let mut insert = INLINED_CALLS.insert(database)?;
    for call in &profile.inlined_calls {
        let (module, version, offset) = place_columns(call.place);
        let file = call.file.map(|file| file.0);
        insert.execute(params![module, version, offset, call.depth, call.function, file, call.line])?;
    }
    let mut insert = BLOCKS.insert(database)?;
    for (id, block) in profile.blocks.iter().enumerate() {
        let (module, version, offset) = place_columns(block.place);
        insert.execute(params![id as u32, module, version, offset, block.instructions, block.code])?;
    }
    Ok(())
}

/// Reads all rows of this file's tables.
pub fn read(reader: &mut Reader, profile: &mut Profile) -> Result<(), LoadCause> {
    profile.modules = reader.read_numbered(&MODULES, |columns| {
        Ok(Module {
            kind: columns.take_named(&MODULE_KINDS)?,
            path: columns.take_bytes()?,
            build_id: columns.take()?,
        })
    })?;
    profile.files = reader.read_numbered(&FILES, |columns| Ok(SourceFile { path: columns.take()? }))?;
    profile.functions = reader.read_numbered(&FUNCTIONS, |columns| {
        Ok(Function {
            place: columns.take_place()?,
            size: columns.take_u64()?,
            name: columns.take()?,
            symbol: columns.take()?,
            file: columns.take::<Option<u32>>()?.map(FileId),
            line: columns.take()?,
        })
    })?;
    profile.lines = reader.read(&LINES, |columns| {
        Ok(Line {
            place: columns.take_place()?,
            file: columns.take::<Option<u32>>()?.map(FileId),
            line: columns.take()?,
        })
    })?;
    profile.inlined_calls = reader.read(&INLINED_CALLS, |columns| {
        Ok(InlinedCall {
            place: columns.take_place()?,
            depth: columns.take()?,
            function: columns.take()?,
            file: columns.take::<Option<u32>>()?.map(FileId),
            line: columns.take()?,
        })
    })?;
    profile.blocks = reader.read_numbered(&BLOCKS, |columns| {
        Ok(Block { place: columns.take_place()?, instructions: columns.take()?, code: columns.take()? })
    })?;
    Ok(())
}
