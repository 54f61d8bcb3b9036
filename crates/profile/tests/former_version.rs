//! A file of a version before is read as what it was written from, without what it could not hold.

mod generate;

use proptest::prelude::*;
use rusqlite::Connection;
use timewise_profile::Profile;

/// From this version's tables to those of version 8.
const TO_8: &str = "
    DROP TABLE os_events;
    DROP TABLE os_names;
    DELETE FROM row_counts WHERE table_name IN ('os_events', 'os_names');
    UPDATE format SET version = 8;
    PRAGMA user_version = 8;
";

/// From those to version 7's.
const TO_7: &str = "
    DROP TABLE simulated_windows;
    DELETE FROM row_counts WHERE table_name = 'simulated_windows';
    ALTER TABLE simulations DROP COLUMN executed_instructions;
    ALTER TABLE simulated_threads RENAME TO numbered;
    CREATE TABLE simulated_threads (
        simulation_id INTEGER NOT NULL REFERENCES simulations,
        thread_id INTEGER NOT NULL REFERENCES threads,
        image INTEGER NOT NULL,
        executable_path ANY NOT NULL,
        instructions INTEGER NOT NULL,
        cycles INTEGER NOT NULL
    ) STRICT;
    INSERT INTO simulated_threads
        SELECT simulation_id, thread_id, image, executable_path, instructions, cycles FROM numbered
        ORDER BY simulated_thread_id;
    DROP TABLE numbered;
    UPDATE format SET version = 7;
    PRAGMA user_version = 7;
";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn former_versions_are_read(mut profile in generate::profile()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("profile.tw");
        profile.save(&path).unwrap();
        Connection::open(&path).unwrap().execute_batch(TO_8).unwrap();
        profile.os_events.clear();
        profile.os_names.clear();
        prop_assert_eq!(&Profile::load(&path).unwrap(), &profile);
        Connection::open(&path).unwrap().execute_batch(TO_7).unwrap();
        profile.simulated_windows.clear();
        profile.simulations.iter_mut().for_each(|simulation| simulation.executed = None);
        let loaded = Profile::load(&path).unwrap();
        prop_assert_eq!(&loaded, &profile);
        // What it is saved as is of this version.
        loaded.save(&path).unwrap();
        prop_assert_eq!(Profile::load(&path).unwrap(), profile);
    }
}
