//! The tokenizer: text to ids and back, whatever the algorithm.

use std::ops::Range;

use crate::bpe::{Bpe, Scratch, WordTable};
use crate::special::{END_TEXTS, SpecialTokens};
use crate::vocabulary::{TokenKind, TokenTable, VocabularyData};
use crate::word_cache::WordCache;
use crate::{Error, PreTokenizer};

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

/// How the text between special tokens becomes ids.
enum Algorithm {
    ByteLevelBpe {
        pre: PreTokenizer,
        bpe: Bpe,
        // Only where the pre-tokenizer takes whole words.
        words: Option<WordTable>,
    },
}

/// The names of [`Algorithm`] in files.
const MODELS: &[&str] = &["gpt2"];

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
    /// Checks the vocabulary and prepares it for encoding.
    pub fn new(data: VocabularyData) -> Result<Tokenizer, Error> {
        if !MODELS.contains(&data.model) {
            return Err(Error::UnsupportedModel {
                found: data.model.to_owned(),
                supported: MODELS.join(", "),
            });
        }
        let pre = PreTokenizer::from_name(data.pre)?;
        let tokens = TokenTable::new(&data)?;
        check_ids(&data, tokens.len())?;
        let bpe = Bpe::new(&tokens, data.merges)?;
        let words = pre.takes_whole_words().then(|| WordTable::new(&tokens));

        let add_bos = data.add_bos.unwrap_or(pre.adds_bos() && data.bos.is_some());
        let add_eos = data.add_eos.unwrap_or(false);
        if add_bos && data.bos.is_none() {
            return Err(Error::SpecialMissing {
                flag: "tokenizer.ggml.add_bos_token",
                id: "tokenizer.ggml.bos_token_id",
            });
        }
        if add_eos && data.eos.is_none() {
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
            algorithm: Algorithm::ByteLevelBpe { pre, bpe, words },
            bos: data.bos,
            eos: data.eos,
            unk: data.unk,
            pad: data.pad,
            eog,
            add_bos,
            add_eos,
        })
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
        let mut encoder =
            Encoder { tokenizer: self, text, scratch: Scratch::default(), cache: WordCache::new(text.len()) };
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

    /// The bytes of a token; a place in the table without a meaning has none.
    ///
    /// # Panics
    /// If `id` is not less than [`Tokenizer::n_vocab`].
    pub fn piece(&self, id: u32) -> &[u8] {
        self.tokens.piece(id)
    }

    /// A token as the file spells it: in byte-level vocabularies a space is `Ġ`.
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
    /// # Panics
    /// If an id is not less than [`Tokenizer::n_vocab`].
    pub fn decode_bytes(&self, ids: &[u32], special: bool) -> Vec<u8> {
        let shown = ids.iter().filter(|&&id| special || !self.is_control(id));
        shown.flat_map(|&id| self.piece(id)).copied().collect()
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

    /// Begin of sequence.
    pub fn bos(&self) -> Option<u32> {
        self.bos
    }

    /// End of sequence.
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

    /// Whether encoding with `add_special` begins with BOS.
    pub fn add_bos(&self) -> bool {
        self.add_bos
    }

    /// Whether encoding with `add_special` ends with EOS.
    pub fn add_eos(&self) -> bool {
        self.add_eos
    }
}

/// One text being encoded.
struct Encoder<'a> {
    tokenizer: &'a Tokenizer,
    text: &'a str,
    scratch: Scratch,
    cache: WordCache,
}

impl Encoder<'_> {
    /// Appends the ids of a range that holds no special token.
    fn plain(&mut self, range: Range<usize>, ids: &mut Vec<u32>) -> Result<(), Error> {
        let Algorithm::ByteLevelBpe { pre, bpe, words } = &self.tokenizer.algorithm;
        let tokens = &self.tokenizer.tokens;
        let scratch = &mut self.scratch;
        let mut at = range.start;
        for piece in pre.split(&self.text[range]) {
            let window = at..at + piece.len();
            let encode = |bytes: &[u8], ids: &mut Vec<u32>| {
                if let Some(id) = words.as_ref().and_then(|words| words.get(tokens, bytes)) {
                    ids.push(id);
                    return Ok(());
                }
                bpe.encode(bytes, scratch, ids)
            };
            self.cache.encode(self.text, window, ids, encode).map_err(|missing| Error::NoTokenForByte {
                byte: missing.byte,
                offset: at + missing.offset,
            })?;
            at += piece.len();
        }
        Ok(())
    }
}

fn check_ids(data: &VocabularyData, count: usize) -> Result<(), Error> {
    let named = [
        ("tokenizer.ggml.bos_token_id", data.bos),
        ("tokenizer.ggml.eos_token_id", data.eos),
        ("tokenizer.ggml.eot_token_id", data.eot),
        ("tokenizer.ggml.unknown_token_id", data.unk),
        ("tokenizer.ggml.padding_token_id", data.pad),
    ];
    let further = data.eog.iter().map(|&id| ("a token that ends generation", Some(id)));
    for (what, id) in named.into_iter().chain(further) {
        if let Some(found) = id
            && found as usize >= count
        {
            return Err(Error::IdOutOfRange { what, found, count });
        }
    }
    Ok(())
}
