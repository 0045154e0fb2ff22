//! How the text between special tokens becomes ids: what the algorithms have in common.

use std::ops::Range;

use crate::bpe::{Bpe, WordTable};
use crate::merge::Word;
use crate::spm::{self, Spm};
use crate::token_table::{Spelling, TokenTable};
use crate::word_cache::WordCache;
use crate::word_piece::{self, WordPiece};
use crate::{Error, PreTokenizer, VocabularyData};

/// An algorithm with what it made of a vocabulary.
pub(crate) enum Algorithm {
    /// `gpt2`
    ByteLevelBpe {
        pre: PreTokenizer,
        bpe: Box<Bpe>,
        // Only where the pre-tokenizer takes whole words.
        words: Option<WordTable>,
    },
    /// `llama`
    SentencePiece(Box<Spm>),
    /// `bert`
    WordPiece(WordPiece),
}

/// The names of the algorithms in files.
pub(crate) const MODELS: &[&str] = &["gpt2", "llama", "bert"];

impl Algorithm {
    /// Checks a vocabulary; its tokens and its algorithm.
    pub(crate) fn new(data: &VocabularyData) -> Result<(TokenTable, Algorithm), Error> {
        let checked_tokens = |spelling| {
            let tokens = TokenTable::new(data, spelling)?;
            data.check(tokens.len())?;
            Ok(tokens)
        };
        match data.model {
            "gpt2" => {
                let pre = PreTokenizer::from_name(data.pre)?;
                let tokens = checked_tokens(Spelling::ByteAlphabet)?;
                let bpe = Box::new(Bpe::new(&tokens, data.merges)?);
                let words = pre.takes_whole_words().then(|| WordTable::new(&tokens));
                Ok((tokens, Algorithm::ByteLevelBpe { pre, bpe, words }))
            }
            "llama" => {
                let tokens = checked_tokens(Spelling::SentencePiece)?;
                let spm = Spm::new(&tokens, data)?;
                Ok((tokens, Algorithm::SentencePiece(Box::new(spm))))
            }
            "bert" => {
                let tokens = checked_tokens(Spelling::SentencePiece)?;
                let word_piece = WordPiece::new(&tokens, data)?;
                Ok((tokens, Algorithm::WordPiece(word_piece)))
            }
            _ => Err(Error::UnsupportedModel { found: data.model.to_owned(), supported: MODELS.join(", ") }),
        }
    }

    /// Bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Algorithm::ByteLevelBpe { bpe, words, .. } => {
                bpe.heap_bytes() + words.as_ref().map_or(0, WordTable::heap_bytes)
            }
            Algorithm::SentencePiece(spm) => spm.heap_bytes(),
            Algorithm::WordPiece(_) => 0,
        }
    }

    /// Whether BOS is added where the file does not say.
    pub(crate) fn adds_bos(&self) -> bool {
        match self {
            Algorithm::ByteLevelBpe { pre, .. } => pre.adds_bos(),
            Algorithm::SentencePiece(_) | Algorithm::WordPiece(_) => true,
        }
    }

    /// Whether EOS is added where the file does not say.
    pub(crate) fn adds_eos(&self) -> bool {
        matches!(self, Algorithm::WordPiece(_))
    }

    /// The tokens that a text begins and ends with.
    pub(crate) fn ends(&self, tokens: &TokenTable, data: &VocabularyData) -> (Option<u32>, Option<u32>) {
        match self {
            Algorithm::ByteLevelBpe { .. } | Algorithm::SentencePiece(_) => (data.bos, data.eos),
            Algorithm::WordPiece(_) => word_piece::ends(tokens, data),
        }
    }

    /// The token for unknown text, where the algorithm has one whatever the file says.
    pub(crate) fn unknown(&self) -> Option<u32> {
        match self {
            Algorithm::ByteLevelBpe { .. } | Algorithm::SentencePiece(_) => None,
            Algorithm::WordPiece(word_piece) => Some(word_piece.unknown()),
        }
    }

    /// Whether text begins with a space that was not written.
    pub(crate) fn adds_space_prefix(&self) -> bool {
        match self {
            Algorithm::ByteLevelBpe { .. } => false,
            Algorithm::SentencePiece(spm) => spm.add_space_prefix,
            Algorithm::WordPiece(_) => true,
        }
    }
}

/// One text being encoded.
pub(crate) struct Encoder<'a> {
    algorithm: &'a Algorithm,
    tokens: &'a TokenTable,
    text: &'a str,
    word: Word<u32>,
    spm: spm::Scratch,
    word_piece: word_piece::Scratch,
    cache: WordCache,
}

impl<'a> Encoder<'a> {
    pub(crate) fn new(algorithm: &'a Algorithm, tokens: &'a TokenTable, text: &'a str) -> Encoder<'a> {
        Encoder {
            algorithm,
            tokens,
            text,
            word: Word::new(),
            spm: spm::Scratch::default(),
            word_piece: word_piece::Scratch::default(),
            cache: WordCache::new(text.len()),
        }
    }

    /// Appends the ids of a range that holds no special token and has one, or nothing, before it.
    pub(crate) fn plain(&mut self, range: Range<usize>, ids: &mut Vec<u32>) -> Result<(), Error> {
        let tokens = self.tokens;
        match self.algorithm {
            Algorithm::ByteLevelBpe { pre, bpe, words } => {
                let word = &mut self.word;
                let mut at = range.start;
                for piece in pre.split(&self.text[range]) {
                    let window = at..at + piece.len();
                    let encode = |text: &str, ids: &mut Vec<u32>| {
                        let bytes = text.as_bytes();
                        if let Some(id) = words.as_ref().and_then(|words| words.get(tokens, bytes)) {
                            ids.push(id);
                            return Ok(());
                        }
                        bpe.encode(bytes, word, ids)
                    };
                    let result = self.cache.encode(self.text, window, ids, encode);
                    result.map_err(|missing| missing.in_text(at))?;
                    at += piece.len();
                }
                Ok(())
            }
            Algorithm::SentencePiece(spm) => {
                let scratch = &mut self.spm;
                let start = range.start;
                let mut prefix = spm.add_space_prefix;
                for word in spm.words(&self.text[range], prefix) {
                    let window = start + word.start..start + word.end;
                    let at = window.start;
                    // A word that begins with a space that is not there is no window of the text.
                    let result = match std::mem::take(&mut prefix) {
                        true => spm.encode(tokens, &self.text[window], true, scratch, ids),
                        false => self.cache.encode(self.text, window, ids, |text, ids| {
                            spm.encode(tokens, text, false, scratch, ids)
                        }),
                    };
                    result.map_err(|missing| missing.in_text(at))?;
                }
                Ok(())
            }
            Algorithm::WordPiece(word_piece) => {
                let scratch = &mut self.word_piece;
                let mut at = range.start;
                for part in self.text[range].split(word_piece::is_space) {
                    let window = at..at + part.len();
                    self.cache.encode(self.text, window.clone(), ids, |text, ids| {
                        word_piece.encode(tokens, text, scratch, ids);
                        Ok::<(), Error>(())
                    })?;
                    // The space that ended it.
                    at = window.end + self.text[window.end..].chars().next().map_or(0, char::len_utf8);
                }
                Ok(())
            }
        }
    }
}
