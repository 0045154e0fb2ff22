//! Texts that break sequences, as tokens.

use crate::{Error, Model};

impl Model {
    /// What [`crate::Sampling::dry_sequence_breakers`] wants, for texts: every way in which a text can be written in
    /// tokens counts, not only the usual one. A token that holds all of a text is a breaker, and so is one that ends
    /// with its beginning when the tokens of the rest follow. Empty texts break nothing.
    pub fn sequence_breakers<S: AsRef<str>>(&self, texts: &[S]) -> Result<Vec<Vec<u32>>, Error> {
        let mut breakers = Vec::new();
        for text in texts.iter().map(AsRef::as_ref).filter(|text| !text.is_empty()) {
            self.add_breakers(text, &mut breakers)?;
        }
        breakers.sort_unstable();
        breakers.dedup();
        Ok(breakers)
    }

    fn add_breakers(&self, text: &str, breakers: &mut Vec<Vec<u32>>) -> Result<(), Error> {
        let tokenizer = self.tokenizer();
        breakers.push(self.tokenize(text, false)?);
        // Places where a character ends, with the tokens of what comes after.
        let mut cuts = Vec::new();
        for (at, _) in text.char_indices().skip(1) {
            cuts.push((&text.as_bytes()[..at], self.tokenize(&text[at..], false)?));
        }
        for id in 0..tokenizer.n_vocab() as u32 {
            let piece = tokenizer.piece(id);
            if piece.windows(text.len()).any(|part| part == text.as_bytes()) {
                breakers.push(vec![id]);
            }
            let ends = cuts.iter().filter(|(beginning, _)| piece.ends_with(beginning));
            breakers.extend(ends.map(|(_, rest)| [&[id], &rest[..]].concat()));
        }
        Ok(())
    }
}
