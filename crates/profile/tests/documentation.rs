//! `docs/profile-format.md` names every table and column of a file, and its examples work.

use rusqlite::Connection;
use timewise_profile::Profile;

#[test]
fn every_table_and_column_is_documented() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/profile-format.md");
    let page = std::fs::read_to_string(page).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("profile.tw");
    Profile::default().save(&path).unwrap();
    let database = Connection::open(&path).unwrap();
    let columns =
        "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table'";
    let mut select = database.prepare(columns).unwrap();
    let mut rows = select.query([]).unwrap();
    let mut seen = 0;
    while let Some(row) = rows.next().unwrap() {
        for column in 0..2 {
            let name: String = row.get(column).unwrap();
            assert!(page.contains(&format!("`{name}`")), "`{name}` is not in docs/profile-format.md");
        }
        seen += 1;
    }
    assert!(seen > 80, "only {seen} columns");
    for kind in
        database.prepare("SELECT name FROM edge_kinds").unwrap().query_map([], |row| row.get(0)).unwrap()
    {
        let kind: String = kind.unwrap();
        assert!(page.contains(&format!("`{kind}`")), "edge kind `{kind}` is not in docs/profile-format.md");
    }
    let example = page.split('"').nth(1).unwrap();
    assert!(database.prepare(example).is_ok(), "{example}");
    let mark = |name| database.pragma_query_value(None, name, |row| row.get::<_, u32>(0)).unwrap();
    assert!(page.contains(&format!("{:#x}", mark("application_id"))));
    let title = format!("# The profile file (`.tw`), version {}\n", mark("user_version"));
    assert!(page.starts_with(&title));
}
