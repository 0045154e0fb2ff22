//! Formats as patterns: what every validator takes for that format, not all that some do.

/// An hour, a minute, a second; no leap seconds, which some refuse.
const TIME: &str =
    r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])";

/// The years 1000 to 9999, with the 29th of February in leap years only.
const DATE: &str = concat!(
    r"(?:[1-9][0-9]{3}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])",
    r"|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))",
    r"|(?:[1-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[2468][048]|[13579][26])00)-02-29)"
);

/// At most four labels of 61 characters at most.
const HOST: &str = r"[A-Za-z](?:-?[A-Za-z0-9]){0,30}(?:\.[A-Za-z](?:-?[A-Za-z0-9]){0,30}){0,3}";

const IPV4: &str =
    r"(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";

const MAILBOX: &str = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,30}(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]{1,30})?";

const UUID: &str = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}";

const DURATION: &str =
    r"P(?:[0-9]+W|(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)(?:TIME)?|TIME)";

const DURATION_TIME: &str = r"T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)";

/// A character of an address's path.
const SEGMENT: &str = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-F]{2})";

/// The formats that [`pattern`] knows.
pub(super) const NAMES: [&str; 10] =
    ["date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uri", "uuid"];

/// A pattern that a whole text of a format matches, if the format is known.
pub(super) fn pattern(name: &str) -> Option<String> {
    Some(match name {
        "date" => DATE.to_owned(),
        "time" => TIME.to_owned(),
        "date-time" => format!("(?:{DATE})T(?:{TIME})"),
        "duration" => DURATION.replace("TIME", DURATION_TIME),
        "email" => format!("{MAILBOX}@{HOST}"),
        "hostname" => HOST.to_owned(),
        "ipv4" => IPV4.to_owned(),
        "ipv6" => ipv6(),
        "uri" => format!(
            "[A-Za-z][A-Za-z0-9+.-]*:(?://{HOST}(?::[0-9]{{1,4}})?(?:/{SEGMENT}*)*|/?{SEGMENT}+(?:/{SEGMENT}*)*)\
             (?:\\?(?:{SEGMENT}|[/?])*)?(?:#(?:{SEGMENT}|[/?])*)?"
        ),
        "uuid" => UUID.to_owned(),
        _ => return None,
    })
}

/// Eight groups, or fewer around a double colon that stands for two at least.
fn ipv6() -> String {
    let group = "[0-9a-fA-F]{1,4}";
    let mut forms = vec![format!("(?:{group}:){{7}}{group}")];
    for before in 0..=6 {
        let left = if before == 0 { String::new() } else { format!("{group}(?::{group}){{{}}}", before - 1) };
        let right =
            if before == 6 { String::new() } else { format!("(?:{group}(?::{group}){{0,{}}})?", 5 - before) };
        forms.push(format!("{left}::{right}"));
    }
    forms.join("|")
}
