//! The `minfer` command: flags, progress, JSON. The one place that reads the environment and prints.

mod args;
mod cache;
mod commands;
mod container;
mod interrupt;
mod known;
mod models;
mod process;
mod progress;
mod remote;
mod values;
mod words;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;

fn main() -> ExitCode {
    // Time to the first token counts from here.
    let started = Instant::now();
    let cli = args::Cli::parse_from(words::to_long_options(std::env::args_os()));
    match commands::dispatch(cli, started) {
        Ok(code) => code,
        // Who reads standard output has seen enough: `minfer inspect FILE | head`.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// A line on standard error; it may be closed.
fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "minfer: {text}");
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
