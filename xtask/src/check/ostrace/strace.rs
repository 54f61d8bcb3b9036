//! What strace tells of a program.

use super::{Story, silently};
use anyhow::{Context, Result};
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use timewise_image::Headers;

/// The threads of a program, in the order of their numbers.
///
/// # Errors
/// If strace is missing, or a line of it is not understood.
pub fn told(folder: &Path, command: &str) -> Result<Vec<Story>> {
    let of_threads = folder.join("strace");
    let _ = fs::remove_dir_all(&of_threads);
    fs::create_dir(&of_threads)?;
    // Addresses are fixed for strace as well, which changes nothing of what it tells.
    let script = format!("exec setarch -R strace -ff -k -s 0 -o '{}/of' {command}", of_threads.display());
    silently(folder, &script)?;
    let mut files = Vec::new();
    for entry in fs::read_dir(&of_threads)? {
        let path = entry?.path();
        let number =
            path.extension().and_then(|number| number.to_str()).and_then(|number| number.parse::<u32>().ok());
        files.push((number.context("a file of no thread")?, path));
    }
    files.sort();
    let mut headers = HashMap::new();
    files
        .iter()
        .map(|(_, path)| Ok(story(&String::from_utf8_lossy(&fs::read(path)?), &mut headers)))
        .collect()
}

/// Headers of the files that stacks name.
type Files = HashMap<String, Option<Headers>>;

fn story(text: &str, files: &mut Files) -> Story {
    let mut story = Story::default();
    for line in text.lines() {
        if let Some(frame) = line.strip_prefix(" > ") {
            story.caller(frame_of(frame, files));
        } else if let Some(signal) = line.strip_prefix("--- ") {
            story.befell(signal.split(' ').next().unwrap_or_default().to_string());
        } else if let Some(status) = line.strip_prefix("+++ exited with ") {
            // Behind it stands the stack of the last call.
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

/// Of `/lib/libc.so.6(read+0xd) [0xf819d]`, of which the number is the place in the file; `None` where strace lost its way.
fn frame_of(text: &str, files: &mut Files) -> Option<String> {
    let (module, offset) = text.strip_suffix(']')?.rsplit_once(" [0x")?;
    let path = module.split('(').next().filter(|path| path.starts_with('/'))?;
    let at = u64::from_str_radix(offset, 16).ok()?;
    let headers = files.entry(path.to_string()).or_insert_with(|| Headers::of_file(Path::new(path)));
    Some(super::frame(path, headers.as_ref()?.virtual_address(at)))
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
                    mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 3, 0) = 0x10\n > /none [0x10]\n\
                    access(\"\"..., R_OK)          = -1 ENOENT (No such file or directory)\n\
                    fcntl(1, F_GETFL)           = 0x8001 (flags O_WRONLY|O_LARGEFILE)\n\
                    pause()     = ? ERESTARTNOHAND (To be restarted if no handler)\n\
                    --- SIGCHLD {si_signo=SIGCHLD} ---\n\
                    wait4(-1, [{WIFEXITED(s) && WEXITSTATUS(s) == 7}], 0, NULL) = 12\n\
                    exit_group(3)  = ?\n\
                    +++ exited with 3 +++\n";
        let told = story(text, &mut Files::new());
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
        assert_eq!(told.stacks[1], [None], "of a file that is not there");
        let program = std::env::current_exe().unwrap();
        let frame = frame_of(&format!("{}(main+0x1) [0x10]", program.display()), &mut Files::new());
        assert!(frame.unwrap().ends_with(" 0x10"), "its headers lie at the same place in memory");
    }
}
