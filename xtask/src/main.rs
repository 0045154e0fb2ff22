//! `cargo xtask check`: one command that runs all checks, cheapest first. CI runs the same.

mod check;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask check [--full]\n\
    \n  check         formatting, house rules, lints, documentation, all tests, aarch64 under qemu, a real model\
    \n  check --full  also AddressSanitizer, fuzzing, all models, perplexities\n";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments[..] {
        ["check"] => check::run(false),
        ["check", "--full"] => check::run(true),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
