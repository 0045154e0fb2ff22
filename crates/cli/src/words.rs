//! llama.cpp's single-dash words, turned into long options before clap sees them.

use std::ffi::OsString;

const WORDS: [(&str, &str); 7] = [
    ("-ub", "--ubatch-size"),
    ("-ctk", "--cache-type-k"),
    ("-ctv", "--cache-type-v"),
    ("-no-cnv", "--no-chat"),
    ("-sys", "--system-prompt"),
    ("-ngl", "--n-gpu-layers"),
    ("-hf", "--hf-repo"),
];

/// The same arguments with long options; what comes after `--` stays as it is.
pub fn to_long_options(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut plain = false;
    arguments
        .map(|argument| {
            plain |= argument == "--";
            let long = WORDS.iter().find(|(word, _)| !plain && argument == *word);
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
    }
}
