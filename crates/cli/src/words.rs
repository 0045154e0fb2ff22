//! llama.cpp's single-dash words, turned into long options before clap sees them.

use std::ffi::OsString;
use std::mem;

const WORDS: [(&str, &str); 5] = [
    ("-ub", "--ubatch-size"),
    ("-ctk", "--cache-type-k"),
    ("-ctv", "--cache-type-v"),
    ("-no-cnv", "--no-chat"),
    ("-sys", "--system-prompt"),
];

/// What comes after one of these is text, whatever it looks like.
const TEXT_FOLLOWS: [&str; 8] = [
    "-p",
    "--prompt",
    "-sys",
    "--system-prompt",
    "-r",
    "--stop",
    "--reverse-prompt",
    "--dry-sequence-breaker",
];

/// The same arguments with long options; texts and what comes after `--` stay as they are.
pub fn to_long_options(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let (mut plain, mut text_follows) = (false, false);
    arguments
        .map(|argument| {
            let is_text = mem::replace(&mut text_follows, false);
            if plain || is_text {
                return argument;
            }
            plain = argument == "--";
            text_follows = TEXT_FOLLOWS.iter().any(|option| argument == *option);
            let long = WORDS.iter().find(|(word, _)| argument == *word);
            long.map_or(argument, |(_, long)| OsString::from(long))
        })
        .collect()
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
}
