//! Makes a model file: `make --arch llama --preset tiny --quant Q4_0 --out FILE`, or `make --list`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
struct Args {
    /// Architecture.
    #[arg(long, required_unless_present = "list")]
    arch: Option<String>,
    /// Sizes.
    #[arg(long, default_value = "tiny")]
    preset: String,
    /// Mix of element types.
    #[arg(long, default_value = "Q4_0")]
    quant: String,
    /// Another seed gives other weights.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Instead of the preset's.
    #[arg(long)]
    n_layers: Option<usize>,
    /// The file to write.
    #[arg(long, required_unless_present = "list")]
    out: Option<PathBuf>,
    /// List presets and mixes, and stop.
    #[arg(long)]
    list: bool,
}

fn main() -> ExitCode {
    let a = Args::parse();
    let (Some(arch), Some(out), false) = (&a.arch, &a.out, a.list) else {
        for p in synthetic::presets() {
            println!("{}/{}: {} layers of width {}", p.arch, p.name, p.layers, p.embd);
        }
        println!("{}", synthetic::quants().collect::<Vec<_>>().join(" "));
        return ExitCode::SUCCESS;
    };
    match synthetic::write(arch, &a.preset, &a.quant, a.seed, a.n_layers, out) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
