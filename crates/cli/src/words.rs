//! llama.cpp's single-dash words, turned into long options before clap sees them.

use std::ffi::{OsStr, OsString};
use std::mem;

use clap::CommandFactory;

use crate::args::Cli;

/// The long form of `-hf`.
const REPOSITORY: &str = "--hf-repo";

/// How commands call the argument that is a model; `pull` and `rm` call it a name.
const MODELS: [&str; 2] = ["model", "name"];

const WORDS: [(&str, &str); 7] = [
    ("-ub", "--ubatch-size"),
    ("-ctk", "--cache-type-k"),
    ("-ctv", "--cache-type-v"),
    ("-np", "--parallel"),
    ("-no-cnv", "--no-chat"),
    ("-sys", "--system-prompt"),
    ("-jf", "--json-schema"),
];

/// What comes after one of these is text, whatever it looks like.
const TEXT_FOLLOWS: [&str; 10] = [
    "-p",
    "--prompt",
    "-sys",
    "--system-prompt",
    "--system",
    "-r",
    "--stop",
    "--reverse-prompt",
    "--dry-sequence-breaker",
    "--regex",
];

/// The same arguments with long options; texts and what comes after `--` stay as they are. A repository that is given
/// with `-hf` becomes the MODEL of the command.
pub fn to_long_options(mut arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let (mut plain, mut text_follows, mut repository) = (false, false, None);
    let mut out = Vec::new();
    while let Some(argument) = arguments.next() {
        let is_text = mem::replace(&mut text_follows, false);
        if plain || is_text {
            out.push(argument);
            continue;
        }
        if argument == "-hf" || argument == REPOSITORY {
            repository = arguments.next();
        } else if let Some(value) =
            argument.to_str().and_then(|text| text.strip_prefix(REPOSITORY)?.strip_prefix('='))
        {
            repository = Some(value.into());
        } else {
            plain = argument == "--";
            text_follows = TEXT_FOLLOWS.iter().any(|option| argument == *option);
            let long = WORDS.iter().find(|(word, _)| argument == *word);
            out.push(long.map_or(argument, |(_, long)| OsString::from(long)));
        }
    }
    if let Some(repository) = repository {
        let command = Cli::command();
        let takes_model = |name: &OsString| {
            let command = name.to_str().and_then(|name| command.find_subcommand(name));
            command
                .and_then(|c| c.get_positionals().next())
                .is_some_and(|first| MODELS.contains(&first.get_id().as_str()))
        };
        match out.iter().skip(1).position(takes_model) {
            Some(at) => out.insert(at + 2, model_of(&repository)),
            // No such option there: the message says so.
            None => out.extend([REPOSITORY.into(), repository]),
        }
    }
    out
}

fn model_of(repository: &OsStr) -> OsString {
    let text = repository.to_string_lossy();
    format!("hf:{}", text.strip_prefix("hf:").unwrap_or(&text)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_dash_words_become_long_options_and_text_stays() {
        let turn = |words: &[&str]| -> Vec<String> {
            let turned = to_long_options(words.iter().map(OsString::from));
            turned.into_iter().map(|w| w.into_string().expect("ASCII")).collect()
        };
        assert_eq!(turn(&["minfer", "run", "-ub", "64"]), ["minfer", "run", "--ubatch-size", "64"]);
        assert_eq!(turn(&["-no-cnv", "--", "-ub"]), ["--no-chat", "--", "-ub"]);
        assert_eq!(turn(&["-c", "5", "-t", "-ctk"]), ["-c", "5", "-t", "--cache-type-k"]);
        assert_eq!(turn(&["-p", "-ub", "-ub"]), ["-p", "-ub", "--ubatch-size"]);
        assert_eq!(turn(&["-sys", "--", "-ctv"]), ["--system-prompt", "--", "--cache-type-v"]);
    }

    #[test]
    fn a_repository_becomes_the_model_of_its_command() {
        let turn = |words: &str| -> Vec<String> {
            let turned = to_long_options(words.split(' ').map(OsString::from));
            turned.into_iter().map(|w| w.into_string().expect("ASCII")).collect()
        };
        let expected = ["minfer", "-t", "2", "run", "hf:O/R:Q8_0", "hi", "-n", "1"];
        assert_eq!(turn("minfer -t 2 run -hf O/R:Q8_0 hi -n 1"), expected);
        assert_eq!(turn("minfer -t 2 run hi -n 1 --hf-repo=hf:O/R:Q8_0"), expected);
        assert_eq!(turn("minfer pull --hf-repo O/R"), ["minfer", "pull", "hf:O/R"]);
        assert_eq!(turn("minfer run m -p -hf"), ["minfer", "run", "m", "-p", "-hf"]);
        assert_eq!(turn("minfer list -hf O/R"), ["minfer", "list", "--hf-repo", "O/R"]);
    }
}
