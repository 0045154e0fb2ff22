//! Packs lives from files, a line of figures for each: `cargo run -p memplan --release --example minimalloc -- FILE...`
//!
//! A file is a table of lives as in the benchmarks of MiniMalloc (Moffitt, 2023): the header `id,lower,upper,size`, then a
//! row for each, which is in use from step `lower` up to and without step `upper`. A number between the last two dots of
//! the file's name is the capacity into which it should fit.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use memplan::{Life, PackOptions, Packing, pack};

#[path = "../benches/lives/mod.rs"]
mod lives;

/// Enough for all the benchmarks that can be packed at the bound within seconds.
const NODES: u64 = 800_000;

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        eprintln!("usage: minimalloc FILE...");
        return ExitCode::FAILURE;
    }
    let width = files.iter().map(|file| name(file).len()).max().unwrap_or(0);
    println!(
        "{:width$} {:>6} {:>11} {:>11} {:>11} {:>7} {:>6} {:>9} {:>9}",
        "file", "values", "bound", "capacity", "peak", "ratio", "proven", "nodes", "ms"
    );
    for file in &files {
        if let Err(error) = report(file, width) {
            eprintln!("{file}: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn report(file: &str, width: usize) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let lives = lives::parse(&text)?;
    let begin = Instant::now();
    let packing = pack(&lives, 1, &PackOptions { nodes: NODES }).map_err(|error| error.to_string())?;
    let ms = begin.elapsed().as_secs_f64() * 1e3;
    assert!(is_packing(&lives, &packing), "lives overlap");
    let capacity = capacity(file).map_or("-".to_owned(), |capacity| capacity.to_string());
    let Packing { bytes, lower_bound, proven, nodes, .. } = packing;
    println!(
        "{:width$} {:>6} {lower_bound:>11} {capacity:>11} {bytes:>11} {:>7.4} {:>6} {nodes:>9} {ms:>9.3}",
        name(file),
        lives.len(),
        lives::ratio(bytes, lower_bound),
        if proven { "yes" } else { "no" },
    );
    Ok(())
}

fn name(file: &str) -> String {
    Path::new(file).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The number in `A.1048576.csv`.
fn capacity(file: &str) -> Option<u64> {
    Path::new(Path::new(file).file_stem()?).extension()?.to_str()?.parse().ok()
}

/// Whether no two lives that meet have a byte in common, and all lie below the peak.
fn is_packing(lives: &[Life], packing: &Packing) -> bool {
    let end = |i: usize| packing.offsets[i] + lives[i].bytes;
    (0..lives.len()).all(|i| {
        let apart = |j: usize| {
            let meet = lives[i].first <= lives[j].last && lives[j].first <= lives[i].last;
            !meet || end(i) <= packing.offsets[j] || end(j) <= packing.offsets[i]
        };
        end(i) <= packing.bytes && (0..i).all(apart)
    })
}
