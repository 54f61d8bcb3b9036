//! Which entries of a unit are in which: debug information does not say it backwards.

use crate::dwarf::Reader;
use gimli::{
    DW_TAG_class_type, DW_TAG_formal_parameter, DW_TAG_namespace, DW_TAG_structure_type, DW_TAG_subprogram,
    DW_TAG_union_type, UnitOffset, UnitRef,
};

/// The namespaces, classes and functions of a unit.
#[derive(Default)]
pub struct Scopes {
    /// By where they begin.
    all: Vec<Scope>,
    /// Whether anything in the unit says what functions take. Where only lines were asked for nothing does.
    pub knows_parameters: bool,
}

struct Scope {
    start: usize,
    end: usize,
    /// The one around it.
    outer: Option<usize>,
    is_class: bool,
}

impl Scopes {
    /// Those of `unit`; as many as can be read if it is damaged.
    pub fn of(unit: UnitRef<Reader>) -> Scopes {
        let mut scopes = Scopes::default();
        let _ = scopes.read(unit);
        scopes
    }

    fn read(&mut self, unit: UnitRef<Reader>) -> gimli::Result<()> {
        let mut entries = unit.entries_raw(None)?;
        // Those that are open, with how deep they are.
        let mut open: Vec<(isize, usize)> = Vec::new();
        while !entries.is_empty() {
            let (start, depth) = (entries.next_offset().0, entries.next_depth());
            while let Some((_, inner)) = open.pop_if(|(opened, _)| *opened >= depth) {
                self.all[inner].end = start;
            }
            let Some(abbreviation) = entries.read_abbreviation()? else { continue };
            let tag = abbreviation.tag();
            let is_class = [DW_TAG_structure_type, DW_TAG_class_type, DW_TAG_union_type].contains(&tag);
            if abbreviation.has_children()
                && (is_class || [DW_TAG_namespace, DW_TAG_subprogram].contains(&tag))
            {
                let outer = open.last().map(|&(_, scope)| scope);
                open.push((depth, self.all.len()));
                self.all.push(Scope { start, end: usize::MAX, outer, is_class });
            }
            self.knows_parameters |= tag == DW_TAG_formal_parameter;
            entries.skip_attributes(abbreviation.attributes())?;
        }
        Ok(())
    }

    /// The innermost one that the entry at `offset` is in.
    pub fn around(&self, offset: UnitOffset) -> Option<UnitOffset> {
        Some(UnitOffset(self.all[self.index_around(offset)?].start))
    }

    /// The classes that are in the same one as the entry at `offset`, with it if it is one.
    pub fn classes_beside(&self, offset: UnitOffset) -> impl Iterator<Item = UnitOffset> {
        let outer = self.index_around(offset);
        let beside = self.all.iter().filter(move |scope| scope.is_class && scope.outer == outer);
        beside.map(|scope| UnitOffset(scope.start))
    }

    fn index_around(&self, offset: UnitOffset) -> Option<usize> {
        let mut around = self.all.partition_point(|scope| scope.start < offset.0).checked_sub(1)?;
        while self.all[around].end <= offset.0 {
            around = self.all[around].outer?;
        }
        Some(around)
    }
}
