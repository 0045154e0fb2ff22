//! Names that others chose, before they become paths.

use std::path::PathBuf;

use crate::Error;

const SEGMENT_BYTES_MAX: usize = 200;
const DEPTH_MAX: usize = 8;

/// A name with slashes as a relative path that stays below the folder it is joined to, on every system.
///
/// Refused are absolute names, `..`, names that begin with a dot, backslashes, drive letters, control characters, the
/// names of devices, and what is too long or too deep.
pub fn safe_path(name: &str) -> Result<PathBuf, Error> {
    let refuse = |why| Err(Error::Name { name: name.chars().take(SEGMENT_BYTES_MAX).collect(), why });
    let mut path = PathBuf::new();
    for (depth, segment) in name.split('/').enumerate() {
        if depth >= DEPTH_MAX {
            return refuse("too many folders");
        }
        if let Some(why) = objection(segment) {
            return refuse(why);
        }
        path.push(segment);
    }
    Ok(path)
}

fn objection(segment: &str) -> Option<&'static str> {
    const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
    let stem = segment.split('.').next().unwrap_or_default().to_lowercase();
    let numbered = |kind| stem.strip_prefix(kind).is_some_and(|n| n.len() == 1);
    if segment.is_empty() {
        Some("empty, absolute or with an empty folder name")
    } else if segment.starts_with('.') {
        Some("begins with a dot, or leads out of its folder")
    } else if segment.ends_with(['.', ' ']) || segment.starts_with(' ') {
        Some("begins or ends with a space, or ends with a dot")
    } else if segment.len() > SEGMENT_BYTES_MAX {
        Some("too long")
    } else if segment.chars().any(|c| c.is_control() || "\\:*?\"<>|".contains(c)) {
        Some("has a character that means something else in paths")
    } else if DEVICES.contains(&stem.as_str()) || numbered("com") || numbered("lpt") {
        Some("the name of a device")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_and_folders_are_taken_as_they_are() {
        for name in ["a.gguf", "BF16/model-00001-of-00002.gguf", "com/console.gguf", "a b.gguf", "ü.gguf"] {
            assert_eq!(safe_path(name).unwrap(), PathBuf::from(name));
        }
    }

    #[test]
    fn names_that_could_leave_the_folder_are_refused() {
        let long = "x".repeat(SEGMENT_BYTES_MAX + 1);
        let deep = "a/".repeat(DEPTH_MAX) + "b";
        let hostile = [
            "",
            "/etc/passwd",
            "..",
            "../x",
            "a/../b",
            "a//b",
            "a/",
            "./a",
            ".hidden",
            "a\\b",
            "..\\x",
            "C:x",
            "a\0b",
            "a\nb",
            "nul.gguf",
            "COM1",
            "x.",
            "x ",
            &long,
            &deep,
        ];
        for name in hostile {
            assert!(matches!(safe_path(name), Err(Error::Name { .. })), "{name:?}");
        }
    }
}
