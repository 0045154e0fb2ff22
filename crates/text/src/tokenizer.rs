//! The tokenizer: text to ids and back, whatever the algorithm.

use std::ops::Range;

use crate::algorithm::{Algorithm, Encoder, MODELS};
use crate::special::{END_TEXTS, SpecialTokens};
use crate::token_table::TokenTable;
use crate::{Error, TokenKind, VocabularyData};

/// Text to token ids and back.
pub struct Tokenizer {
    tokens: TokenTable,
    special: SpecialTokens,
    algorithm: Algorithm,
    bos: Option<u32>,
    eos: Option<u32>,
    unk: Option<u32>,
    pad: Option<u32>,
    // Sorted.
    eog: Vec<u32>,
    add_bos: bool,
    add_eos: bool,
}

/// How a text is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EncodeOptions {
    /// Add BOS and EOS as the vocabulary asks.
    pub add_special: bool,
    /// Match control tokens in the text. User-defined tokens are matched in any case.
    pub parse_special: bool,
}

/// A stretch of a rendered prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The text.
    pub text: String,
    /// Whether it came with a message; control tokens are not matched in it.
    pub from_user: bool,
}

impl Tokenizer {
    /// The algorithms, as `tokenizer.ggml.model` names them.
    pub fn models() -> &'static [&'static str] {
        MODELS
    }

    /// Checks the vocabulary and prepares it for encoding.
    pub fn new(data: VocabularyData) -> Result<Tokenizer, Error> {
        let (tokens, algorithm) = Algorithm::new(&data)?;
        let (bos, eos) = algorithm.ends(&tokens, &data);
        let add_bos = data.add_bos.unwrap_or(algorithm.adds_bos() && bos.is_some());
        let add_eos = data.add_eos.unwrap_or(algorithm.adds_eos() && eos.is_some());
        if add_bos && bos.is_none() {
            return Err(Error::SpecialMissing {
                flag: "tokenizer.ggml.add_bos_token",
                id: "tokenizer.ggml.bos_token_id",
            });
        }
        if add_eos && eos.is_none() {
            return Err(Error::SpecialMissing {
                flag: "tokenizer.ggml.add_eos_token",
                id: "tokenizer.ggml.eos_token_id",
            });
        }
        let mut eog: Vec<u32> = data.eog.iter().copied().chain(data.eos).chain(data.eot).collect();
        let ends = END_TEXTS.iter().filter_map(|text| tokens.id_of_text(text));
        eog.extend(ends.filter(|&id| tokens.kind(id) == TokenKind::Control));
        eog.sort_unstable();
        eog.dedup();
        Ok(Tokenizer {
            special: SpecialTokens::new(&tokens),
            tokens,
            bos,
            eos,
            unk: algorithm.unknown().or(data.unk),
            algorithm,
            pad: data.pad,
            eog,
            add_bos,
            add_eos,
        })
    }

    /// Bytes of memory that it holds, up to the allocator's rounding.
    pub fn heap_bytes(&self) -> usize {
        self.tokens.heap_bytes() + self.special.heap_bytes() + self.algorithm.heap_bytes()
    }

    /// The ids of a text.
    ///
    /// With `add_special`, BOS and EOS are added as the vocabulary asks, whatever the text is.
    pub fn encode(&self, text: &str, options: EncodeOptions) -> Result<Vec<u32>, Error> {
        let whole = 0..text.len();
        let protected = if options.parse_special { &[] } else { std::slice::from_ref(&whole) };
        let mut ids = Vec::with_capacity(text.len() / 4 + 2);
        if options.add_special && self.add_bos {
            ids.extend(self.bos);
        }
        self.encode_into(text, protected, &mut ids)?;
        if options.add_special && self.add_eos {
            ids.extend(self.eos);
        }
        Ok(ids)
    }

    /// The ids of a text with control tokens matched, except where they touch a `protected` range.
    ///
    /// No special token is added. The ranges are byte offsets in order and do not overlap; without
    /// a control token in them the ids are those of the text without ranges, since a range does not
    /// cut the text.
    pub fn encode_with_protected(&self, text: &str, protected: &[Range<usize>]) -> Result<Vec<u32>, Error> {
        let mut ids = Vec::with_capacity(text.len() / 4 + 1);
        self.encode_into(text, protected, &mut ids)?;
        Ok(ids)
    }

    /// The ids of a rendered chat: control tokens only where the template wrote them, and exactly
    /// one BOS at the start if the vocabulary asks for one or the template writes it.
    pub fn encode_segments(&self, segments: &[Segment]) -> Result<Vec<u32>, Error> {
        let mut text = String::with_capacity(segments.iter().map(|s| s.text.len()).sum());
        let mut protected = Vec::new();
        for segment in segments {
            let start = text.len();
            text.push_str(&segment.text);
            if segment.from_user {
                protected.push(start..text.len());
            }
        }
        let mut ids = self.encode_with_protected(&text, &protected)?;
        if self.add_bos && ids.first().copied() != self.bos {
            ids.splice(0..0, self.bos);
        }
        Ok(ids)
    }

    fn encode_into(
        &self,
        text: &str,
        mut protected: &[Range<usize>],
        ids: &mut Vec<u32>,
    ) -> Result<(), Error> {
        // Positions inside a text are 32 bits wide.
        let limit = i32::MAX as usize;
        if text.len() > limit {
            return Err(Error::TooLarge { what: "the text", found: text.len(), limit });
        }
        let mut encoder = Encoder::new(&self.algorithm, &self.tokens, text);
        let mut at = 0;
        while let Some((range, id)) = self.special.find(text.as_bytes(), at, &mut protected) {
            encoder.plain(at..range.start, ids)?;
            ids.push(id);
            at = range.end;
        }
        encoder.plain(at..text.len(), ids)
    }

    /// Every range of a text that could be taken for markup: see [`SpecialTokens::markup_in`].
    pub(crate) fn markup_in(&self, text: &str) -> Vec<Range<usize>> {
        self.special.markup_in(text)
    }

    /// The bytes of a token, with the space that it begins with; a place in the table without a
    /// meaning has none.
    ///
    /// # Panics
    /// If `id` is not less than [`Tokenizer::n_vocab`].
    pub fn piece(&self, id: u32) -> &[u8] {
        self.tokens.piece(id)
    }

    /// A token as the file spells it: a space is `Ġ` in byte-level vocabularies and `▁` in those of
    /// SentencePiece.
    ///
    /// # Panics
    /// If `id` is not less than [`Tokenizer::n_vocab`].
    pub fn token_text(&self, id: u32) -> &str {
        self.tokens.text(id)
    }

    /// The token that the file spells so.
    pub fn id_of_text(&self, text: &str) -> Option<u32> {
        self.tokens.id_of_text(text)
    }

    /// What a token is for.
    ///
    /// # Panics
    /// If `id` is not less than [`Tokenizer::n_vocab`].
    pub fn kind(&self, id: u32) -> TokenKind {
        self.tokens.kind(id)
    }

    /// Whether a token is markup and not text.
    ///
    /// # Panics
    /// If `id` is not less than [`Tokenizer::n_vocab`].
    pub fn is_control(&self, id: u32) -> bool {
        matches!(self.tokens.kind(id), TokenKind::Control | TokenKind::Unknown)
    }

    /// Whether a token ends a generation: EOS, end of turn, the further ones that were named, and
    /// control tokens that are spelled as the usual ends (`<|im_end|>`, `<|endoftext|>`, ...).
    pub fn is_eog(&self, id: u32) -> bool {
        self.eog.binary_search(&id).is_ok()
    }

    /// The tokens that end a generation, in order.
    pub fn eog(&self) -> &[u32] {
        &self.eog
    }

    /// The bytes of tokens one after the other; control tokens only with `special`.
    ///
    /// Where encoding begins a text with a space that was not written, the space that the first token
    /// of text begins with is left out.
    ///
    /// # Panics
    /// If an id is not less than [`Tokenizer::n_vocab`].
    pub fn decode_bytes(&self, ids: &[u32], special: bool) -> Vec<u8> {
        let mut at_start = self.adds_space_prefix();
        let mut bytes = Vec::new();
        for &id in ids {
            let mut piece = self.piece(id);
            if self.is_control(id) {
                if !special {
                    continue;
                }
            } else if std::mem::take(&mut at_start) && self.kind(id) == TokenKind::Normal {
                piece = piece.strip_prefix(b" ").unwrap_or(piece);
            }
            bytes.extend_from_slice(piece);
        }
        bytes
    }

    /// As [`Tokenizer::decode_bytes`], as text: what is no UTF-8 becomes U+FFFD.
    ///
    /// # Panics
    /// If an id is not less than [`Tokenizer::n_vocab`].
    pub fn decode(&self, ids: &[u32], special: bool) -> String {
        String::from_utf8_lossy(&self.decode_bytes(ids, special)).into_owned()
    }

    /// Number of tokens.
    pub fn n_vocab(&self) -> usize {
        self.tokens.len()
    }

    /// Begin of sequence; of WordPiece vocabularies CLS.
    pub fn bos(&self) -> Option<u32> {
        self.bos
    }

    /// End of sequence; of WordPiece vocabularies SEP.
    pub fn eos(&self) -> Option<u32> {
        self.eos
    }

    /// What stands for unknown text.
    pub fn unk(&self) -> Option<u32> {
        self.unk
    }

    /// Padding.
    pub fn pad(&self) -> Option<u32> {
        self.pad
    }

    /// Whether encoding begins text with a space that was not written, as SentencePiece and WordPiece do.
    pub fn adds_space_prefix(&self) -> bool {
        self.algorithm.adds_space_prefix()
    }

    /// Whether encoding with `add_special` begins with BOS.
    pub fn add_bos(&self) -> bool {
        self.add_bos
    }

    /// Whether encoding with `add_special` ends with EOS.
    pub fn add_eos(&self) -> bool {
        self.add_eos
    }
}
