//! Flags of the commands that tell of the machine and of the program itself.

use clap::Args;
use clap_complete::Shell;

#[derive(Args)]
#[command(after_help = "Example:\n  minfer cpu --json")]
pub struct CpuArgs {
    /// Print one JSON value and nothing else
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    minfer completions bash > ~/.local/share/bash-completion/completions/minfer\n  \
    minfer completions zsh > ~/.zfunc/_minfer\n  \
    minfer completions fish > ~/.config/fish/completions/minfer.fish")]
pub struct CompletionsArgs {
    /// For which shell
    pub shell: Shell,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  minfer man > minfer.1\n  minfer man run | man -l -")]
pub struct ManArgs {
    /// The page of this command; without it, that of the program
    pub command: Option<String>,
}
