//! What checks read of a run that was counted.

use std::ffi::OsString;
use std::io::Write;
use timewise_engine::Counted;
use timewise_profile::Profile;

/// Writes executions of every instruction to a file, and the profile to another, whose name has `.tw` in addition.
///
/// # Errors
/// If they cannot be written, or counts are incomplete.
pub fn save(counted: &Counted, file: &OsString) -> Result<(), Box<dyn std::error::Error>> {
    let mut saved = file.clone();
    saved.push(".tw");
    counted.profile.save(saved.as_ref())?;
    let mut out = std::io::BufWriter::new(std::fs::File::create(file)?);
    writeln!(out, "imbalance {}", counted.imbalance)?;
    for warning in counted.profile.runs.iter().flat_map(|run| &run.warnings) {
        writeln!(out, "warning: {warning}")?;
    }
    write(&counted.profile, &mut out)?;
    out.flush()?;
    if let Some(failure) = counted.failure {
        return Err(format!("counts are incomplete: {failure:?}").into());
    }
    Ok(())
}

fn write(profile: &Profile, out: &mut impl Write) -> std::io::Result<()> {
    for count in &profile.block_counts {
        let block = &profile.blocks[count.block.index()];
        let pid = profile.processes[count.process.index()].pid;
        let path = String::from_utf8_lossy(&profile.modules[block.place.module.index()].path);
        let version = match block.place.version.0 {
            0 => String::new(),
            version => format!(" {version}"),
        };
        for step in timewise_isa::walk(&block.code, block.place.offset.0) {
            let start = (step.offset - block.place.offset.0) as usize;
            let code = &block.code[start..start + usize::from(step.length)];
            let code: String = code.iter().map(|byte| format!("{byte:02x}")).collect();
            let (offset, executions) = (step.offset, count.executions);
            writeln!(out, "{pid}\t{offset:x}\t{code}\t{executions}\t{path}{version}")?;
        }
    }
    Ok(())
}
