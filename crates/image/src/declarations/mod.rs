//! What debug information says of functions beside where their code is: how they are called in full, and where they
//! are declared. Found for each function when it is asked for, as most never are.

mod entries;
mod qualified;
mod scopes;

use crate::dwarf::Reader;
use entries::{Entry, Tables};
use gimli::{DW_AT_decl_file, DW_AT_decl_line, Dwarf, UnitOffset, UnitRef};
use qualified::Writer;
use std::cell::RefCell;
use std::collections::HashMap;
use std::iter::successors;
use std::rc::Rc;
use std::sync::Arc;

pub use qualified::may_have_parts;

/// So many entries are followed from one that tells of a function to one that tells more. Real ones need three.
const LONGEST_CHAIN: usize = 16;

/// Where a function is declared.
#[derive(Debug)]
pub struct Declared {
    /// The source file.
    pub file: String,
    /// Its line, never 0.
    pub line: u32,
}

/// What was found so far in the debug information of a module.
pub struct Declarations {
    main: Rc<File>,
    /// Those with units that were left in files of their own.
    split: RefCell<Vec<Rc<File>>>,
}

struct File {
    tables: Tables,
    names: RefCell<Names>,
}

/// By unit and entry.
type Names = HashMap<((bool, usize), usize), Option<Arc<str>>>;

impl Declarations {
    /// Those of `dwarf`; nothing is read yet.
    pub fn of(dwarf: Arc<Dwarf<Reader>>) -> Declarations {
        Declarations { main: File::of(dwarf), split: RefCell::default() }
    }

    /// A unit may be asked about that was left in a file of its own.
    pub fn add(&self, split: Arc<Dwarf<Reader>>) {
        self.split.borrow_mut().push(File::of(split));
    }

    /// The name of a function that has no name for linkers, with the namespaces, classes and functions that it is in.
    /// `None` if it stands alone, or if that is not known.
    pub fn name(&self, unit: UnitRef<Reader>, function: UnitOffset) -> Option<Arc<str>> {
        let File { tables, names } = &*self.file_of(unit);
        // Each place at which it was inlined has an entry of its own.
        let (unit, function) = tables.own(unit)?.origin(function)?;
        let known = (unit.start(), function.0);
        if let Some(name) = names.borrow().get(&known) {
            return name.clone();
        }
        let name = Writer::default().function(&unit.entry(function)?).map(Arc::from);
        names.borrow_mut().insert(known, name.clone());
        name
    }

    /// Where a function is declared: its definition, if that is told of apart.
    pub fn declared(&self, unit: UnitRef<Reader>, function: UnitOffset) -> Option<Declared> {
        let within = self.file_of(unit);
        let told = told_of(within.tables.own(unit)?.entry(function)?);
        let line = told.iter().find_map(|entry| entry.number(DW_AT_decl_line))?;
        let (teller, file) = told.iter().find_map(|entry| Some((entry, entry.number(DW_AT_decl_file)?)))?;
        // The table of files stays where the unit's code is.
        let file = match teller.unit().dwo_id.filter(|_| !Rc::ptr_eq(&within, &self.main)) {
            Some(id) => self.main.tables.skeleton(id)?.file(file),
            None => teller.unit().file(file),
        };
        Some(Declared { file: file?, line: u32::try_from(line).ok().filter(|&line| line > 0)? })
    }

    /// Whether a function's code begins at `offset`, rather than that a part of it was put there.
    pub fn begins_at(&self, unit: UnitRef<Reader>, function: UnitOffset, offset: u64) -> bool {
        let Ok(entry) = unit.entry(function) else { return false };
        let first = unit.die_ranges(&entry).and_then(|mut ranges| ranges.next());
        first.is_ok_and(|range| range.is_some_and(|range| range.begin == offset))
    }

    fn file_of(&self, unit: UnitRef<Reader>) -> Rc<File> {
        let split = self.split.borrow();
        Rc::clone(split.iter().find(|file| file.tables.are(unit.dwarf)).unwrap_or(&self.main))
    }
}

impl File {
    fn of(dwarf: Arc<Dwarf<Reader>>) -> Rc<File> {
        Rc::new(File { tables: Tables::of(dwarf), names: RefCell::default() })
    }
}

/// An entry and those that tell the rest of the same thing: of code that of what it was made of, and of that the
/// declaration in its class.
fn told_of(entry: Entry<'_>) -> Vec<Entry<'_>> {
    successors(Some(entry), Entry::rest).take(LONGEST_CHAIN).collect()
}
