//! `minfer completions` and `minfer man`: made of the flags themselves.

use anyhow::{Context, Result, bail};
use clap::{Command, CommandFactory};

use super::print_bytes;
use crate::args::{Cli, CompletionsArgs, ManArgs};

pub fn completions(args: CompletionsArgs) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "minfer", &mut script);
    print_bytes(&script)
}

pub fn man(args: ManArgs) -> Result<()> {
    // Pages are for all machines: no kernels in the version.
    let mut program = Cli::command().version(env!("CARGO_PKG_VERSION"));
    program.build();
    let command = match &args.command {
        None => program,
        Some(name) => match program.find_subcommand(name) {
            // The page is called as the words are typed, with a dash between them.
            Some(command) => command.clone().name(format!("minfer-{name}")),
            None => bail!("{name:?} is no command; there are {}", names(&program)),
        },
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page).context("cannot write the page")?;
    print_bytes(&page)
}

fn names(program: &Command) -> String {
    program.get_subcommands().map(Command::get_name).collect::<Vec<_>>().join(", ")
}
