//! What a reader must know to trust the counts of a run, in words.

use crate::convert::{Balance, Converter};
use crate::follow::Uncounted;
use timewise_abi::Failure;

/// One sentence for each thing that is not as it should be.
///
/// A failure comes with the address where a thread first went on uncounted, 0 if none did. `damage` is how
/// many records made no sense. `unfollowed` are programs executed that the host was not asked to follow, `unnamed` pages
/// of code of which nobody could tell what is mapped there.
pub fn of(
    failure: Option<(Failure, u64)>,
    converter: &Converter,
    damage: u64,
    (uncounted, unfollowed): (&[Uncounted], u32),
    unnamed: u32,
) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some((failure, address)) = failure {
        let failure = match failure {
            Failure::SharedFull => "the memory for counts was full",
            Failure::CountersFull => "a process had too many branches for its counters",
            Failure::CacheFull => "there was no room for translated code",
            Failure::MemoryRefused => {
                "the program was given no more memory or mappings, or none could be asked for since it restricted its system calls: raise ulimit -d, or sysctl vm.max_map_count"
            }
            Failure::WritableCodeDenied => timewise_target::attachable::WRITABLE_CODE_DENIED,
            Failure::Unsupported => "the program did something that counting does not know",
            Failure::None | Failure::Internal => "the runtime in the program contradicted itself",
        };
        let place = match address {
            0 => "some code ran uncounted".to_string(),
            _ => format!("a thread ran uncounted from address {address:#x} on"),
        };
        warnings.push(format!("counts are incomplete: {failure}; {place}"));
    }
    if damage > 0 {
        warnings.push(format!(
            "the program wrote over the memory that holds its counts: {} left out, and others may be wrong; look for a \
             wild write in it",
            quantity(damage, "record makes no sense and was", "records make no sense and were")
        ));
    }
    // Ends that nobody saw stand at their processes, for each reader to judge.
    let Balance { images, unbalanced, imbalance } = converter.balance;
    if unbalanced > 0 {
        warnings.push(format!(
            "counts do not balance in {unbalanced} of {} executed, by {imbalance} in all: some may be wrong by as much",
            quantity(images.into(), "program", "programs")
        ));
    }
    let (rows, beyond) = (converter.rows.all.len(), converter.rows.beyond_limit);
    if beyond > 0 {
        warnings.push(format!(
            "{} rows, one for each executable, with process id 0; there are {rows} rows",
            quantity(beyond, "of very many processes shares", "of very many processes share")
        ));
    }
    for path in &converter.modules.gone {
        let path = String::from_utf8_lossy(path);
        warnings.push(format!(
            "{path} was gone, or another file, when its headers were read: its offsets are those of the file"
        ));
    }
    if unnamed > 0 {
        warnings.push(format!(
            "what is mapped where {} not known, nor the files' names: /proc/self/maps could not be read where the \
             program runs, as in a chroot without /proc, or without a free descriptor",
            quantity(unnamed.into(), "page of code lies is", "pages of code lie is")
        ));
    }
    if unfollowed > 0 {
        warnings.push(format!(
            "up to {} executed by processes that had restricted their system calls (seccomp) or do not see timewise \
             from their PID namespace, and not counted",
            quantity(unfollowed.into(), "program was", "programs were")
        ));
    }
    for Uncounted { pid, path, why, times } in uncounted {
        let who = match times {
            1 => format!("process {pid}"),
            _ => format!("process {pid} and {} more", times - 1),
        };
        warnings.push(format!("{} ({who}) was not counted: {why}", path.display()));
    }
    warnings
}

/// So many things, with what is said of one or of several.
fn quantity(count: u64, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_told_as_one() {
        let converter = Converter::new(1, false);
        let told = |number| of(None, &converter, number, (&[], number as u32), number as u32).join("\n");
        for (number, parts) in [
            (
                1,
                [
                    "1 record makes no sense and was left out",
                    "where 1 page of code lies is",
                    "1 program was executed",
                ],
            ),
            (
                2,
                [
                    "2 records make no sense and were left out",
                    "where 2 pages of code lie is",
                    "2 programs were executed",
                ],
            ),
        ] {
            parts.iter().for_each(|part| assert!(told(number).contains(part), "{}", told(number)));
        }
    }
}
