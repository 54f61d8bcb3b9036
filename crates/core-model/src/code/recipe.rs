//! What an instruction takes on a processor: its µops beside those that access memory, and its latency.

use super::Uop;
use super::table::{Model, TableError};
use crate::processor::{Backend, Kind, Processor, Timing};
use std::collections::HashMap;
use timewise_isa::{Class, Form, encoding_name};

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
        if names.len() > 32 {
            return Err("there are over 32 ports".into());
        }
        let mut queues = vec![0; names.len()];
        for (number, queue) in processor.backend.queues.iter().enumerate() {
            let set = Backend::ports(&names, &queue.ports)?;
            let members = queues.iter_mut().enumerate().filter(|(port, _)| set >> port & 1 == 1);
            members.for_each(|(_, queue)| *queue = number as u8);
        }
        Ok(Ports { names, sets: Vec::new(), queues })
    }

    /// The µop that goes to any port of a set.
    ///
    /// # Errors
    /// If the set is empty or there are too many sets.
    fn uop(&mut self, ports: u32, busy: u16) -> Result<Uop, String> {
        if ports == 0 {
            return Err("a µop has no port to go to".into());
        }
        let known = self.sets.iter().position(|set| *set == ports);
        let set = known.unwrap_or_else(|| {
            self.sets.push(ports);
            self.sets.len() - 1
        });
        let set = u8::try_from(set).map_err(|_| "there are over 256 sets of ports")?;
        Ok(Uop { ports, set, queue: self.queues[ports.trailing_zeros() as usize], busy: busy.max(1) })
    }

    /// The µop that goes to any of the ports of these names.
    ///
    /// # Errors
    /// If there is no such port.
    pub fn named(&mut self, names: &[String]) -> Result<Uop, TableError> {
        let ports = Backend::ports(&self.names, names).map_err(TableError::Senseless)?;
        self.uop(ports, 1).map_err(TableError::Senseless)
    }

    /// How many sets there are.
    pub fn sets(&self) -> usize {
        self.sets.len()
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
}

/// Recipes of all instructions of a processor.
#[derive(Debug)]
pub struct Recipes {
    /// The ports.
    pub ports: Ports,
    model: Option<Model>,
    memory_ports: u32,
    counts_memory: bool,
    load_latency: u16,
    complex_lea: Option<Recipe>,
    kinds: HashMap<Kind, Recipe>,
    /// By the beginning of the encoding's name.
    named: Vec<(String, Recipe)>,
}

impl Recipes {
    /// Those of a processor.
    ///
    /// # Errors
    /// If its record names ports or models that are not there.
    pub fn new(processor: &Processor) -> Result<Recipes, TableError> {
        let backend = &processor.backend;
        let model = backend.model.as_deref().map(Model::new).transpose()?;
        let mut ports = Ports::new(processor, model.as_ref()).map_err(TableError::Senseless)?;
        let memory_ports =
            Backend::ports(&ports.names, &backend.model_memory_ports).map_err(TableError::Senseless)?;
        let kinds = backend.kinds.iter().map(|(kind, timing)| Ok((*kind, recipe(&mut ports, timing)?)));
        let kinds: HashMap<Kind, Recipe> = kinds.collect::<Result<_, TableError>>()?;
        let complex_lea =
            backend.complex_lea.as_ref().map(|timing| recipe(&mut ports, timing)).transpose()?;
        let named = backend.instructions.iter();
        let mut named: Vec<(String, Recipe)> = named
            .map(|(name, timing)| Ok((name.clone(), recipe(&mut ports, timing)?)))
            .collect::<Result<_, TableError>>()?;
        // The longest name is the most particular.
        named.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        if model.is_none() && !kinds.contains_key(&Kind::Integer) {
            return Err(TableError::Senseless("backend has neither a model nor kinds.integer".into()));
        }
        Ok(Recipes {
            ports,
            model,
            memory_ports,
            counts_memory: backend.model_counts_memory,
            load_latency: processor.memory.data.latency as u16,
            complex_lea,
            kinds,
            named,
        })
    }

    /// What an instruction takes; without the µops that only load or store.
    ///
    /// # Errors
    /// If there are too many sets of ports.
    pub fn of(&mut self, form: &Form, accesses: [usize; 2]) -> Result<Recipe, TableError> {
        let moves = form.class == Class::Move && form.memory;
        if form.class == Class::Nop || moves {
            return Ok(Recipe::default());
        }
        if let Some(recipe) = self.complex_lea.as_ref().filter(|_| form.is_lea && form.has_three_parts) {
            return Ok(recipe.clone());
        }
        let name = encoding_name(form.encoding).map_or_else(String::new, |name| general(&name.to_string()));
        let fits =
            |known: &str| known.strip_suffix('*').map_or(known == name, |start| name.starts_with(start));
        if let Some((_, recipe)) = self.named.iter().find(|(known, _)| fits(known)) {
            return Ok(recipe.clone());
        }
        if let Some(recipe) = self.kinds.get(&kind(form)) {
            return Ok(recipe.clone());
        }
        let own = self.modelled(&name, form.memory, accesses).map_err(TableError::Senseless)?;
        if let Some(recipe) = own {
            return Ok(recipe);
        }
        // The model does not know it: as something of its kind.
        let alike = self.modelled(alike(kind(form)), false, [0, 0]).map_err(TableError::Senseless)?;
        Ok(alike.or_else(|| self.kinds.get(&Kind::Integer).cloned()).unwrap_or_default())
    }

    /// By the model.
    fn modelled(&mut self, name: &str, memory: bool, accesses: [usize; 2]) -> Result<Option<Recipe>, String> {
        let Some(model) = &self.model else { return Ok(None) };
        let plain = model.row(name, false);
        let Some(row) = model.row(name, memory).or(plain) else { return Ok(None) };
        let mut recipe = Recipe::default();
        // What accesses no memory computes on address ports.
        let is_left = |set: u32| set & self.memory_ports == 0 || memory && accesses == [0, 0];
        for &(set, cycles) in row.uses.iter().filter(|(set, _)| is_left(*set)) {
            // Either several µops or one that keeps the port busy.
            let count = if cycles <= row.uops { cycles } else { 1 };
            for _ in 0..count.min((MOST_UOPS - recipe.uops.len()) as u16) {
                recipe.uops.push(self.ports.uop(set, cycles / count)?);
            }
        }
        let [loads, stores] = accesses.map(|accesses| accesses as u16);
        let counted = match self.counts_memory {
            true => row.uops.saturating_sub(loads + 2 * stores),
            false => row.uops,
        };
        recipe.entries = counted.max(u16::from(!recipe.uops.is_empty())).min(200) as u8;
        recipe.latency = match (memory, plain) {
            (true, Some(plain)) => plain.latency,
            (true, None) if loads > 0 => row.latency.saturating_sub(self.load_latency).max(1),
            _ => row.latency,
        };
        Ok(Some(recipe))
    }
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

fn recipe(ports: &mut Ports, timing: &Timing) -> Result<Recipe, TableError> {
    let mut uops: Vec<Uop> =
        timing.ports.iter().map(|names| ports.named(names)).collect::<Result<_, TableError>>()?;
    if let Some(first) = uops.first_mut() {
        first.busy = timing.busy.max(1);
    }
    let entries = timing.entries.unwrap_or(uops.len() as u8);
    Ok(Recipe { latency: timing.latency, uops, entries })
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
        Class::Nop | Class::Move | Class::Integer => Kind::Integer,
        Class::Multiply => Kind::Multiply,
        Class::Divide => Kind::Divide,
        Class::Vector => Kind::Vector,
        Class::Float => Kind::Float,
        Class::FloatDivide => Kind::FloatDivide,
        Class::SquareRoot => Kind::SquareRoot,
        Class::Branch => Kind::Branch,
        Class::Repeated | Class::System => Kind::System,
    }
}
