//! What a line asks for: a message, or a command.

use std::path::PathBuf;

/// What a line asks for.
#[derive(Debug, PartialEq)]
pub enum Asked {
    /// Nothing is in it.
    Nothing,
    /// Something to say to the model.
    Message(String),
    Help,
    /// Show the system message, or take this one; an empty one is none.
    System(Option<String>),
    Reset,
    Undo,
    Regen,
    Save(PathBuf),
    Load(PathBuf),
    /// Show all settings, or set one.
    Set(Option<(String, String)>),
    Stats,
    Exit,
}

/// Why a command was not understood. It does not go to the model.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum NotUnderstood {
    #[error("there is no command {0}: /help shows them all; a message that begins with / is written with //")]
    Unknown(String),
    #[error("{name} takes {expected}")]
    Arguments { name: &'static str, expected: &'static str },
}

/// What `/help` shows.
pub const HELP: &str = "\
/system TEXT      take this system message (\"\": none); without TEXT, show it
/reset            forget all that was said; the system message stays
/undo             take back the last message and its answer
/regen            answer the last message again
/save FILE        write the conversation and its settings to a file, and the cache to FILE.kv
/load FILE        go on with a saved conversation; without its FILE.kv it is computed again
/set NAME VALUE   temp, top-k, top-p, min-p, repeat-penalty, seed, n-predict; alone, show them
/stats            what the last answer and all of them took, and how full the context is
/exit             end (also Ctrl-D)
//TEXT            a message that begins with /
A line that ends with \\ goes on in the next one. Ctrl-C ends an answer.
";

/// Reads a line, or several that belong together.
pub fn read(text: &str) -> Result<Asked, NotUnderstood> {
    if text.trim().is_empty() {
        return Ok(Asked::Nothing);
    }
    let Some(command) = text.strip_prefix('/').filter(|rest| !rest.starts_with('/')) else {
        return Ok(Asked::Message(text.strip_prefix('/').unwrap_or(text).to_owned()));
    };
    let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let rest = rest.trim();
    let alone = |name: &'static str, asked: Asked| match rest {
        "" => Ok(asked),
        _ => Err(NotUnderstood::Arguments { name, expected: "nothing after it" }),
    };
    let file = |name: &'static str| match rest {
        "" => Err(NotUnderstood::Arguments { name, expected: "the name of a file" }),
        _ => Ok(PathBuf::from(rest)),
    };
    match name {
        "help" | "?" => alone("/help", Asked::Help),
        "system" => Ok(Asked::System((!rest.is_empty()).then(|| match rest {
            "\"\"" => String::new(),
            text => text.to_owned(),
        }))),
        "reset" => alone("/reset", Asked::Reset),
        "undo" => alone("/undo", Asked::Undo),
        "regen" => alone("/regen", Asked::Regen),
        "save" => file("/save").map(Asked::Save),
        "load" => file("/load").map(Asked::Load),
        "set" => match rest.split_whitespace().collect::<Vec<_>>()[..] {
            [] => Ok(Asked::Set(None)),
            [name, value] => Ok(Asked::Set(Some((name.to_owned(), value.to_owned())))),
            _ => Err(NotUnderstood::Arguments { name: "/set", expected: "a name and a value" }),
        },
        "stats" => alone("/stats", Asked::Stats),
        "exit" | "quit" => alone("/exit", Asked::Exit),
        _ => Err(NotUnderstood::Unknown(format!("/{name}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_with_one_slash_is_a_command_and_nothing_else_is() {
        let message = |text: &str| Ok(Asked::Message(text.to_owned()));
        assert_eq!(read("hi /exit"), message("hi /exit"));
        assert_eq!(read("//exit"), message("/exit"));
        assert_eq!(read(" /exit"), message(" /exit"));
        assert_eq!(read("  "), Ok(Asked::Nothing));
        assert_eq!(read("/exit "), Ok(Asked::Exit));
        assert_eq!(read("/dance now"), Err(NotUnderstood::Unknown("/dance".to_owned())));
        assert_eq!(read("/"), Err(NotUnderstood::Unknown("/".to_owned())));
    }

    #[test]
    fn arguments_are_read_and_missing_or_needless_ones_are_told() {
        assert_eq!(read("/system be\nkind"), Ok(Asked::System(Some("be\nkind".to_owned()))));
        assert_eq!(read("/system"), Ok(Asked::System(None)));
        assert_eq!(read("/system \"\""), Ok(Asked::System(Some(String::new()))));
        assert_eq!(read("/save a b.json"), Ok(Asked::Save("a b.json".into())));
        assert_eq!(read("/set temp 0.5"), Ok(Asked::Set(Some(("temp".to_owned(), "0.5".to_owned())))));
        for wrong in ["/save", "/load ", "/set temp", "/set temp 1 2", "/undo 3", "/exit now"] {
            let found = read(wrong).unwrap_err();
            assert!(found.to_string().starts_with(wrong.split(' ').next().unwrap()), "{found}");
        }
    }

    #[test]
    fn help_names_every_command_and_every_setting() {
        for name in ["system", "reset", "undo", "regen", "save", "load", "set", "stats", "exit"] {
            assert!(HELP.contains(&format!("/{name} ")), "{name}");
        }
        assert!(super::super::settings::NAMES.iter().all(|name| HELP.contains(name)));
    }
}
