//! Names as C++ writes them, put together from entries of debug information. Where a symbol has the name demanglers
//! write the same, so that code that was inlined and code that was not are told to be of one function.

use super::entries::Entry;
use super::told_of;
use crate::demangle::demangle;
use crate::names::LONGEST;
use gimli::DwLang;
use gimli::constants as dw;
use std::cell::Cell;

/// C++, of which debug information has a language for each version.
const CPP: [DwLang; 6] = [
    dw::DW_LANG_C_plus_plus,
    dw::DW_LANG_C_plus_plus_03,
    dw::DW_LANG_C_plus_plus_11,
    dw::DW_LANG_C_plus_plus_14,
    dw::DW_LANG_C_plus_plus_17,
    dw::DW_LANG_C_plus_plus_20,
];

/// How many entries are looked at for one name, and how deep they may lie in each other: a damaged file can have them
/// lead to each other without end.
const MOST_ENTRIES: usize = 5000;
const DEEPEST: usize = 48;

/// How GCC begins what it calls the class of a lambda, within the names of templates.
const LAMBDA: &str = "<lambda(";

/// Whether the names of a language have parts with `::` between them, or it is not known.
pub fn may_have_parts(language: Option<DwLang>) -> bool {
    language.is_none_or(|language| CPP.contains(&language) || language == dw::DW_LANG_Rust)
}

/// Writes one name.
pub struct Writer {
    entries_left: Cell<usize>,
    depth: Cell<usize>,
}

impl Default for Writer {
    fn default() -> Writer {
        Writer { entries_left: Cell::new(MOST_ENTRIES), depth: Cell::new(0) }
    }
}

impl Writer {
    /// A function that has no name for linkers, with what it is in and what it takes.
    pub fn function(&self, function: &Entry) -> Option<String> {
        let told = told_of(function.clone());
        let declaration = told.last()?;
        let language = declaration.unit().language().or_else(|| function.unit().language())?;
        let is_cpp = CPP.contains(&language);
        // What other files can refer to by its plain name is that of another language.
        if !is_cpp && language != dw::DW_LANG_Rust || told.iter().any(|entry| entry.has(dw::DW_AT_external)) {
            return None;
        }
        let own = told.iter().find_map(Entry::name)?;
        let name = self.within(declaration, self.with_lambdas(own, declaration)?)?;
        let takes = match is_cpp && declaration.unit().scopes().knows_parameters {
            true => {
                // A declaration need not have them, where the class has a unit of its own.
                let says =
                    |child: &Entry| child.tag() == dw::DW_TAG_formal_parameter && child.has(dw::DW_AT_type);
                let saying = told
                    .iter()
                    .rev()
                    .find(|entry| self.children(entry).is_some_and(|all| all.iter().any(says)));
                self.parameters(saying.unwrap_or(declaration))
            }
            false => None,
        };
        bounded(name + &takes.unwrap_or_default())
    }

    /// `own` with the names of all that `entry` is in before it.
    fn within(&self, entry: &Entry, own: String) -> Option<String> {
        let Some(scope) = entry.scope() else { return Some(own) };
        let path = self.nested(|| match scope.tag() {
            dw::DW_TAG_namespace => self.namespace(&scope),
            dw::DW_TAG_subprogram => {
                let told = told_of(scope.clone());
                let symbols = [dw::DW_AT_linkage_name, dw::DW_AT_MIPS_linkage_name];
                let symbol = told.iter().find_map(|entry| symbols.iter().find_map(|&name| entry.text(name)));
                match symbol {
                    Some(symbol) => Some(demangle(&symbol)),
                    None => self.function(&scope).or_else(|| told.iter().find_map(Entry::name)),
                }
            }
            _ => self.class(&scope),
        })?;
        bounded(path + "::" + &own)
    }

    fn namespace(&self, namespace: &Entry) -> Option<String> {
        // What is added to one later may be told apart from it.
        let first = namespace.follow(dw::DW_AT_extension);
        let namespace = first.as_ref().unwrap_or(namespace);
        self.within(namespace, namespace.name().unwrap_or_else(|| "(anonymous namespace)".into()))
    }

    fn class(&self, class: &Entry) -> Option<String> {
        let told = told_of(class.clone());
        let declaration = told.last()?;
        let own = match told.iter().find_map(own_name) {
            Some(name) => self.with_lambdas(name, declaration)?,
            None => self.lambda(declaration).unwrap_or_else(|| "{unnamed type}".into()),
        };
        self.within(declaration, own)
    }

    /// What the class of a lambda is called within its function: `{lambda(int)#2}` is the second that takes an `int`.
    fn lambda(&self, class: &Entry) -> Option<String> {
        let takes = self.call_of_lambda(class)?;
        let unit = class.unit();
        let counts_all = counts_all_lambdas(&unit.producer().unwrap_or_default());
        let is_counted = |call: &String| counts_all || *call == takes;
        let mut counted: Vec<_> = unit
            .scopes()
            .classes_beside(class.offset())
            .filter_map(|beside| unit.entry(beside))
            .filter(|beside| self.call_of_lambda(beside).as_ref().is_some_and(is_counted))
            .map(|beside| {
                ([dw::DW_AT_decl_line, dw::DW_AT_decl_column].map(|at| beside.number(at)), beside.offset())
            })
            .collect();
        counted.sort();
        let place = counted.iter().position(|&(_, offset)| offset == class.offset())?;
        let takes = takes.trim_end_matches(" const");
        Some(format!("{{lambda{takes}#{}}}", place + 1))
    }

    /// What the lambda takes that a class without a name was made for; `None` for other classes.
    fn call_of_lambda(&self, class: &Entry) -> Option<String> {
        if own_name(class).is_some() {
            return None;
        }
        let is_call = |member: &&Entry| {
            member.tag() == dw::DW_TAG_subprogram
                && member.name().is_some_and(|name| name.starts_with("operator()"))
        };
        let members = self.children(class)?;
        self.nested(|| self.parameters(members.iter().find(is_call)?))
    }

    /// The name of a template with the lambdas in it as they are called here: GCC does not tell them apart.
    fn with_lambdas(&self, name: String, template: &Entry) -> Option<String> {
        let count = name.matches(LAMBDA).count();
        if count == 0 {
            return Some(name);
        }
        let mut lambdas = Vec::new();
        self.lambdas_in(template, &mut lambdas)?;
        // It need not write all of them.
        if lambdas.len() != count {
            return Some(name);
        }
        let mut parts = name.split(LAMBDA);
        let mut out = parts.next()?.to_string();
        for (part, lambda) in parts.zip(lambdas) {
            // What is before it says what function it is in.
            out.truncate(start_of_argument(&out));
            out += &lambda;
            let rest = &part[end_of_argument(part)?..];
            out += rest.strip_prefix(' ').filter(|rest| rest.starts_with('>')).unwrap_or(rest);
        }
        bounded(out)
    }

    /// The lambdas that the types that a template is made for are or have, in order.
    fn lambdas_in(&self, template: &Entry, into: &mut Vec<String>) -> Option<()> {
        for child in self.children(template)? {
            match child.tag() {
                dw::DW_TAG_template_type_parameter => {
                    let mut of = child.follow(dw::DW_AT_type);
                    while let Some(inner) =
                        of.as_ref().filter(|of| !is_class(of)).and_then(|of| of.follow(dw::DW_AT_type))
                    {
                        self.count(1)?;
                        of = Some(inner);
                    }
                    let Some(class) = of.filter(is_class) else { continue };
                    match own_name(&class) {
                        Some(name) if !name.contains(LAMBDA) => {}
                        Some(_) => self.nested(|| self.lambdas_in(&class, into))?,
                        None => into.extend(self.call_of_lambda(&class).and_then(|_| self.class(&class))),
                    }
                }
                dw::DW_TAG_GNU_template_parameter_pack => self.nested(|| self.lambdas_in(&child, into))?,
                _ => {}
            }
        }
        Some(())
    }

    /// `(int, char const*) const`. `None` if it cannot be told.
    fn parameters(&self, function: &Entry) -> Option<String> {
        let mut all = Vec::new();
        let mut end = "";
        for child in self.children(function)? {
            match child.tag() {
                // The object that it is called for, which may be one that it does not change.
                dw::DW_TAG_formal_parameter if child.has(dw::DW_AT_artificial) => {
                    let mut object = child.follow(dw::DW_AT_type);
                    object = object
                        .filter(|of| of.tag() != dw::DW_TAG_const_type)
                        .or_else(|| child.follow(dw::DW_AT_type)?.follow(dw::DW_AT_type));
                    let object = object.and_then(|pointer| pointer.follow(dw::DW_AT_type));
                    if all.is_empty() && object.is_some_and(|object| object.tag() == dw::DW_TAG_const_type) {
                        end = " const";
                    }
                }
                dw::DW_TAG_formal_parameter => all.push(self.type_of(&child, String::new())?),
                dw::DW_TAG_GNU_formal_parameter_pack => {
                    for one in self.children(&child)? {
                        all.push(self.type_of(&one, String::new())?);
                    }
                }
                dw::DW_TAG_unspecified_parameters => all.push("...".into()),
                _ => {}
            }
        }
        bounded(format!("({}){end}", all.join(", ")))
    }

    /// The type that `entry` has, around or before `inside`.
    fn type_of(&self, entry: &Entry, inside: String) -> Option<String> {
        let Some(of) = entry.follow(dw::DW_AT_type) else {
            return (!entry.has(dw::DW_AT_type)).then(|| "void".to_string() + &inside);
        };
        self.count(1)?;
        let before = |mark: &str| mark.to_string() + &inside;
        let around = || match inside.is_empty() {
            true => String::new(),
            false => format!(" ({inside})"),
        };
        let name = self.nested(|| match of.tag() {
            dw::DW_TAG_pointer_type => self.type_of(&of, before("*")),
            dw::DW_TAG_reference_type => self.type_of(&of, before("&")),
            dw::DW_TAG_rvalue_reference_type => self.type_of(&of, before("&&")),
            dw::DW_TAG_const_type => self.type_of(&of, before(" const")),
            dw::DW_TAG_volatile_type => self.type_of(&of, before(" volatile")),
            dw::DW_TAG_restrict_type => self.type_of(&of, before(" __restrict")),
            dw::DW_TAG_typedef => self.type_of(&of, before("")),
            dw::DW_TAG_base_type => Some(of.name().map(base_type)? + &inside),
            dw::DW_TAG_unspecified_type => Some(of.name()? + &inside),
            dw::DW_TAG_enumeration_type => Some(self.within(&of, of.name()?)? + &inside),
            dw::DW_TAG_subroutine_type => self.type_of(&of, around() + &self.parameters(&of)?),
            dw::DW_TAG_array_type => {
                let mut lengths = String::new();
                for range in
                    self.children(&of)?.iter().filter(|child| child.tag() == dw::DW_TAG_subrange_type)
                {
                    let last = range.number(dw::DW_AT_upper_bound).map(|last| last.wrapping_add(1));
                    let length = range.number(dw::DW_AT_count).or(last).map(|length| length.to_string());
                    lengths += &format!("[{}]", length.unwrap_or_default());
                }
                self.type_of(&of, format!("{} {lengths}", around()))
            }
            _ if is_class(&of) => Some(self.class(&of)? + &inside),
            _ => None,
        })?;
        bounded(name)
    }

    fn children<'a>(&self, entry: &Entry<'a>) -> Option<Vec<Entry<'a>>> {
        let children = entry.children(self.entries_left.get());
        self.count(children.len() + 1)?;
        Some(children)
    }

    fn count(&self, entries: usize) -> Option<()> {
        self.entries_left.set(self.entries_left.get().checked_sub(entries)?);
        Some(())
    }

    fn nested<T>(&self, work: impl FnOnce() -> Option<T>) -> Option<T> {
        self.count(1)?;
        self.depth.set(self.depth.get() + 1);
        let done = if self.depth.get() < DEEPEST { work() } else { None };
        self.depth.set(self.depth.get() - 1);
        done
    }
}

/// The name that a class has in the source. Compilers may give those a name that have none there.
fn own_name(class: &Entry) -> Option<String> {
    class.name().filter(|name| !name.starts_with(['<', '.']))
}

/// Where the argument of a template begins that `text` ends within.
fn start_of_argument(text: &str) -> usize {
    let mut depth = 0;
    for (at, character) in text.char_indices().rev() {
        match character {
            ')' | '>' | '}' => depth += 1,
            '(' | '<' | '{' if depth > 0 => depth -= 1,
            '<' | '(' => return at + 1,
            ' ' if depth == 0 && text[..at].ends_with(',') => return at + 1,
            _ => {}
        }
    }
    0
}

/// Where what a lambda takes and its bracket end, of which `text` is the rest.
fn end_of_argument(text: &str) -> Option<usize> {
    let mut depth = 1;
    let end = text.char_indices().find_map(|(at, character)| {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at + 1)
    })?;
    text[end..].starts_with('>').then_some(end + 1)
}

fn is_class(entry: &Entry) -> bool {
    [dw::DW_TAG_class_type, dw::DW_TAG_structure_type, dw::DW_TAG_union_type].contains(&entry.tag())
}

/// GCC's names of numbers in the order in which demanglers put their words.
fn base_type(name: String) -> String {
    let Some(rest) = name.strip_suffix(" int") else { return name };
    match rest {
        "long" | "short" | "long long" => rest.into(),
        _ => match rest.strip_suffix(" unsigned") {
            Some(size) => format!("unsigned {size}"),
            None => name,
        },
    }
}

/// Whether a compiler numbers all lambdas of a function together, as GCC did up to version 12, rather than those alike.
fn counts_all_lambdas(producer: &str) -> bool {
    let version = producer.strip_prefix("GNU ").and_then(|gcc| gcc.split(' ').nth(1)?.split('.').next());
    version.and_then(|major| major.parse::<u32>().ok()).is_some_and(|major| major < 13)
}

fn bounded(name: String) -> Option<String> {
    (name.len() <= LONGEST).then_some(name)
}
