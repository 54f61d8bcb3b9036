//! The generated table of µops, latencies and ports: `data/instructions.txt`, whose head says what its lines are.

use std::collections::HashMap;

/// The file.
pub const TEXT: &str = include_str!("../../data/instructions.txt");

/// What the table says of a form of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Cycles from operands to result.
    pub latency: u16,
    /// µops as the model counts them.
    pub uops: u16,
    /// Sets of ports with cycles.
    pub uses: Vec<(u32, u16)>,
}

/// The rows of one model.
#[derive(Debug)]
pub struct Model {
    /// Its ports.
    pub ports: Vec<String>,
    rows: Vec<Row>,
    /// For each encoding, the numbers of the rows of its forms without and with memory.
    encodings: HashMap<&'static str, [Option<u32>; 2]>,
}

impl Model {
    /// Reads a model.
    ///
    /// # Errors
    /// If the table has no such model.
    pub fn new(name: &str) -> Result<Model, String> {
        let known = || TEXT.lines().filter_map(|line| line.strip_prefix("model ")?.split(' ').next());
        let unknown = || format!("model is {name}: give one of {}", known().collect::<Vec<_>>().join(", "));
        Model::read(TEXT, name).ok_or_else(unknown)
    }

    fn read(text: &'static str, name: &str) -> Option<Model> {
        let lines = || text.lines().filter(|line| !line.starts_with('#'));
        let heads = lines().filter_map(|line| line.strip_prefix("model "));
        let (column, head) = heads.enumerate().find(|(_, head)| head.split(' ').next() == Some(name))?;
        let ports = head.split(' ').skip(1).map(str::to_string).collect();
        let rows = lines().filter_map(|line| row(line.strip_prefix("row ")?)).collect();
        let mut encodings = HashMap::new();
        for line in lines().filter(|line| !line.starts_with("row ") && !line.starts_with("model ")) {
            let mut words = line.split(' ');
            let Some(encoding) = words.next() else { continue };
            let mut cells = words.skip(2 * column).map(|word| word.parse().ok());
            encodings.insert(encoding, [cells.next().flatten(), cells.next().flatten()]);
        }
        Some(Model { ports, rows, encodings })
    }

    /// The sets of ports that its instructions use, some several times.
    pub fn sets(&self) -> impl Iterator<Item = u32> {
        let numbers = self.encodings.values().flatten().flatten();
        let rows = numbers.filter_map(|number| self.rows.get(*number as usize));
        rows.flat_map(|row| &row.uses).map(|(set, _)| *set)
    }

    /// The row of an encoding's form without (false) or with (true) a memory operand.
    pub fn row(&self, encoding: &str, memory: bool) -> Option<&Row> {
        let number = self.encodings.get(encoding)?[usize::from(memory)]?;
        self.rows.get(number as usize)
    }
}

/// `NUMBER LATENCY UOPS SET:CYCLES…`, numbers in order.
fn row(line: &str) -> Option<Row> {
    let mut words = line.split(' ').skip(1);
    let latency = words.next()?.parse().ok()?;
    let uops = words.next()?.parse().ok()?;
    let uses = words.filter_map(|word| {
        let (set, cycles) = word.split_once(':')?;
        Some((u32::from_str_radix(set, 16).ok()?, cycles.parse().ok()?))
    });
    Some(Row { latency, uops, uses: uses.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_known_instructions_are_there() {
        for name in ["sapphirerapids", "znver4"] {
            let model = Model::new(name).unwrap();
            let add = model.row("Add_r64_rm64", false).unwrap();
            assert_eq!((add.latency, add.uops, add.uses.len()), (1, 1, 1), "{name}");
            let multiply = model.row("Imul_r64_rm64", false).unwrap();
            assert_eq!((multiply.latency, multiply.uses[0].0.count_ones()), (3, 1), "{name}");
            assert!(model.row("Add_r64_rm64", true).unwrap().latency > 4, "{name}");
            let fused = model.row("VEX_Vfmadd231pd_ymm_ymm_ymmm256", false).unwrap();
            assert_eq!((fused.latency, fused.uses[0].0.count_ones()), (4, 2), "{name}");
        }
        let unknown = Model::new("pentium").unwrap_err();
        assert_eq!(unknown, "model is pentium: give one of sapphirerapids, znver4, znver1");
    }

    #[test]
    fn columns_belong_to_their_models() {
        let text = "# c\nmodel a P Q\nmodel b X\nrow 0 1 1 3:1\nrow 1 9 2 1:4\nAdd 0 1 1 -\n";
        let (a, b) = (Model::read(text, "a").unwrap(), Model::read(text, "b").unwrap());
        assert_eq!((a.ports.len(), b.ports.len()), (2, 1));
        assert_eq!(a.row("Add", true), Some(&Row { latency: 9, uops: 2, uses: vec![(1, 4)] }));
        assert_eq!((b.row("Add", false), b.row("Add", true)), (a.row("Add", true), None));
    }
}
