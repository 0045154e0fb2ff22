//! Text of others, made harmless.

use std::fmt::Write;

/// Names longer than this are cut: nobody reads more, and a file may have megabytes of them.
const CHARACTERS_MAX: usize = 160;

/// A name as it is shown: one line, not too long, with a mark in place of what is not to be seen or would turn the
/// direction of the text around it. XML has no way to write most of these characters at all.
pub(crate) fn shown(name: &str) -> String {
    let mut text: String = name.chars().take(CHARACTERS_MAX).map(visible).collect();
    if name.chars().nth(CHARACTERS_MAX).is_some() {
        text.push('…');
    }
    text
}

fn visible(c: char) -> char {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let breaks = matches!(c, '\u{2028}' | '\u{2029}');
    let none = matches!(c, '\u{fffe}' | '\u{ffff}');
    if c.is_control() || turns || breaks || none { '\u{fffd}' } else { c }
}

/// The name as text of an XML element or of a quoted attribute.
pub(crate) fn xml(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for c in shown(name).chars() {
        match c {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            '\'' => text.push_str("&#39;"),
            c => text.push(c),
        }
    }
    text
}

/// JSON as the content of a script element: the same JSON, without a character that markup gives a meaning.
pub(crate) fn json_in_markup(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            // All of these stand inside strings only.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                // Writing to a string cannot fail.
                let _ = write!(text, "\\u{:04x}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{json_in_markup, shown, xml};

    #[test]
    fn no_character_of_a_name_is_markup_or_unseen() {
        assert_eq!(xml("a</script>&\"'"), "a&lt;/script&gt;&amp;&quot;&#39;");
        assert_eq!(shown("a\0b\nc\u{202e}d\u{7f}\u{85}"), "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}\u{fffd}");
        assert_eq!(shown("größe 長さ"), "größe 長さ");
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(shown(&"é".repeat(1000)).chars().count(), 161);
        assert_eq!(shown(&"é".repeat(160)), "é".repeat(160));
    }

    #[test]
    fn json_in_markup_means_the_same() {
        let value = serde_json::json!(["</script><!--", "a & b", "\u{2028}", "\\u003c"]);
        let text = json_in_markup(&value.to_string());
        assert!(!text.contains(['<', '>', '&', '\u{2028}']));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
