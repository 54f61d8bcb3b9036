//! What strace tells of a program.

use super::{Story, silently};
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// The threads of a program, in the order of their numbers.
///
/// # Errors
/// If strace is missing, or a line of it is not understood.
pub fn told(folder: &Path, command: &str) -> Result<Vec<Story>> {
    let of_threads = folder.join("strace");
    let _ = fs::remove_dir_all(&of_threads);
    fs::create_dir(&of_threads)?;
    // Addresses are fixed for strace as well, which changes nothing of what it tells.
    let script = format!("exec setarch -R strace -ff -s 0 -o '{}/of' {command}", of_threads.display());
    silently(folder, &script)?;
    let mut files = Vec::new();
    for entry in fs::read_dir(&of_threads)? {
        let path = entry?.path();
        let number =
            path.extension().and_then(|number| number.to_str()).and_then(|number| number.parse::<u32>().ok());
        files.push((number.context("a file of no thread")?, path));
    }
    files.sort();
    files.iter().map(|(_, path)| Ok(story(&String::from_utf8_lossy(&fs::read(path)?)))).collect()
}

fn story(text: &str) -> Story {
    let mut story = Story::default();
    for line in text.lines() {
        if let Some(signal) = line.strip_prefix("--- ") {
            story.others.push(signal.split(' ').next().unwrap_or_default().to_string());
        } else if let Some(status) = line.strip_prefix("+++ exited with ") {
            story.others.push(format!("ended {}", status.trim_end_matches(" +++")));
        } else if let Some((name, _)) = line.split_once('(')
            && let Some((_, result)) = line.rsplit_once(" = ")
        {
            story.called(name, &result_of(result));
        }
    }
    story.others.sort();
    story
}

/// Of `3`, `0x7f1200`, `-1 ENOENT (No such file or directory)`, `?`, `? ERESTARTSYS (To be restarted if …)`, and numbers with
/// what they mean behind them.
fn result_of(text: &str) -> String {
    if text.starts_with("? ERESTART") {
        return "failed: interrupted".into();
    }
    let first = text.split(' ').next().unwrap_or_default();
    if first == "-1" {
        let why = text.split_once('(').map_or("", |(_, why)| why.trim_end_matches(')'));
        return format!("failed: {why}");
    }
    let address = first.strip_prefix("0x").and_then(|digits| i64::from_str_radix(digits, 16).ok());
    address.map_or_else(|| first.to_string(), |address| address.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_understood() {
        let text = "openat(AT_FDCWD, \"\"..., O_RDONLY) = 3\n\
                    mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 3, 0) = 0x10\n\
                    access(\"\"..., R_OK)          = -1 ENOENT (No such file or directory)\n\
                    fcntl(1, F_GETFL)           = 0x8001 (flags O_WRONLY|O_LARGEFILE)\n\
                    pause()     = ? ERESTARTNOHAND (To be restarted if no handler)\n\
                    --- SIGCHLD {si_signo=SIGCHLD} ---\n\
                    wait4(-1, [{WIFEXITED(s) && WEXITSTATUS(s) == 7}], 0, NULL) = 12\n\
                    exit_group(3)  = ?\n\
                    +++ exited with 3 +++\n";
        let told = story(text);
        assert_eq!(
            told.calls,
            [
                "openat 3",
                "mmap 16",
                "access failed: No such file or directory",
                "fcntl 32769",
                "pause failed: interrupted",
                "wait4 …",
                "exit_group ?"
            ]
        );
        assert_eq!(told.others, ["SIGCHLD", "ended 3"]);
    }
}
