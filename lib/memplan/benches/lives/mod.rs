//! Reads tables of lives.

use memplan::Life;

const HEADER: &str = "id,lower,upper,size";

/// The lives of a table: the header `id,lower,upper,size`, then a row for each, where `upper` is the first step at which
/// the life is over.
///
/// # Errors
/// What is wrong, with the number of the line.
pub fn parse(text: &str) -> Result<Vec<Life>, String> {
    let mut lines = text.lines().enumerate();
    match lines.next() {
        Some((_, line)) if line.trim() == HEADER => {}
        line => {
            return Err(format!("line 1: expected `{HEADER}`, found `{}`", line.map_or("", |line| line.1)));
        }
    }
    lines.map(|(l, line)| row(line).map_err(|error| format!("line {}: {error}", l + 1))).collect()
}

fn row(line: &str) -> Result<Life, String> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let [_, lower, upper, size] = fields[..] else {
        return Err(format!("expected 4 fields, found {}", fields.len()));
    };
    let number = |name: &str, text: &str, most: u64| {
        let number = text.parse::<u64>().ok().filter(|&number| number <= most);
        number.ok_or_else(|| format!("{name}: expected a number up to {most}, found `{text}`"))
    };
    let lower = number("lower", lower, u32::MAX.into())?;
    let upper = number("upper", upper, u32::MAX.into())?;
    if upper <= lower {
        return Err(format!("upper: expected more than lower, which is {lower}, found {upper}"));
    }
    let bytes = number("size", size, u64::MAX)?;
    Ok(Life { bytes, first: lower as u32, last: upper as u32 - 1 })
}

/// How many times the bound a size is.
pub fn ratio(bytes: u64, bound: u64) -> f64 {
    if bytes == bound { 1.0 } else { bytes as f64 / bound as f64 }
}
