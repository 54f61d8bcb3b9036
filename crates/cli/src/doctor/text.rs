//! The diagnosis as text: one line an ability, and below a 'no' what to do about it.

use super::{Ability, Diagnosis, Host};
use std::fmt::Write;
use timewise_report::number::quantity;

const NAME_WIDTH: usize = 24;
const ANSWER_WIDTH: usize = 6;

/// Longer lines are hard to read.
const LONGEST_LINE: usize = 110;

/// Shorter ones hold no remark.
const SHORTEST_LINE: usize = 60;

/// The whole text, in lines of up to `width`.
pub fn render(diagnosis: &Diagnosis, width: usize) -> String {
    let room = width.clamp(SHORTEST_LINE, LONGEST_LINE) - NAME_WIDTH - ANSWER_WIDTH;
    let mut text = format!("timewise {} on {}\n", diagnosis.version, host(&diagnosis.host));
    for ability in &diagnosis.abilities {
        let name = format!("{}{}", if ability.detail { "    " } else { "  " }, ability.name);
        let answer = if ability.available { "yes" } else { "no" };
        let mut lines = remarks(ability).into_iter().flat_map(|remark| wrap(&remark, room));
        let first = lines.next().unwrap_or_default();
        let _infallible = writeln!(text, "{name:NAME_WIDTH$}{answer:ANSWER_WIDTH$}{first}");
        for line in lines {
            let _infallible = writeln!(text, "{:indent$}{line}", "", indent = NAME_WIDTH + ANSWER_WIDTH);
        }
    }
    text
}

fn host(host: &Host) -> String {
    let processor = match host.design {
        Some(design) => format!("{} ({design})", host.processor),
        None => host.processor.clone(),
    };
    let guest = host.hypervisor.as_ref().map_or(String::new(), |name| format!(", {name} guest"));
    format!("{processor}, {}, Linux {}{guest}", quantity(host.processors as u64, "processor"), host.kernel)
}

fn remarks(ability: &Ability) -> Vec<String> {
    let mut remarks = Vec::new();
    if !ability.cause.is_empty() {
        remarks.push(ability.cause.clone());
    }
    if let Some(command) = &ability.enable {
        remarks.push(format!("enable: {command}"));
    }
    if !ability.note.is_empty() {
        remarks.push(ability.note.clone());
    }
    remarks
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines
            .last_mut()
            .filter(|l| l.is_empty() || l.chars().count() + 1 + word.chars().count() <= width);
        match line {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.into()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_no_says_why_and_what_to_do() {
        let ability = Ability {
            name: "sampling",
            detail: false,
            available: false,
            note: String::new(),
            cause: "perf_event_paranoid is 3".into(),
            enable: Some("sudo sysctl kernel.perf_event_paranoid=2".into()),
        };
        assert_eq!(
            remarks(&ability),
            ["perf_event_paranoid is 3", "enable: sudo sysctl kernel.perf_event_paranoid=2"]
        );
    }

    #[test]
    fn long_remarks_are_broken_between_words() {
        let text = vec!["word"; 60].join(" ");
        let lines = wrap(&text, 50);
        assert!(lines.len() > 1 && lines.iter().all(|line| line.len() <= 50));
        assert_eq!(lines.join(" "), text);
    }
}
