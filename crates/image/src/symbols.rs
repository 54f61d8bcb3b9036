//! Function symbols of an ELF file's two symbol tables.

use crate::demangle::without_version;
use crate::image::Elf;
use object::elf::{STB_GLOBAL, STB_WEAK, STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE};
use object::read::elf::ElfSymbol64;
use object::{Endianness, Object, ObjectSymbol};
use std::cmp::Reverse;
use std::ops::Range;

/// A symbol that names code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named<'data> {
    /// First instruction.
    pub offset: u64,
    /// Bytes; 0 where the table does not say.
    pub size: u64,
    /// As linked, without a version.
    pub name: &'data str,
    /// What it is said to be.
    pub standing: Standing,
    /// Larger is seen by more files.
    pub binding: u8,
}

/// What the symbol table says of a symbol in code, the least first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Standing {
    /// Nothing, and no other file can refer to it: assemblers do that to every label.
    Label,
    /// Nothing, but other files can refer to it, or it has a size.
    Exported,
    /// That it is a function.
    Function,
}

/// All symbols of `elf` that name something within `code`, in no order.
pub fn of<'data>(elf: &Elf<'data>, code: &[Range<u64>]) -> Vec<Named<'data>> {
    let tables = elf.symbols().chain(elf.dynamic_symbols());
    tables.filter_map(|symbol| named(&symbol, code)).collect()
}

fn named<'data>(symbol: &ElfSymbol64<'data, '_, Endianness>, code: &[Range<u64>]) -> Option<Named<'data>> {
    let raw = symbol.elf_symbol();
    let kind = raw.st_type();
    let typed = kind == STT_FUNC || kind == STT_GNU_IFUNC;
    if !typed && kind != STT_NOTYPE || symbol.is_undefined() {
        return None;
    }
    let offset = symbol.address();
    if !code.iter().any(|range| range.contains(&offset)) {
        return None;
    }
    let name = without_version(symbol.name().ok()?);
    // Names that assemblers make up begin with these.
    if name.is_empty() || name.starts_with(['$', '.']) && !typed {
        return None;
    }
    let binding = match raw.st_bind() {
        STB_GLOBAL => 2,
        STB_WEAK => 1,
        _ => 0,
    };
    let size = symbol.size();
    let standing = match typed {
        true => Standing::Function,
        false if binding > 0 || size > 0 => Standing::Exported,
        false => Standing::Label,
    };
    Some(Named { offset, size, name, standing, binding })
}

/// Of several symbols at one offset keeps the one that a reader knows best, with the largest size that
/// any of them states. The result is sorted by offset.
pub fn without_aliases(mut all: Vec<Named<'_>>) -> Vec<Named<'_>> {
    all.sort_by(|a, b| a.offset.cmp(&b.offset).then_with(|| familiarity(b).cmp(&familiarity(a))));
    all.dedup_by(|alias, kept| {
        let same = alias.offset == kept.offset;
        if same {
            kept.size = kept.size.max(alias.size);
        }
        same
    });
    all
}

/// Larger is better: functions before labels, `malloc` before `__libc_malloc`, what is exported before
/// what is not, short before long.
fn familiarity<'a>(symbol: &'a Named<'_>) -> impl Ord + use<'a> {
    let underscores = symbol.name.bytes().take_while(|&byte| byte == b'_').count();
    // Mangled names begin with an underscore that says nothing.
    let hidden = if symbol.name.starts_with("_Z") || symbol.name.starts_with("_R") { 0 } else { underscores };
    let plainness = (symbol.standing, Reverse(hidden), symbol.binding);
    (plainness, Reverse(symbol.name.len()), Reverse(symbol.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_familiar_name_wins_and_the_size_is_kept() {
        let standing = Standing::Function;
        let symbol = |name, size, binding| Named { offset: 16, size, name, standing, binding };
        let all = vec![
            symbol("__GI___libc_malloc", 80, 0),
            symbol("malloc", 0, 2),
            symbol("__libc_malloc", 80, 2),
            symbol("malloc_internal_alias", 80, 0),
        ];
        let kept = without_aliases(all);
        assert_eq!((kept.len(), kept[0].name, kept[0].size), (1, "malloc", 80));
    }
}
