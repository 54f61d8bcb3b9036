//! Entries of debug information, and those that they refer to, in whichever unit these are.

use super::scopes::Scopes;
use crate::dwarf::Reader;
use gimli::{
    AttributeValue, DW_AT_abstract_origin, DW_AT_language, DW_AT_name, DW_AT_producer, DW_AT_specification,
    DebugInfoOffset, DebuggingInformationEntry, DwAt, DwLang, DwTag, Dwarf, DwoId, Reader as _, UnitHeader,
    UnitOffset, UnitRef,
};
use std::cell::OnceCell;
use std::ops::Deref;
use std::sync::Arc;

/// The units of one file.
pub struct Tables {
    dwarf: Arc<Dwarf<Reader>>,
    units: OnceCell<Vec<Unit>>,
    /// Of the file that this one shares with others.
    shared: Option<Box<Tables>>,
    is_shared: bool,
}

struct Unit {
    header: UnitHeader<Reader>,
    read: OnceCell<Option<gimli::Unit<Reader>>>,
    scopes: OnceCell<Scopes>,
    language: OnceCell<Option<DwLang>>,
}

impl Tables {
    /// Those of `dwarf`; nothing is read yet.
    pub fn of(dwarf: Arc<Dwarf<Reader>>) -> Tables {
        let shared = dwarf.sup.as_ref().map(|shared| Tables {
            dwarf: Arc::clone(shared),
            units: OnceCell::new(),
            shared: None,
            is_shared: true,
        });
        Tables { dwarf, units: OnceCell::new(), shared: shared.map(Box::new), is_shared: false }
    }

    /// Whether these are those of `dwarf`.
    pub fn are(&self, dwarf: &Dwarf<Reader>) -> bool {
        std::ptr::eq(&raw const *self.dwarf, dwarf)
    }

    /// A unit of these.
    pub fn own(&self, unit: UnitRef<Reader>) -> Option<UnitOf<'_>> {
        let at = self.units().binary_search_by_key(&start(&unit.header), |unit| start(&unit.header));
        self.unit(at.ok()?)
    }

    /// The unit that stands for one that was left in a file of its own.
    pub fn skeleton(&self, id: DwoId) -> Option<UnitOf<'_>> {
        (0..self.units().len()).filter_map(|unit| self.unit(unit)).find(|unit| unit.dwo_id == Some(id))
    }

    fn place_of(&self, offset: DebugInfoOffset) -> Option<(UnitOf<'_>, UnitOffset)> {
        let after = self.units().partition_point(|unit| start(&unit.header) <= offset.0);
        let unit = self.unit(after.checked_sub(1)?)?;
        Some((unit, offset.to_unit_offset(&unit.header)?))
    }

    fn unit(&self, at: usize) -> Option<UnitOf<'_>> {
        let unit = self.units().get(at)?;
        let read = unit.read.get_or_init(|| self.dwarf.unit(unit.header.clone()).ok()).as_ref()?;
        Some(UnitOf { tables: self, at: unit, unit: UnitRef::new(&self.dwarf, read) })
    }

    fn units(&self) -> &[Unit] {
        self.units.get_or_init(|| {
            let mut headers = self.dwarf.units();
            let headers = std::iter::from_fn(|| headers.next().ok().flatten());
            let unread = |header| Unit {
                header,
                read: OnceCell::new(),
                scopes: OnceCell::new(),
                language: OnceCell::new(),
            };
            headers.map(unread).collect()
        })
    }
}

fn start(header: &UnitHeader<Reader>) -> usize {
    header.debug_info_offset().map_or(0, |offset| offset.0)
}

/// A unit and what it is among.
#[derive(Clone, Copy)]
pub struct UnitOf<'a> {
    tables: &'a Tables,
    at: &'a Unit,
    unit: UnitRef<'a, Reader>,
}

impl<'a> Deref for UnitOf<'a> {
    type Target = UnitRef<'a, Reader>;

    fn deref(&self) -> &UnitRef<'a, Reader> {
        &self.unit
    }
}

impl<'a> UnitOf<'a> {
    /// An entry of it.
    pub fn entry(self, offset: UnitOffset) -> Option<Entry<'a>> {
        Some(Entry { of: self, entry: self.unit.entry(offset).ok()? })
    }

    /// What the entry at `offset` was made of, by its unit and its offset there: itself, unless it says otherwise.
    /// Reading all of it takes longer.
    pub fn origin(self, offset: UnitOffset) -> Option<(UnitOf<'a>, UnitOffset)> {
        let mut entries = self.unit.entries_raw(Some(offset)).ok()?;
        let attributes = entries.read_abbreviation().ok()??.attributes();
        let mut values = attributes.iter().map_while(|&attribute| entries.read_attribute(attribute).ok());
        match values.find(|value| value.name() == DW_AT_abstract_origin) {
            Some(value) => self.refers(&value.value()),
            None => Some((self, offset)),
        }
    }

    fn refers(self, value: &AttributeValue<Reader>) -> Option<(UnitOf<'a>, UnitOffset)> {
        match *value {
            AttributeValue::UnitRef(offset) => Some((self, offset)),
            AttributeValue::DebugInfoRef(offset) => self.tables.place_of(offset),
            AttributeValue::DebugInfoRefSup(offset) => self.tables.shared.as_ref()?.place_of(offset),
            _ => None,
        }
    }

    /// Where it begins, and whether in the file that others share.
    pub fn start(self) -> (bool, usize) {
        (self.tables.is_shared, start(&self.unit.header))
    }

    /// What its entries are in.
    pub fn scopes(self) -> &'a Scopes {
        self.at.scopes.get_or_init(|| Scopes::of(self.unit))
    }

    /// What it is written in.
    pub fn language(self) -> Option<DwLang> {
        *self.at.language.get_or_init(|| {
            match self.entry(self.unit.header.root_offset())?.entry.attr_value(DW_AT_language)? {
                AttributeValue::Language(language) => Some(language),
                _ => None,
            }
        })
    }

    /// The compiler that made it.
    pub fn producer(self) -> Option<String> {
        self.entry(self.unit.header.root_offset())?.text(DW_AT_producer)
    }

    /// The path of one of its files, in the words in which tables of lines have it.
    pub fn file(self, number: u64) -> Option<String> {
        // Up to version 4 there is no such file.
        if number == 0 && self.unit.header.version() < 5 {
            return None;
        }
        let lines = self.unit.line_program.as_ref()?.header();
        let file = lines.file(number)?;
        let text = |value| Some(self.unit.attr_string(value).ok()?.to_string_lossy().ok()?.into_owned());
        let mut path = match &self.unit.comp_dir {
            Some(directory) => directory.to_string_lossy().ok()?.into_owned(),
            None => String::new(),
        };
        // The first directory is the unit's own.
        let directory = file.directory(lines).filter(|_| file.directory_index() != 0);
        for part in [directory, Some(file.path_name())].into_iter().flatten() {
            let part = text(part)?;
            if part.starts_with('/') {
                path.clear();
            } else if !path.is_empty() && !path.ends_with('/') {
                path.push('/');
            }
            path += &part;
        }
        Some(path)
    }
}

/// An entry, read.
#[derive(Clone)]
pub struct Entry<'a> {
    of: UnitOf<'a>,
    entry: DebuggingInformationEntry<Reader>,
}

impl<'a> Entry<'a> {
    /// The unit that it stands in.
    pub fn unit(&self) -> UnitOf<'a> {
        self.of
    }

    /// Where in its unit it stands.
    pub fn offset(&self) -> UnitOffset {
        self.entry.offset
    }

    /// What it tells of.
    pub fn tag(&self) -> DwTag {
        self.entry.tag
    }

    /// Whether it has an attribute.
    pub fn has(&self, attribute: DwAt) -> bool {
        self.entry.has_attr(attribute)
    }

    /// The value of an attribute that is a number.
    pub fn number(&self, attribute: DwAt) -> Option<u64> {
        match self.entry.attr_value(attribute)? {
            AttributeValue::FileIndex(number) => Some(number),
            value => value.udata_value(),
        }
    }

    /// The value of an attribute that is a text.
    pub fn text(&self, attribute: DwAt) -> Option<String> {
        let text = self.of.unit.attr_string(self.entry.attr_value(attribute)?).ok()?;
        Some(text.to_string_lossy().ok()?.into_owned())
    }

    /// Its own name.
    pub fn name(&self) -> Option<String> {
        self.text(DW_AT_name)
    }

    /// The entry that an attribute refers to.
    pub fn follow(&self, attribute: DwAt) -> Option<Entry<'a>> {
        let (unit, offset) = self.of.refers(&self.entry.attr_value(attribute)?)?;
        unit.entry(offset)
    }

    /// The one that tells the rest of what it tells of.
    pub fn rest(&self) -> Option<Entry<'a>> {
        self.follow(DW_AT_abstract_origin).or_else(|| self.follow(DW_AT_specification))
    }

    /// The next entry outwards that is a namespace, a class or a function.
    pub fn scope(&self) -> Option<Entry<'a>> {
        self.of.entry(self.of.scopes().around(self.offset())?)
    }

    /// The first `most` entries in it.
    pub fn children(&self, most: usize) -> Vec<Entry<'a>> {
        let mut all = Vec::new();
        let Ok(mut tree) = self.of.unit.entries_tree(Some(self.offset())) else { return all };
        let Ok(root) = tree.root() else { return all };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            if all.len() == most {
                break;
            }
            all.push(Entry { of: self.of, entry: child.entry().clone() });
        }
        all
    }
}
