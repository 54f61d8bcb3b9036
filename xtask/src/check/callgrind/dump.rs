//! Reading callgrind's dump: executions of every instruction, by module and link-time address, and what was
//! executed under each call.
//!
//! What lies outside a module's `.text` section (`.plt`, `.init`) has no module in the dump, only a run-time
//! address; where Valgrind mapped the modules stands in what it prints when it reads their symbols.

use crate::check::segments::Place;
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// What one dump says. A function's recursive activations may be apart from its first one, as levels.
#[derive(Debug, Default)]
pub struct Dump {
    /// Executions of every instruction.
    pub executions: BTreeMap<Place, i64>,
    /// Functions.
    pub functions: Vec<Function>,
    /// The functions that executed an instruction, by their numbers: more than one if they jump into each other.
    pub holders: BTreeMap<Place, Vec<usize>>,
    /// Instructions executed in first activations of each function.
    pub first: Vec<i64>,
    /// Calls.
    pub calls: Vec<Call>,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Function {
    /// Its module, as named in the dump.
    pub module: String,
    /// Its name.
    pub name: String,
}

/// A function by its number, and how many of its activations are open, this one included.
pub type Activation = (usize, u32);

/// All calls from an instruction in an activation to another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// What calls.
    pub from: Activation,
    /// What is called.
    pub to: Activation,
    /// The instruction that calls.
    pub site: Place,
    /// The instruction that it calls.
    pub entry: Place,
    /// How often.
    pub times: i64,
    /// Instructions executed until the calls returned.
    pub instructions: i64,
}

/// Reads a dump. It must have been written with neither strings nor positions compressed, and the log with the
/// trace of symbol reading.
///
/// # Errors
/// If it is not such a dump.
pub fn read(file: &Path, log: &Path) -> Result<Dump> {
    let text = |path: &Path| {
        let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
        Ok::<String, anyhow::Error>(String::from_utf8_lossy(&bytes).into_owned())
    };
    Reader::new(&mapped(&text(log)?)).read(&text(file)?).with_context(|| file.display().to_string())
}

/// Where Valgrind mapped a module's code.
#[derive(Debug, PartialEq, Eq)]
struct Mapped {
    path: String,
    code: std::ops::Range<u64>,
    bias: u64,
}

fn mapped(log: &str) -> Vec<Mapped> {
    let (mut path, mut code) = ("", 0..0);
    let mut all = Vec::new();
    for line in log.lines() {
        // A prefix with the process id, then the text.
        let text = line.split_once("-- ").map_or(line, |(_, text)| text);
        let word = |n: usize| text.split_whitespace().nth(n).unwrap_or_default();
        let address = |n: usize| hexadecimal(word(n)).unwrap_or(0);
        if let Some(name) = text.trim_start_matches('-').trim_start().strip_prefix("name = ") {
            path = name;
        } else if word(0) == "rx_map:" {
            code = address(2)..address(2) + word(4).parse::<u64>().unwrap_or(0);
        } else if text.trim_start().starts_with("acquiring .text bias") {
            all.push(Mapped { path: path.to_string(), code: code.clone(), bias: address(4) });
        }
    }
    all
}

fn hexadecimal(word: &str) -> Result<u64> {
    u64::from_str_radix(word.trim_start_matches("0x"), 16).with_context(|| format!("not an address: {word}"))
}

/// A dump while it is read.
struct Reader<'a> {
    mapped: &'a [Mapped],
    numbers: HashMap<(&'a str, &'a str), usize>,
    dump: Dump,
}

impl<'a> Reader<'a> {
    fn new(mapped: &'a [Mapped]) -> Reader<'a> {
        Reader { mapped, numbers: HashMap::new(), dump: Dump::default() }
    }

    fn read(mut self, text: &'a str) -> Result<Dump> {
        ensure!(text.contains("\npositions: instr line\n"), "no instruction positions");
        ensure!(text.contains("\nevents: Ir\n"), "other events than instructions");
        let (mut module, mut activation) = ("", (0, 1));
        let (mut called_module, mut called) = (None, "");
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(object) = line.strip_prefix("ob=") {
                module = object;
            } else if let Some(name) = line.strip_prefix("fn=") {
                activation = self.activation(module, name);
            } else if let Some(object) = line.strip_prefix("cob=") {
                called_module = Some(object);
            } else if let Some(name) = line.strip_prefix("cfn=") {
                called = name;
            } else if let Some(call) = line.strip_prefix("calls=") {
                let callee = called_module.take().unwrap_or(module);
                let [times, entry, _] = fields(call)?;
                // The next line is what the callee cost, which its own lines tell too.
                let [site, _, instructions] = fields(lines.next().unwrap_or_default())?;
                let call = Call {
                    from: activation,
                    to: self.activation(callee, called),
                    site: self.place(module, site)?,
                    entry: self.place(callee, entry)?,
                    times: times.parse()?,
                    instructions: instructions.parse()?,
                };
                self.dump.calls.push(call);
            } else if line.starts_with("0x") {
                let [address, _, times] = fields(line)?;
                self.add(activation, self.place(module, address)?, times.parse()?);
            }
        }
        Ok(self.dump)
    }

    fn add(&mut self, (function, level): Activation, place: Place, times: i64) {
        if let Some(first) = self.dump.first.get_mut(function).filter(|_| level == 1) {
            *first += times;
        }
        let holders = self.dump.holders.entry(place.clone()).or_default();
        if !holders.contains(&function) {
            holders.push(function);
        }
        *self.dump.executions.entry(place).or_default() += times;
    }

    /// From what a function is called there, which ends in the level unless that is the first.
    fn activation(&mut self, module: &'a str, name: &'a str) -> Activation {
        let apart = name.rsplit_once('\'').and_then(|(name, level)| Some((name, level.parse().ok()?)));
        let (name, level) = apart.unwrap_or((name, 1));
        let Reader { numbers, dump, .. } = self;
        let number = *numbers.entry((module, name)).or_insert_with(|| {
            dump.functions.push(Function { module: module.to_string(), name: name.to_string() });
            dump.first.push(0);
            dump.functions.len() - 1
        });
        (number, level)
    }

    fn place(&self, module: &str, address: &str) -> Result<Place> {
        let address = hexadecimal(address)?;
        Ok(match self.mapped.iter().rev().find(|m| m.code.contains(&address)) {
            Some(known) if module == "???" => (known.path.clone(), address - known.bias),
            _ => (module.to_string(), address),
        })
    }
}

fn fields(line: &str) -> Result<[&str; 3]> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    fields.try_into().map_err(|_| anyhow::anyhow!("not three fields: {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(module: &str, address: u64) -> Place {
        (module.to_string(), address)
    }

    #[test]
    fn where_modules_are_mapped_is_read_from_the_trace() {
        let log = "--7-- ------ start ELF OBJECT ---\n--7-- ------ name = /bin/a\n\
                   --7-- rx_map:  avma 0x10a000   size 16384  foff 8192\n--7-- acquiring .text bias = 0x108000\n";
        let expected = Mapped { path: "/bin/a".to_string(), code: 0x10a000..0x10e000, bias: 0x108000 };
        assert_eq!(mapped(log), [expected]);
    }

    #[test]
    fn own_costs_are_summed_and_callees_costs_left_out() {
        let text = "version: 1\npositions: instr line\nevents: Ir\n\nob=/bin/a\nfn=f\n0x10 0 3\n0x12 5 3\n\
                    cob=/lib/b\ncfn=g\ncalls=3 0x40 0\n0x12 5 900\n\nob=/lib/b\nfn=g\n0x40 0 3\n\nob=/bin/a\n0x10 0 4\n";
        let all = Reader::new(&[]).read(text).unwrap().executions;
        assert_eq!(all.len(), 3);
        assert_eq!(all[&place("/bin/a", 0x10)], 7);
        assert_eq!(all[&place("/bin/a", 0x12)], 3);
        assert!(Reader::new(&[]).read("positions: line\n").is_err());
    }

    #[test]
    fn calls_name_both_functions_and_their_levels() {
        let text = "positions: instr line\nevents: Ir\n\nob=/bin/a\nfn=f\n0x10 0 3\ncfn=f'2\ncalls=3 0x10 0\n\
                    0x12 5 900\ncob=???\ncfn=0x7040\ncalls=1 0x7040 0\n0x13 5 8\n\nfn=f'2\n0x10 0 6\n";
        let text = format!("version: 1\n{text}");
        let mapped = [Mapped { path: "/lib/b".to_string(), code: 0x7000..0x8000, bias: 0x7000 }];
        let dump = Reader::new(&mapped).read(&text).unwrap();
        assert_eq!(dump.functions.len(), 2);
        assert_eq!(dump.first, [3, 0]);
        assert_eq!(dump.holders[&place("/bin/a", 0x10)], [0]);
        let [recursive, other] = &dump.calls[..] else { panic!("{:?}", dump.calls) };
        assert_eq!((recursive.from, recursive.to), ((0, 1), (0, 2)));
        assert_eq!((recursive.times, recursive.instructions), (3, 900));
        assert_eq!((other.site.clone(), other.entry.clone()), (place("/bin/a", 0x13), place("/lib/b", 0x40)));
    }
}
