//! Weights that are some rows of a tensor, by name.

use std::ops::Range;

/// Rows of a tensor: `blk.0.attn_qkv.weight[64..96]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice<'a> {
    /// The tensor.
    pub tensor: &'a str,
    /// Its rows; all of them if there is none.
    pub rows: Option<Range<usize>>,
}

/// What a weight's name says. A name without rows is a whole tensor.
pub fn slice(name: &str) -> Slice<'_> {
    let parse = || {
        let (tensor, rest) = name.strip_suffix(']')?.rsplit_once('[')?;
        let (start, end) = rest.split_once("..")?;
        Some(Slice { tensor, rows: Some(start.parse().ok()?..end.parse().ok()?) })
    };
    parse().unwrap_or(Slice { tensor: name, rows: None })
}

/// The name of some rows of a tensor.
pub(crate) fn name(tensor: &str, rows: &Range<usize>) -> String {
    format!("{tensor}[{}..{}]", rows.start, rows.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_rows_read_back_and_other_names_are_whole_tensors() {
        let rows = Slice { tensor: "a.weight", rows: Some(3..7) };
        assert_eq!(slice(&name("a.weight", &(3..7))), rows);
        for whole in ["a.weight", "a[b]", "a[1..x]", "a[1..2", ""] {
            assert_eq!(slice(whole), Slice { tensor: whole, rows: None });
        }
    }
}
