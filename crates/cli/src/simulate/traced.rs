//! `--trace`: the commit stage of each core, cycle by cycle, in a file.

use super::cores::Done;
use crate::destination::{self, refusal};
use crate::talk::{complain, say};
use anyhow::{Context, ensure};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use timewise_core_model::Turn;
use timewise_flow::Analysis;
use timewise_profile::Profile;
use timewise_report::simulated::{Numbered, numbers};
use timewise_report::visible::visible;
use timewise_trace::{Doctor, Gate, Moment, Numbers, Record, Seat, Worker, binary, csv};

/// A moment of what each core executes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// The beginning of this cycle.
    Cycle(u64),
    /// When so many instructions have committed.
    Instructions(u64),
    /// When the instruction at this address first commits.
    Address(u64),
}

impl FromStr for When {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<When, &'static str> {
        let when = match text.split_once(':') {
            Some(("cycle", number)) => number.parse().ok().map(When::Cycle),
            Some(("instruction", number)) => number.parse().ok().map(When::Instructions),
            _ => text
                .strip_prefix("0x")
                .and_then(|digits| u64::from_str_radix(digits, 16).ok())
                .map(When::Address),
        };
        when.ok_or("give cycle:N, instruction:N, or an address such as 0x401136")
    }
}

impl When {
    /// The same in words of the trace, and the address whose instructions that is to be told of.
    fn resolve(self) -> (Moment, Option<(u64, Numbers)>) {
        match self {
            When::Cycle(cycle) => (Moment::Cycle(cycle), None),
            When::Instructions(committed) => (Moment::Instruction(committed), None),
            When::Address(address) => {
                let numbers = Numbers::default();
                (Moment::Commit(numbers.clone()), Some((address, numbers)))
            }
        }
    }
}

/// What is written of each core's trace, and where.
pub struct Tracing {
    path: PathBuf,
    start: Option<Moment>,
    stop: Option<Moment>,
    /// Addresses of moments, and where to tell which instructions stand there.
    pub watched: Vec<(u64, Numbers)>,
    /// What else is read and written, which no trace may take the place of.
    others: Vec<PathBuf>,
    /// Of each core that runs, the file and who writes it.
    files: BTreeMap<Turn, (PathBuf, Seat<Gate<Form>>)>,
    /// Of each that has ended, the file, whether it holds records, and how writing it went.
    written: BTreeMap<Turn, (PathBuf, bool, io::Result<()>)>,
}

impl Tracing {
    /// From one moment of each core to another, beside these other files.
    ///
    /// # Errors
    /// If one of them would be overwritten by the first core's trace or by what its instructions are. Further cores
    /// are not known yet.
    pub fn new(
        path: PathBuf,
        from: Option<When>,
        to: Option<When>,
        others: Vec<PathBuf>,
    ) -> anyhow::Result<Tracing> {
        for file in [&path, &table_beside(&path)] {
            ensure!(
                !is_one_of(&others, file)?,
                "--trace would write '{}', which is needed for something else; choose another name",
                file.display()
            );
        }
        let (start, first) = from.map(When::resolve).unzip();
        let (stop, second) = to.map(When::resolve).unzip();
        let watched = [first, second].into_iter().flatten().flatten().collect();
        Ok(Tracing { path, start, stop, watched, others, files: BTreeMap::new(), written: BTreeMap::new() })
    }

    /// Has a core traced.
    pub fn attach(&mut self, turn: Turn, doctor: &mut Doctor<Record>) {
        let path = of_core(&self.path, turn);
        let gate = Gate::new(Form::create(&path, &self.others), self.start.clone(), self.stop.clone());
        self.files.insert(turn, (path, doctor.attach(gate)));
    }

    /// Ends the file of a core whose trace has ended.
    pub fn detach(&mut self, turn: Turn) {
        let Some((path, seat)) = self.files.remove(&turn) else { return };
        let gate = seat.join();
        let has_begun = gate.has_begun();
        self.written.insert(turn, (path, has_begun, gate.into_inner().finish()));
    }

    /// Writes beside the files what their instructions are, and says which there are. All traces must have ended.
    ///
    /// # Errors
    /// What writing met with, such as a full disk.
    pub fn finish(self, done: &Done, profile: &Profile) -> anyhow::Result<()> {
        let (mut written, mut failure) = (Vec::new(), Ok(()));
        for (path, has_begun, end) in self.written.into_values() {
            match end.with_context(|| refusal(&path)) {
                Ok(()) if !has_begun => complain(format_args!(
                    "'{}' has no records: its core never came to where --from begins",
                    path.display()
                )),
                // Those of the other cores are whole.
                Err(error) => failure = failure.and(Err(error)),
                Ok(()) => {}
            }
            written.push(path);
        }
        failure?;
        // A pipe has no place beside it.
        if self.path.is_file() {
            let path = table_beside(&self.path);
            destination::write(&path, instructions(done, profile)?)?;
            written.push(path);
        }
        let names = written.iter().filter_map(|path| path.file_name());
        let names: Vec<String> = names.map(|name| visible(&name.to_string_lossy()).into_owned()).collect();
        say(format_args!("traced: {}", names.join(", ")));
        Ok(())
    }
}

/// Whether a file is one of these, by whatever name.
fn is_one_of(others: &[PathBuf], file: &Path) -> io::Result<bool> {
    others.iter().try_fold(false, |is_one, other| Ok(is_one || destination::is_same(other, file)?))
}

/// Where it is said what the instructions of a trace are.
fn table_beside(trace: &Path) -> PathBuf {
    trace.with_extension("instructions.csv")
}

/// Where the trace of a core goes: `trace.2.csv` for `trace.csv`, and `trace.2-2.csv` for that of a thread which came
/// after, but the first one's name stays.
fn of_core(path: &Path, turn: Turn) -> PathBuf {
    let number = match turn {
        Turn { stream: 1, thread: 1 } => return path.to_path_buf(),
        Turn { stream, thread: 1 } => stream.to_string(),
        Turn { stream, thread } => format!("{stream}-{thread}"),
    };
    match path.extension() {
        Some(ending) => path.with_extension(format!("{number}.{}", ending.to_string_lossy())),
        None => path.with_extension(number),
    }
}

/// All instructions that were met.
fn instructions(done: &Done, profile: &Profile) -> anyhow::Result<String> {
    let analysis = Analysis::new(profile, None);
    let numbered = (0..done.numbered()).map(|number| {
        let id = done.place(number).and_then(|place| analysis.code.instruction_at(place));
        Numbered { number, address: done.address(number), id }
    });
    Ok(numbers(&analysis, numbered)?)
}

/// A trace on its way into a file, in the form that the file's name asks for.
enum Form {
    Bytes(binary::Writer<File>),
    Table(csv::Csv<BufWriter<File>>),
    /// There is no file to write to.
    Refused(io::Error),
}

impl Form {
    /// Of a file that is none of the others.
    fn create(path: &Path, others: &[PathBuf]) -> Form {
        let is_free = is_one_of(others, path).and_then(|is_taken| match is_taken {
            true => Err(io::Error::other("it is needed for something else")),
            false => Ok(()),
        });
        match is_free.and_then(|()| File::create(path)) {
            Err(error) => Form::Refused(error),
            Ok(file) if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv")) => {
                Form::Table(csv::Csv::new(BufWriter::new(file)))
            }
            Ok(file) => Form::Bytes(binary::Writer::new(file)),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Form::Bytes(writer) => writer.finish().map(drop),
            Form::Table(writer) => writer.finish().map(drop),
            Form::Refused(error) => Err(error),
        }
    }
}

impl Worker<Record> for Form {
    fn take(&mut self, part: &[Record]) {
        match self {
            Form::Bytes(writer) => writer.take(part),
            Form::Table(writer) => writer.take(part),
            Form::Refused(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{When, of_core};
    use std::path::Path;
    use timewise_core_model::Turn;

    #[test]
    fn moments_are_understood_or_refused() {
        let when = |text: &str| text.parse::<When>().ok();
        assert_eq!(when("cycle:0"), Some(When::Cycle(0)));
        assert_eq!(when("instruction:1000000"), Some(When::Instructions(1_000_000)));
        assert_eq!(when("0x401136"), Some(When::Address(0x40_1136)));
        for refused in ["", "12", "cycle", "cycle:", "cycle:-1", "line:3", "0x", "0xg", "main"] {
            assert_eq!(when(refused), None, "{refused}");
        }
    }

    #[test]
    fn every_core_has_a_file_of_its_own() {
        let named = |path: &str, stream, thread| {
            of_core(Path::new(path), Turn { stream, thread }).display().to_string()
        };
        assert_eq!(named("a/trace.csv", 1, 1), "a/trace.csv");
        assert_eq!(named("a/trace.csv", 12, 1), "a/trace.12.csv");
        assert_eq!(named("a/trace.csv", 12, 3), "a/trace.12-3.csv");
        assert_eq!(named("trace", 2, 1), "trace.2");
    }
}
