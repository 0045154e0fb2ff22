//! The `minfer` command: flags, progress, JSON. The one place that reads the environment and prints.

mod args;
mod commands;
mod models;
mod progress;
mod words;

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;

fn main() -> ExitCode {
    // Time to the first token counts from here.
    let started = Instant::now();
    let cli = args::Cli::parse_from(words::to_long_options(std::env::args_os()));
    match commands::dispatch(cli, started) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("minfer: error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
