//! What profilers make of tables of cycles, drawn as text.

use std::collections::BTreeMap;

use timewise_attribution::technique::Blame;
use timewise_attribution::{Parts, Schedule, Stacks, Technique, Units};
use timewise_trace::Psv;
use timewise_trace::sketch::{Sketch, sketch};

/// Checks where each profiler of paper A sees time go when the cycles up to `last` are sampled. Blanks
/// between the columns of the expected table do not count, nor instructions that nobody blames.
pub fn where_time_goes(table: &str, last: u64, expected: &str) {
    let sketch = sketch(table);
    let mut rows: Vec<(&str, Stacks)> = vec![("Oracle", found(&sketch, Blame::TimeProportional, last))];
    rows.extend(Technique::WHERE.map(|technique| (technique.name, found(&sketch, technique.blame, last))));
    let sampled = Parts::cycles(last + 1 - sketch.records[0].cycle);
    let blamed: Vec<u32> = (0..sketch.names.len() as u32)
        .filter(|&instruction| rows.iter().any(|(_, stacks)| stacks.height(instruction) != Parts::ZERO))
        .collect();
    let mut text: Vec<Vec<String>> = Vec::new();
    let names = blamed.iter().map(|&instruction| sketch.names[instruction as usize].clone());
    text.push(names.chain(["lost".to_owned()]).collect());
    for (name, stacks) in &rows {
        let lost = sampled.saturating_sub(stacks.total());
        let heights = blamed.iter().map(|&instruction| stacks.height(instruction)).chain([lost]);
        let cells =
            heights.map(|parts| if parts == Parts::ZERO { "-".to_owned() } else { parts.to_string() });
        text.push([(*name).to_owned()].into_iter().chain(cells).collect());
    }
    compare(text, expected);
}

/// Checks the cycle stacks of each technique of paper B when the cycles up to `last` are sampled: a line an
/// instruction, with the largest component first.
pub fn why_time_passes(table: &str, last: u64, expected: &str) {
    let sketch = sketch(table);
    let reference = Technique { name: "reference", ..Technique::WHY[0] };
    let mut text = Vec::new();
    for technique in [reference].into_iter().chain(Technique::WHY) {
        let stacks = found(&sketch, technique.blame, last);
        for line in lines(&sketch, &stacks, technique.events, 1) {
            text.push([vec![technique.name.to_owned()], line].concat());
        }
    }
    compare(text, expected);
}

/// Checks the cycle stacks of one technique when cycles are sampled by a schedule.
pub fn sampled(table: &str, mut schedule: Schedule, name: &str, expected: &str) {
    let sketch = sketch(table);
    let technique =
        Technique::all().find(|technique| technique.name == name).expect("a technique of the papers");
    let mut policy = technique.blame.policy();
    let mut stacks = Stacks::default();
    for record in &sketch.records {
        policy.step(record, schedule.samples(record), &mut stacks);
    }
    compare(lines(&sketch, &stacks, technique.events, schedule.period()), expected);
}

/// What a policy finds when the cycles up to `last` are sampled.
fn found(sketch: &Sketch, blame: Blame, last: u64) -> Stacks {
    let mut policy = blame.policy();
    let mut stacks = Stacks::default();
    for record in &sketch.records {
        let samples = if record.cycle <= last { u64::from(record.repeat) } else { 0 };
        policy.step(record, samples, &mut stacks);
    }
    stacks
}

fn lines(sketch: &Sketch, stacks: &Stacks, events: Psv, cycles_each: u64) -> Vec<Vec<String>> {
    let mut of: BTreeMap<u32, Vec<(Parts, Psv)>> = BTreeMap::new();
    for ((instruction, events), parts) in
        stacks.by(&Units::Instructions, |component| component.events() & events)
    {
        of.entry(instruction).or_default().push((parts * cycles_each, events));
    }
    of.into_iter()
        .map(|(instruction, mut stack)| {
            stack.sort_by_key(|&(parts, events)| (std::cmp::Reverse(parts), events));
            let components: Vec<String> =
                stack.iter().map(|(parts, events)| format!("{events} {parts}")).collect();
            let mut words = vec![sketch.names[instruction as usize].clone()];
            words.extend(components.join(", ").split(' ').map(str::to_owned));
            words
        })
        .collect()
}

/// Compares tables word by word, and shows them line by line.
fn compare(actual: Vec<Vec<String>>, expected: &str) {
    let expected: Vec<Vec<String>> = expected
        .lines()
        .map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .filter(|line| !line.is_empty())
        .collect();
    let show = |table: &[Vec<String>]| table.iter().map(|line| line.join("  ") + "\n").collect::<String>();
    assert!(actual == expected, "found:\n{}\nexpected:\n{}", show(&actual), show(&expected));
}
