//! What an instruction takes on a processor: its µops beside those that access memory, and its latency.

use super::Uop;
use super::table::Model;
use crate::processor::{Backend, Kind, MOST_PORTS, Processor, Timing, part};
use std::collections::HashMap;
use timewise_isa::{Class, Form, Registers, encoding_name};

/// Most µops that an instruction is split into; what has more keeps the last one's port busy for the rest.
const MOST_UOPS: usize = 24;

/// The ports of a processor, and the sets of them that µops choose from.
#[derive(Debug, Default)]
pub struct Ports {
    names: Vec<String>,
    /// Distinct sets.
    sets: Vec<u32>,
    /// For each port, its scheduler.
    queues: Vec<u8>,
}

impl Ports {
    fn new(processor: &Processor, model: Option<&Model>) -> Result<Ports, String> {
        let mut names = model.map_or_else(Vec::new, |model| model.ports.clone());
        names.extend(processor.backend.ports.iter().cloned());
        if names.len() > MOST_PORTS {
            return Err(format!(
                "ports: there are {} with those of the model, over {MOST_PORTS}",
                names.len()
            ));
        }
        let is_repeated = |(number, name): &(usize, &String)| names[..*number].contains(name);
        if let Some((_, name)) = names.iter().enumerate().find(is_repeated) {
            return Err(format!("ports: there are two called {name}"));
        }
        let mut queues = vec![0; names.len()];
        for (number, queue) in processor.backend.queues.iter().enumerate() {
            let set = Backend::ports(&names, &queue.ports).map_err(in_field("queues.ports"))?;
            let members = queues.iter_mut().enumerate().filter(|(port, _)| set >> port & 1 == 1);
            members.for_each(|(_, queue)| *queue = number as u8);
        }
        Ok(Ports { names, sets: Vec::new(), queues })
    }

    /// The number of a set of ports, which is added if it is new.
    ///
    /// # Errors
    /// If it is empty, or if there are too many sets.
    fn add(&mut self, ports: u32) -> Result<u8, String> {
        if ports == 0 {
            return Err("a µop has no port to go to".into());
        }
        let set = self.sets.iter().position(|set| *set == ports).unwrap_or_else(|| {
            self.sets.push(ports);
            self.sets.len() - 1
        });
        u8::try_from(set).map_err(|_| "there are over 256 sets of ports that µops go to".into())
    }

    /// The µop that goes to any port of a set, if that was added before.
    fn uop(&self, ports: u32, busy: u16) -> Option<Uop> {
        let set = self.sets.iter().position(|set| *set == ports)?;
        Some(self.uop_of(set as u8, busy))
    }

    /// The µop that goes to any port of the set of this number.
    fn uop_of(&self, set: u8, busy: u16) -> Uop {
        let ports = self.sets[usize::from(set)];
        Uop { ports, set, queue: self.queues[ports.trailing_zeros() as usize], busy: busy.max(1) }
    }

    /// The µop that goes to any of the ports of these names.
    ///
    /// # Errors
    /// If there is no such port.
    fn named(&mut self, names: &[String]) -> Result<Uop, String> {
        let ports = Backend::ports(&self.names, names)?;
        let set = self.add(ports)?;
        Ok(self.uop_of(set, 1))
    }

    /// For each set, the µops that go to its ports of one scheduler, if there are several.
    ///
    /// # Errors
    /// If there are too many sets.
    fn shares(&mut self) -> Result<Vec<Vec<Uop>>, String> {
        let sets = self.sets.clone();
        let of_queue = |queue: &u8| {
            let ports = self.queues.iter().enumerate().filter(|(_, own)| *own == queue);
            ports.fold(0, |set, (port, _)| set | 1 << port)
        };
        let mut queues = self.queues.clone();
        queues.sort_unstable();
        queues.dedup();
        let queues: Vec<u32> = queues.iter().map(of_queue).collect();
        let shares = sets.into_iter().map(|set| {
            let parts: Vec<u32> = queues.iter().map(|queue| set & queue).filter(|part| *part != 0).collect();
            let shares = parts.iter().map(|part| self.add(*part).map(|set| self.uop_of(set, 1)));
            if parts.len() > 1 { shares.collect() } else { Ok(Vec::new()) }
        });
        shares.collect()
    }
}

/// The µops that access memory.
#[derive(Clone, Copy, Debug)]
pub struct MemoryUops {
    /// Loads to general-purpose registers, and to vector registers.
    pub load: Uop,
    pub vector_load: Uop,
    /// Loads of more than 32 bytes.
    pub wide_load: Uop,
    /// Second parts of loads that cross lines, and of those that cross pages, if other than the first.
    pub split_load: Option<Uop>,
    pub page_split_load: Option<Uop>,
    /// Addresses of stores.
    pub address: Uop,
    /// What general-purpose registers store, and vector registers.
    pub data: Uop,
    pub vector_data: Uop,
}

impl MemoryUops {
    fn new(processor: &Processor, ports: &mut Ports) -> Result<MemoryUops, String> {
        let (loads, stores) = (&processor.loads, &processor.stores);
        let mut named = |field, names: &[String]| ports.named(names).map_err(in_field(field));
        let load = named("loads.ports", &loads.ports)?;
        let data = named("stores.data_ports", &stores.data_ports)?;
        // What has no ports of its own takes those of the others.
        let mut own = |field, names: &[String], others| match names {
            [] => Ok(others),
            _ => named(field, names),
        };
        let vector_load = own("loads.vector_ports", &loads.vector_ports, load)?;
        let wide_load = own("loads.wide_ports", &loads.wide_ports, vector_load)?;
        let vector_data = own("stores.vector_data_ports", &stores.vector_data_ports, data)?;
        let address = named("stores.address_ports", &stores.address_ports)?;
        let splits = (!loads.split_ports.is_empty()).then_some(&loads.split_ports);
        let split_load = splits.map(|ports| named("loads.split_ports", ports)).transpose()?;
        let page_split_load = split_load.map(|split| Uop { busy: loads.page_split, ..split });
        Ok(MemoryUops {
            load,
            vector_load,
            wide_load,
            split_load,
            page_split_load,
            address,
            data,
            vector_data,
        })
    }
}

/// What an instruction takes.
#[derive(Clone, Debug, Default)]
pub struct Recipe {
    /// Cycles from operands to result.
    pub latency: u16,
    /// µops that compute.
    pub uops: Vec<Uop>,
    /// Entries of the reorder buffer for these; 0 if there are none.
    pub entries: u8,
    /// Whether what it writes is an operand, too.
    pub waits_for_destination: bool,
    /// Cycles that the upper half of a product takes more.
    pub upper_extra: u16,
}

/// Recipes of all instructions of a processor.
#[derive(Debug)]
pub struct Recipes {
    /// What accesses to memory take.
    pub memory: MemoryUops,
    ports: Ports,
    model: Option<Model>,
    memory_ports: u32,
    counts_memory: bool,
    load_latency: u16,
    /// Bytes of a vector that µops of an entry compute in one turn.
    turn_bytes: u8,
    complex_lea: Option<Recipe>,
    scaled_lea: Option<Recipe>,
    simple_lea: Option<Recipe>,
    /// For each set of ports whose µops may go to several schedulers, those that go to one of them.
    shares: Vec<Vec<Uop>>,
    kinds: HashMap<Kind, Recipe>,
    /// By the beginning of the encoding's name.
    named: Vec<(Named, Recipe)>,
}

/// What a record calls encodings by.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Named {
    /// The name, or its beginning and a `*`.
    encoding: String,
    /// It is said of the forms with an operand in memory alone.
    memory: bool,
}

impl Named {
    /// As it stands in a record, where those with an operand in memory have ` m` behind the name.
    fn new(name: &str) -> Named {
        let general = name.strip_suffix(" m");
        Named { encoding: general.unwrap_or(name).to_string(), memory: general.is_some() }
    }

    /// Whether it is said of vectors of 64 bytes alone.
    fn is_of_widest(&self) -> bool {
        self.encoding.contains("_zmm")
    }

    /// Whether it is said of a form.
    fn is_of(&self, encoding: &str, memory: bool) -> bool {
        (memory || !self.memory) && fits(&self.encoding, encoding)
    }
}

impl Recipes {
    /// Those of a processor.
    ///
    /// # Errors
    /// If its record names ports or models that are not there.
    pub fn new(processor: &Processor) -> Result<Recipes, String> {
        let backend = &processor.backend;
        let model = part("backend", backend.model.as_deref().map(Model::new).transpose())?;
        let mut ports = part("backend", Ports::new(processor, model.as_ref()))?;
        let memory_ports = Backend::ports(&ports.names, &backend.model_memory_ports)
            .map_err(in_field("backend.model_memory_ports"))?;
        model.iter().flat_map(Model::sets).try_for_each(|set| ports.add(set).map(drop))?;
        let memory = MemoryUops::new(processor, &mut ports)?;
        let mut of = |name: &str, timing| recipe(&mut ports, timing).map_err(in_field(name));
        let kinds = backend.kinds.iter();
        let kinds: HashMap<Kind, Recipe> = kinds
            .map(|(kind, timing)| Ok((*kind, of(&format!("backend.kinds.{kind:?}"), timing)?)))
            .collect::<Result<_, String>>()?;
        let [complex_lea, scaled_lea, simple_lea] = backend
            .leas()
            .map(|(name, timing)| timing.map(|timing| of(&format!("backend.{name}"), timing)).transpose());
        let (complex_lea, scaled_lea, simple_lea) = (complex_lea?, scaled_lea?, simple_lea?);
        let named = backend.instructions.iter();
        let of_names = named.map(|(names, timing)| {
            let recipe = of(&format!("backend.instructions.\"{names}\""), timing)?;
            Ok(names.split(", ").map(move |name| (Named::new(name), recipe.clone())))
        });
        let of_names: Vec<_> = of_names.collect::<Result<_, String>>()?;
        let mut named: Vec<(Named, Recipe)> = of_names.into_iter().flatten().collect();
        known(named.iter().map(|(name, _)| name.encoding.as_str()))?;
        // What is said of operands in memory alone, and the longest name, are the most particular.
        named.sort_by_key(|(name, _)| std::cmp::Reverse((name.memory, name.encoding.len())));
        if model.is_none() && !kinds.contains_key(&Kind::Integer) {
            return Err("backend has neither a model nor kinds.integer".into());
        }
        let shares = if backend.distributes { ports.shares()? } else { Vec::new() };
        Ok(Recipes {
            memory,
            ports,
            model,
            memory_ports,
            counts_memory: backend.model_counts_memory,
            load_latency: processor.memory.data.latency as u16,
            turn_bytes: backend.vector_bytes.filter(|_| backend.whole_vectors).unwrap_or(u8::MAX),
            complex_lea,
            scaled_lea,
            simple_lea,
            shares,
            kinds,
            named,
        })
    }

    /// What a µop may become when it is given to a scheduler; nothing if there is no choice.
    #[inline]
    pub fn shares(&self, uop: Uop) -> &[Uop] {
        self.shares.get(usize::from(uop.set)).map_or(&[], Vec::as_slice)
    }

    /// What an instruction takes; without the µops that only load or store.
    pub fn of(&self, form: &Form, accesses: [usize; 2]) -> Recipe {
        if matches!(form.class, Class::Nop | Class::Prefetch) {
            return Recipe::default();
        }
        if let Some(recipe) = self.lea(form) {
            return recipe.clone();
        }
        let name = general_name(form.encoding).unwrap_or_default();
        let moves = form.class == Class::Move && form.memory;
        let named = self.named.iter().find(|(known, _)| known.is_of(&name, form.memory));
        if let Some((known, recipe)) = named.filter(|(known, _)| known.memory || !moves) {
            let mut recipe = recipe.clone();
            if !known.is_of_widest() {
                recipe.uops = recipe.uops.repeat(form.vector_bytes.div_ceil(self.turn_bytes).max(1).into());
            }
            return recipe;
        }
        if moves {
            return Recipe::default();
        }
        if let Some(recipe) = self.kinds.get(&kind(form)) {
            return recipe.clone();
        }
        let mut own = self.modelled(&name, form.memory, accesses);
        if let Some(recipe) = own.as_mut().filter(|_| is_move_into_itself(form)) {
            // No renamer gives a register a part of itself.
            recipe.latency = recipe.latency.max(1);
        }
        // What the model does not know it takes for something of its kind.
        let recipe = own.or_else(|| self.modelled(alike(kind(form)), false, [0, 0]));
        recipe.or_else(|| self.kinds.get(&Kind::Integer).cloned()).unwrap_or_default()
    }

    /// What the record says of a `lea`.
    fn lea(&self, form: &Form) -> Option<&Recipe> {
        // The address of the next instruction is no register that it would read.
        if !form.is_lea || form.reads == Registers::NONE {
            return None;
        }
        let complex = self.complex_lea.as_ref().filter(|_| form.has_three_parts);
        complex.or(if form.is_scaled { self.scaled_lea.as_ref() } else { self.simple_lea.as_ref() })
    }

    /// By the model.
    fn modelled(&self, name: &str, memory: bool, accesses: [usize; 2]) -> Option<Recipe> {
        let model = self.model.as_ref()?;
        let plain = model.row(name, false);
        let row = model.row(name, memory).or(plain)?;
        let mut recipe = Recipe::default();
        // What accesses no memory computes on address ports.
        let is_left = |set: u32| set & self.memory_ports == 0 || memory && accesses == [0, 0];
        for &(set, cycles) in row.uses.iter().filter(|(set, _)| is_left(*set)) {
            // Either several µops or one that keeps the port busy.
            let count = if cycles <= row.uops { cycles } else { 1 };
            for _ in 0..count.min((MOST_UOPS - recipe.uops.len()) as u16) {
                recipe.uops.extend(self.ports.uop(set, cycles / count));
            }
        }
        let [loads, stores] = accesses.map(|accesses| accesses as u16);
        let counted = match self.counts_memory {
            true => row.uops.saturating_sub(loads + 2 * stores),
            false => row.uops,
        };
        recipe.entries = counted.max(u16::from(!recipe.uops.is_empty())).min(200) as u8;
        recipe.latency = match (memory, plain) {
            _ if recipe.uops.is_empty() => 0,
            (true, Some(plain)) => plain.latency,
            (true, None) if loads > 0 => row.latency.saturating_sub(self.load_latency).max(1),
            _ => row.latency,
        };
        Some(recipe)
    }
}

/// Whether a register gets what was a part of it.
fn is_move_into_itself(form: &Form) -> bool {
    form.class == Class::Move && form.writes.iter().any(|register| form.reads.contains(register))
}

/// Says which field of the record a fault is in.
fn in_field(name: &str) -> impl Fn(String) -> String {
    move |fault| format!("{name}: {fault}")
}

/// Refuses a record's name of an encoding that there is not: what it says would be for nothing.
fn known<'a>(mut names: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let all: Vec<String> = (0..).map_while(general_name).collect();
    match names.find(|name| !all.iter().any(|encoding| fits(name, encoding))) {
        Some(name) => Err(format!("backend.instructions.\"{name}\": there is no such encoding")),
        None => Ok(()),
    }
}

/// Whether an encoding is what a record calls so.
fn fits(known: &str, encoding: &str) -> bool {
    known.strip_suffix('*').map_or(known == encoding, |start| encoding.starts_with(start))
}

/// The name by which an encoding is known here.
fn general_name(encoding: u16) -> Option<String> {
    encoding_name(encoding).map(|name| general(&name.to_string()))
}

/// The encoding that an encoding is a short form of: with a constant and the accumulator, as with any register.
fn general(name: &str) -> String {
    for (short, long) in [
        ("_AL_imm8", "_rm8_imm8"),
        ("_AX_imm16", "_rm16_imm16"),
        ("_EAX_imm32", "_rm32_imm32"),
        ("_RAX_imm32", "_rm64_imm32"),
    ] {
        if let Some(operation) = name.strip_suffix(short) {
            return format!("{operation}{long}");
        }
    }
    name.to_string()
}

fn recipe(ports: &mut Ports, timing: &Timing) -> Result<Recipe, String> {
    let mut uops: Vec<Uop> =
        timing.ports.iter().map(|names| ports.named(names)).collect::<Result<_, String>>()?;
    if let Some(first) = uops.first_mut() {
        first.busy = timing.busy.max(1);
    }
    let entries = timing.entries.unwrap_or(uops.len() as u8);
    let waits_for_destination = timing.waits_for_destination;
    let upper_extra = timing.upper_extra;
    Ok(Recipe { latency: timing.latency, uops, entries, waits_for_destination, upper_extra })
}

/// An instruction that stands for those of a kind of which the model says nothing.
fn alike(kind: Kind) -> &'static str {
    match kind {
        Kind::Integer | Kind::System => "Add_r64_rm64",
        Kind::Multiply => "Imul_r64_rm64",
        Kind::Divide => "Div_rm64",
        Kind::Vector => "Paddd_xmm_xmmm128",
        Kind::Float => "Addpd_xmm_xmmm128",
        Kind::FloatDivide => "Divpd_xmm_xmmm128",
        Kind::SquareRoot => "Sqrtpd_xmm_xmmm128",
        Kind::Branch => "Jne_rel8_64",
    }
}

fn kind(form: &Form) -> Kind {
    match form.class {
        Class::Move if form.vector_bytes > 0 => Kind::Vector,
        Class::Nop | Class::Prefetch | Class::Move | Class::Integer => Kind::Integer,
        Class::Multiply => Kind::Multiply,
        Class::Divide => Kind::Divide,
        Class::Vector => Kind::Vector,
        Class::Float => Kind::Float,
        Class::FloatDivide => Kind::FloatDivide,
        Class::SquareRoot => Kind::SquareRoot,
        Class::Branch => Kind::Branch,
        Class::Repeated | Class::Evict | Class::System => Kind::System,
    }
}
