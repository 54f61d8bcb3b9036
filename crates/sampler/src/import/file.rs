//! The two forms of a file of `perf`, and what it says of the machine and its events.
//!
//! `perf record -o FILE` writes a header that tells where everything stands; `perf record -o -` writes a
//! stream in which descriptions are records like others. Layouts are those of the kernel's
//! `tools/perf/Documentation/perf.data-file-format.txt`.

use super::ImportError;
use super::attribute::{Attribute, Attributes};
use super::event::Events;
use super::stream::Records;
use std::collections::HashMap;
use std::fs;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::mem;
use std::path::Path;
use timewise_profile::Machine;
use timewise_target::perf::Fields;

/// Build ids of files, by path.
pub type BuildIds = HashMap<Vec<u8>, Vec<u8>>;

/// What a file says of itself, beside its records.
#[derive(Default)]
pub struct Description {
    attributes: Attributes,
    /// Build ids that `perf` read when the recording ended.
    pub build_ids: BuildIds,
    features: HashMap<u64, Vec<u8>>,
}

const MAGIC: &[u8; 8] = b"PERFILE2";
/// The magic number as a machine of the other byte order writes it.
const MAGIC_REVERSED: &[u8; 8] = b"2ELIFREP";
/// Bytes of the header of the stream form, and of the file form.
const STREAM_HEADER: u64 = 16;
const FILE_HEADER: u64 = 104;
/// The first version of `perf_event_attr`, less than which no event has, and far more than any has today.
const ATTRIBUTE_BYTES: std::ops::RangeInclusive<u64> = 64..=4096;
/// Events of a file at most: one for each processor and kind, on a large machine.
const MOST_EVENTS: u64 = 100_000;

/// Features: bits of the header, and numbers of records in the stream form.
mod feature {
    pub const BUILD_ID: u64 = 2;
    pub const OS_RELEASE: u64 = 4;
    pub const PROCESSORS: u64 = 7;
    pub const PROCESSOR_NAME: u64 = 8;
    pub const COMMAND_LINE: u64 = 11;
    pub const EVENT_NAMES: u64 = 12;
    /// Those above, of which we read the data.
    pub const READ: [u64; 6] = [BUILD_ID, OS_RELEASE, PROCESSORS, PROCESSOR_NAME, COMMAND_LINE, EVENT_NAMES];
}

/// Opens the file at `path`; `-` is standard input, which must be of the stream form.
///
/// # Errors
/// [`ImportError`].
pub fn open(path: &Path) -> Result<(Description, Records), ImportError> {
    if path.as_os_str() == "-" {
        let mut source = BufReader::new(io::stdin());
        return match read_header(&mut source)? {
            STREAM_HEADER => Ok(of_stream(source)),
            _ => Err(io::Error::other("only perf record -o - writes what can be read from a pipe").into()),
        };
    }
    let mut file = fs::File::open(path)?;
    match read_header(&mut file)? {
        STREAM_HEADER => Ok(of_stream(BufReader::new(file))),
        _ => of_file(file),
    }
}

fn of_stream(source: impl Read + 'static) -> (Description, Records) {
    (Description::default(), Records::new(Box::new(source), None))
}

fn of_file(mut file: fs::File) -> Result<(Description, Records), ImportError> {
    let length = file.metadata()?.len();
    let mut header = [0; (FILE_HEADER - STREAM_HEADER) as usize];
    read_exactly(&mut file, &mut header)?;
    let mut fields = Fields(&header);
    let mut number = || fields.u64().ok_or(HEADER);
    let attribute_bytes = number()?;
    let attributes = Section { offset: number()?, size: number()? };
    let data = Section { offset: number()?, size: number()? };
    let _event_types = (number()?, number()?);
    let present = [number()?, number()?, number()?, number()?];
    if data.size == 0 {
        return Err(ImportError::Unfinished);
    }
    let mut source = Sections { file, length };
    let attributes = source.attributes(attributes, attribute_bytes)?;
    let features = source.features(data.end()?, present)?;
    source.seek(data)?;
    let build_ids = features.get(&feature::BUILD_ID).map(|data| build_ids(data)).unwrap_or_default();
    let records = Records::new(Box::new(BufReader::new(source.file)), Some(data.size));
    Ok((Description { attributes, build_ids, features }, records))
}

impl Description {
    /// Takes a record that describes an event.
    ///
    /// # Errors
    /// [`ImportError::Damaged`].
    pub fn add_event(&mut self, body: &[u8]) -> Result<(), ImportError> {
        let size = body.get(4..8).and_then(|size| Fields(size).u32()).ok_or(EVENT)?;
        if !ATTRIBUTE_BYTES.contains(&size.into()) || self.attributes.all().len() as u64 >= MOST_EVENTS {
            return Err(EVENT);
        }
        let (attribute, ids) = body.split_at_checked(size as usize).ok_or(EVENT)?;
        self.attributes.add(Attribute::read(attribute).ok_or(EVENT)?, words(ids));
        Ok(())
    }

    /// Takes a record that says something of the recording.
    pub fn add_feature(&mut self, body: &[u8]) {
        let Some((number, data)) = body.split_first_chunk::<8>() else { return };
        let number = u64::from_le_bytes(*number);
        if feature::READ.contains(&number) {
            self.features.insert(number, data.to_vec());
        }
    }

    /// Its events, once all of them are described: what is described later belongs to none.
    ///
    /// # Errors
    /// [`ImportError::NotTime`] if none measures time.
    pub fn events(&mut self) -> Result<Events, ImportError> {
        let named = self.features.get(&feature::EVENT_NAMES).and_then(|data| event_names(data));
        for (name, ids) in named.unwrap_or_default() {
            self.attributes.set_name(name, &ids);
        }
        Events::new(mem::take(&mut self.attributes))
    }

    /// The machine of the recording, as far as the file tells.
    pub fn machine(&self) -> Machine {
        let text = |number| {
            let text = self.features.get(&number).and_then(|data| text(&mut Fields(data)));
            text.unwrap_or_else(|| "unknown".into())
        };
        let processors = self.features.get(&feature::PROCESSORS);
        // Those that could be there, then those that are.
        let online = processors.and_then(|data| Fields(data.get(4..)?).u32());
        Machine {
            processor: text(feature::PROCESSOR_NAME),
            kernel: text(feature::OS_RELEASE),
            cpus: online.unwrap_or(0),
        }
    }

    /// The program and its arguments, out of the command line of `perf`: from the word that names the file
    /// at `executable` on, or only that if there is none.
    pub fn command(&self, executable: &[u8]) -> Vec<Vec<u8>> {
        let line = self.features.get(&feature::COMMAND_LINE).and_then(|data| texts(data));
        let words: Vec<Vec<u8>> = line.unwrap_or_default().into_iter().map(String::into_bytes).collect();
        let name = |path: &[u8]| path.rsplit(|&byte| byte == b'/').next().map(<[u8]>::to_vec);
        let begins = words.iter().skip(1).position(|word| name(word) == name(executable));
        match begins {
            Some(before) => words[1 + before..].to_vec(),
            None => vec![executable.to_vec()],
        }
    }
}

const HEADER: ImportError = ImportError::Damaged("its header contradicts itself");
const EVENT: ImportError = ImportError::Damaged("an event is described wrongly");

/// Reads what both forms begin with, and gives the size of the header.
fn read_header(source: &mut impl Read) -> Result<u64, ImportError> {
    let mut header = Vec::new();
    source.take(STREAM_HEADER).read_to_end(&mut header)?;
    if header.is_empty() {
        return Err(ImportError::Empty);
    }
    let (magic, size) = header.split_at_checked(MAGIC.len()).ok_or(ImportError::NotPerf)?;
    if magic == MAGIC_REVERSED {
        return Err(ImportError::OtherByteOrder);
    }
    match Fields(size).u64() {
        Some(size @ (STREAM_HEADER | FILE_HEADER)) if magic == MAGIC => Ok(size),
        Some(_) if magic == MAGIC => Err(HEADER),
        _ => Err(ImportError::NotPerf),
    }
}

fn read_exactly(source: &mut impl Read, buffer: &mut [u8]) -> Result<(), ImportError> {
    source.read_exact(buffer).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => ImportError::Damaged("it ends early"),
        _ => error.into(),
    })
}

/// A part of a file.
#[derive(Clone, Copy)]
struct Section {
    offset: u64,
    size: u64,
}

impl Section {
    fn end(self) -> Result<u64, ImportError> {
        self.offset.checked_add(self.size).ok_or(HEADER)
    }
}

/// A file whose parts are read only if they lie in it.
struct Sections {
    file: fs::File,
    length: u64,
}

impl Sections {
    fn seek(&mut self, section: Section) -> Result<(), ImportError> {
        if section.end()? > self.length {
            return Err(ImportError::Damaged("it ends early"));
        }
        self.file.seek(SeekFrom::Start(section.offset))?;
        Ok(())
    }

    fn read(&mut self, section: Section) -> Result<Vec<u8>, ImportError> {
        self.seek(section)?;
        let mut data = vec![0; usize::try_from(section.size).map_err(|_| HEADER)?];
        read_exactly(&mut self.file, &mut data)?;
        Ok(data)
    }

    /// Events, each with where its ids stand.
    fn attributes(&mut self, section: Section, each: u64) -> Result<Attributes, ImportError> {
        const IDS: u64 = 16;
        let size = each.checked_sub(IDS).filter(|size| ATTRIBUTE_BYTES.contains(size)).ok_or(EVENT)?;
        if section.size / each > MOST_EVENTS {
            return Err(EVENT);
        }
        let table = self.read(section)?;
        let mut attributes = Attributes::default();
        // Each event has ids of its own.
        let mut ids_left = self.length;
        for row in table.chunks_exact(each as usize) {
            let (attribute, ids) = row.split_at(size as usize);
            let mut ids = Fields(ids);
            let ids = Section { offset: ids.u64().ok_or(EVENT)?, size: ids.u64().ok_or(EVENT)? };
            ids_left = ids_left.checked_sub(ids.size).ok_or(EVENT)?;
            attributes.add(Attribute::read(attribute).ok_or(EVENT)?, words(&self.read(ids)?));
        }
        Ok(attributes)
    }

    /// The features that are present; the table of where they stand is at `offset`.
    fn features(&mut self, offset: u64, present: [u64; 4]) -> Result<HashMap<u64, Vec<u8>>, ImportError> {
        let numbers = (0..256u64).filter(|bit| present[(bit / 64) as usize] >> (bit % 64) & 1 != 0);
        let numbers: Vec<u64> = numbers.collect();
        let table = self.read(Section { offset, size: 16 * numbers.len() as u64 })?;
        let mut features = HashMap::new();
        for (number, row) in numbers.into_iter().zip(table.chunks_exact(16)) {
            if feature::READ.contains(&number) {
                let mut row = Fields(row);
                let section = Section { offset: row.u64().ok_or(HEADER)?, size: row.u64().ok_or(HEADER)? };
                features.insert(number, self.read(section)?);
            }
        }
        Ok(features)
    }
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).filter_map(|word| Fields(word).u64()).collect()
}

/// A length, and so many bytes of text and padding.
fn text(fields: &mut Fields) -> Option<String> {
    let length = fields.u32()?;
    let text = Fields(fields.take(length as usize)?);
    Some(String::from_utf8_lossy(text.text()).into_owned())
}

/// A number of texts, and the texts.
fn texts(data: &[u8]) -> Option<Vec<String>> {
    let mut fields = Fields(data);
    let count = fields.u32()?;
    (0..count).map(|_| text(&mut fields)).collect()
}

/// Names of events, with their ids.
fn event_names(data: &[u8]) -> Option<Vec<(String, Vec<u64>)>> {
    let mut fields = Fields(data);
    let (count, attribute_bytes) = (fields.u32()?, fields.u32()?);
    let event = |_| {
        fields.take(attribute_bytes as usize)?;
        let ids = fields.u32()?;
        let name = text(&mut fields)?;
        Some((name, words(fields.take((ids as usize).checked_mul(8)?)?)))
    };
    (0..count).map(event).collect()
}

/// Records of build ids: a header, a process, 24 bytes for the id, a path.
fn build_ids(mut data: &[u8]) -> BuildIds {
    const ID_SIZE_KNOWN: u16 = 1 << 15;
    const LONGEST: usize = 20;
    let mut found = BuildIds::new();
    while let Some(header) = data.first_chunk::<8>() {
        let misc = u16::from_le_bytes([header[4], header[5]]);
        let size = usize::from(u16::from_le_bytes([header[6], header[7]]));
        let Some((record, rest)) = data.split_at_checked(size.max(1)) else { break };
        data = rest;
        let (Some(id), Some(path)) = (record.get(12..36), record.get(36..)) else { continue };
        // Elder versions do not tell its length; no id of a common kind ends in a word of zeroes.
        let known = (misc & ID_SIZE_KNOWN != 0).then(|| usize::from(id[LONGEST]).min(LONGEST));
        let guessed = || id[..LONGEST].iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        let length = known.unwrap_or_else(|| guessed().next_multiple_of(4));
        if length > 0 {
            found.insert(Fields(path).text().to_vec(), id[..length].to_vec());
        }
    }
    found
}
