//! Finds functions, lines and inlined calls of many addresses of a program: `symbolise FILE ADDRESSES`. For
//! measuring (`cargo xtask bench symbolise`).

use std::path::Path;
use std::process::ExitCode;
use timewise_image::{Image, Symboliser, frames_of};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, file, addresses] = &arguments[..] else {
        eprintln!("usage: symbolise FILE ADDRESSES");
        return ExitCode::FAILURE;
    };
    let found = addresses.parse().map_err(|error| format!("{addresses}: {error}"));
    match found.and_then(|addresses| symbolise(Path::new(file), addresses)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn symbolise(file: &Path, addresses: u64) -> Result<(), String> {
    let symboliser = Symboliser::new(Image::open(file).map_err(|error| error.to_string())?);
    let functions = symboliser.functions().all();
    let bytes: u64 = functions.iter().map(|function| function.size).sum();
    // Evenly over all code, which is where samples may fall.
    let step = (bytes as f64 / addresses as f64).max(1.0);
    let mut offsets = Vec::new();
    let (mut before, mut next) = (0.0, 0.0);
    for function in functions {
        while next < before + function.size as f64 {
            offsets.push(function.offset + (next - before) as u64);
            next += step;
        }
        before += function.size as f64;
    }
    let named = offsets.iter().filter(|&&offset| symboliser.function(offset).is_some()).count();
    let frames = frames_of(&symboliser, &offsets);
    let with_lines = frames.iter().filter(|frames| !frames.is_empty()).count();
    let inlined = frames.iter().filter(|frames| frames.len() > 1).count();
    println!("{} addresses: {named} in functions, {with_lines} with lines, {inlined} inlined", offsets.len());
    Ok(())
}
