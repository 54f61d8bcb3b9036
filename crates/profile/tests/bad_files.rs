//! Files that are no whole profiles give one clear error each, and never a panic.

mod generate;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use rusqlite::Connection;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use timewise_profile::store::load::LoadCause;
use timewise_profile::{Inconsistency, Module, ModuleKind, Profile, StackId, StackNode};

/// A saved profile, in a directory that goes away with the first value.
fn saved() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("profile.tw");
    let module = Module { kind: ModuleKind::File, path: b"/bin/true".to_vec(), build_id: vec![7; 20] };
    Profile { modules: vec![module; 2000], ..Profile::default() }.save(&path).unwrap();
    (directory, path)
}

fn cause(path: &Path) -> LoadCause {
    let error = Profile::load(path).unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with(&format!("cannot read the profile '{}': ", path.display())), "{message}");
    assert!(!message.contains('\n'), "{message}");
    error.cause
}

#[test]
fn missing_file() {
    assert!(matches!(cause(Path::new("/nowhere/profile.tw")), LoadCause::Missing));
}

#[test]
fn directory_and_device() {
    assert!(matches!(cause(Path::new("/tmp")), LoadCause::NotAFile));
    assert!(matches!(cause(Path::new("/dev/null")), LoadCause::NotAFile));
}

#[test]
fn other_files() {
    let (_directory, path) = saved();
    for content in [&b""[..], b"SQLite", b"\x7fELF and more", &[0; 5000]] {
        fs::write(&path, content).unwrap();
        assert!(matches!(cause(&path), LoadCause::NotADatabase), "{content:?}");
    }
}

#[test]
fn database_of_another_program() {
    let (_directory, path) = saved();
    fs::remove_file(&path).unwrap();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)").unwrap();
    assert!(matches!(cause(&path), LoadCause::Foreign));
}

#[test]
fn newer_version() {
    let (_directory, path) = saved();
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    assert!(matches!(cause(&path), LoadCause::Newer { found: 99, known: 9 }));
}

#[test]
fn older_version() {
    let (_directory, path) = saved();
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 1).unwrap();
    assert!(matches!(cause(&path), LoadCause::Older { found: 1, oldest: 7, newest: 9 }));
}

#[test]
fn truncated_at_any_length() {
    let (_directory, path) = saved();
    let whole = fs::read(&path).unwrap();
    for length in (16..whole.len()).step_by(997).chain([16, 99, 100, whole.len() - 1]) {
        fs::write(&path, &whole[..length]).unwrap();
        match cause(&path) {
            LoadCause::Truncated { expected_bytes, found_bytes } => {
                assert_eq!(found_bytes, length as u64);
                assert!(length < 32 || expected_bytes == whole.len() as u64);
            }
            other => panic!("{length} bytes: {other}"),
        }
    }
}

#[test]
fn wrong_numbers_of_rows_missing_tables_and_dangling_ids() {
    let damaged = |by: &str| {
        let (_directory, path) = saved();
        Connection::open(&path).unwrap().execute_batch(by).unwrap();
        cause(&path)
    };
    let rows = damaged("DELETE FROM modules WHERE module_id = 1999");
    assert!(matches!(rows, LoadCause::RowsMissing { table: "modules", noted: 2000, found: 1999 }));
    // What a file says of its rows bounds what is read of them.
    let rows = damaged("UPDATE row_counts SET number_of_rows = 3 WHERE table_name = 'modules'");
    assert!(matches!(rows, LoadCause::RowsMissing { table: "modules", noted: 3, found: 4 }));
    assert!(matches!(damaged("DELETE FROM modules WHERE module_id = 7"), LoadCause::Damaged(_)));
    assert!(matches!(damaged("DROP TABLE samples"), LoadCause::Damaged(_)));
    let schema = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'INTEGER', '\"')";
    assert!(matches!(damaged(schema), LoadCause::Damaged(_)));
    assert!(matches!(damaged("UPDATE modules SET kind = 'odd'"), LoadCause::Damaged(_)));
    let dangling = damaged(
        "PRAGMA foreign_keys = OFF; INSERT INTO lines VALUES (5000, 0, 0, NULL, 0);
         UPDATE row_counts SET number_of_rows = 1 WHERE table_name = 'lines'",
    );
    let expected = Inconsistency::Dangling { table: "lines", row: 0, target: "modules", id: 5000 };
    assert!(matches!(dangling, LoadCause::Inconsistent(found) if found == expected));
}

#[test]
fn a_stack_cannot_be_its_own_caller() {
    let (_directory, path) = saved();
    let profile = Profile::load(&path).unwrap();
    let place = timewise_profile::Place {
        module: timewise_profile::ModuleId(0),
        version: timewise_profile::CodeVersion(0),
        offset: timewise_profile::Offset(0),
    };
    let node = StackNode { parent: Some(StackId(0)), return_place: place };
    let odd = Profile { stacks: vec![node], ..profile };
    assert_eq!(odd.check(), Err(Inconsistency::StackOrder { row: 0 }));
    assert!(odd.save(&path).is_err());
}

/// So many profiles are saved, and so many changes made to the file of each.
const PROFILES: usize = 25;
const CHANGES: usize = 40;

/// Saves random profiles and loads each after `change` was done to its file.
/// (Not in `proptest!`, so that one file serves all cases.)
fn load_after(change: impl Fn(&mut TestRunner, &Path, &[u8])) {
    let mut runner = TestRunner::deterministic();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("profile.tw");
    let mut loaded = 0;
    for _ in 0..PROFILES {
        let profile = generate::profile().new_tree(&mut runner).unwrap().current();
        profile.save(&path).unwrap();
        let whole = fs::read(&path).unwrap();
        for _ in 0..CHANGES {
            fs::write(&path, &whole).unwrap();
            change(&mut runner, &path, &whole);
            if let Ok(mut odd) = Profile::load(&path) {
                assert_eq!(odd.check(), Ok(()));
                odd.append(odd.clone());
                loaded += 1;
            }
        }
    }
    // Else nothing but the first check of all was tried.
    assert!(loaded >= PROFILES, "{loaded} were loaded");
}

#[test]
fn changed_bytes_never_panic() {
    let changes = vec((any::<Index>(), any::<u8>()), 1..6);
    load_after(|runner, path, whole| {
        // Empty pages fill most of a small file: change what is not zero, after the header.
        let used: Vec<usize> = (100..whole.len()).filter(|at| whole[*at] != 0).collect();
        let mut bytes = whole.to_vec();
        for (at, value) in changes.new_tree(runner).unwrap().current() {
            bytes[used[at.index(used.len())]] = value;
        }
        fs::write(path, bytes).unwrap();
    });
}

#[test]
fn any_number_may_be_any_other() {
    let numbers = prop_oneof![
        any::<i64>(),
        -2..20i64,
        select(vec![i64::MAX, i64::MIN, u32::MAX.into(), i64::from(u32::MAX) + 1, i32::MIN.into()]),
    ];
    let changes = (any::<Index>(), any::<Index>(), numbers);
    load_after(|runner, path, _| {
        let database = Connection::open(path).unwrap();
        let query = "SELECT m.name, p.name FROM sqlite_schema m, pragma_table_info(m.name) p
                     WHERE m.type = 'table' AND p.type = 'INTEGER' AND m.name NOT IN ('format', 'row_counts')";
        let mut columns = database.prepare(query).unwrap();
        let columns: rusqlite::Result<Vec<(String, String)>> =
            columns.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().collect();
        let columns = columns.unwrap();
        let (column, row, number) = changes.new_tree(runner).unwrap().current();
        let (table, column) = &columns[column.index(columns.len())];
        let rows: i64 =
            database.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
        let row = if rows > 0 { row.index(rows as usize) } else { 0 };
        let update = format!(
            "UPDATE {table} SET {column} = {number}
             WHERE rowid = (SELECT rowid FROM {table} LIMIT 1 OFFSET {row})"
        );
        // Some columns refuse some numbers.
        let _ =
            database.execute_batch(&format!("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF; {update}"));
    });
}
