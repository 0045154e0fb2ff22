//! A small vocabulary, outputs at random, and an independent word on whether they obey.

use std::sync::{Arc, OnceLock};

use constrain::{ConstrainError, Constraint, Matcher, Vocabulary};
use serde_json::Value as Json;

/// The token that ends an output.
pub const END: u32 = 256;

/// A control token.
pub const CONTROL: u32 = 257;

/// All bytes, an end, a control token, and some longer tokens that reach over the borders of JSON.
pub fn vocabulary() -> Arc<Vocabulary> {
    static VOCABULARY: OnceLock<Arc<Vocabulary>> = OnceLock::new();
    VOCABULARY
        .get_or_init(|| Arc::new(Vocabulary::new(pieces().iter().map(|p| p.as_deref()), &[END]).unwrap()))
        .clone()
}

pub fn pieces() -> Vec<Option<Vec<u8>>> {
    let longer = [
        "{\"", "\":", "\": ", "\",", "\", \"", "}}", "\"}", "[]", "{}", "[{\"", "},", "],", "true", "false",
        "null", "é", "\\u00e9", "\\\"", "the", "name", " a", "10", "20", "-1", "0.5", "e+", "日", "😀",
        "\n  ", "a\"b",
    ];
    let mut pieces: Vec<_> = (0..=255u8).map(|byte| Some(vec![byte])).collect();
    pieces.extend([None, None]);
    pieces.extend(longer.iter().map(|text| Some(text.as_bytes().to_vec())));
    pieces
}

/// A small generator of random numbers.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

/// Chooses allowed tokens at random until the output ends; none if it is longer than `most` tokens. Texts come to an end
/// soon: of quotes, brackets and an end each is taken half of the times that it is allowed.
pub fn output(
    matcher: &mut Matcher,
    random: &mut Random,
    most: usize,
) -> Result<Option<Vec<u8>>, ConstrainError> {
    let pieces = pieces();
    let mut out = Vec::new();
    for _ in 0..most {
        if matcher.is_finished() {
            return Ok(Some(out));
        }
        let mask = matcher.mask()?;
        let closing = [END, u32::from(b'"'), u32::from(b'}'), u32::from(b']')];
        let soon = closing.into_iter().filter(|token| mask.allows(*token)).find(|_| random.below(2) == 0);
        let token = soon.unwrap_or_else(|| {
            let allowed: Vec<u32> = mask.iter().collect();
            // Bytes beyond ASCII are most of what is allowed in a text, and most of them lead nowhere near.
            let plain: Vec<u32> = allowed.iter().copied().filter(|t| !(128..256).contains(t)).collect();
            let from = if plain.is_empty() || random.below(8) == 0 { &allowed } else { &plain };
            from[random.below(from.len())]
        });
        matcher.advance(token)?;
        if token != END {
            out.extend(pieces[token as usize].as_deref().expect("no control token"));
        }
    }
    Ok(matcher.is_finished().then_some(out))
}

/// Says whether a value obeys a schema, formats included.
pub fn validator(schema: &Json) -> jsonschema::Validator {
    jsonschema::options()
        .should_validate_formats(true)
        .build(schema)
        .expect("a schema that the validator knows")
}

/// Whether a text, as a whole, is in the language of a constraint.
pub fn accepts(constraint: &Constraint, text: &str) -> bool {
    let mut matcher = constraint.matcher();
    let went = text.bytes().try_for_each(|byte| matcher.advance(u32::from(byte)));
    went.is_ok() && matcher.may_end().unwrap()
}
