//! Texts to embeddings: a vector for each text, near to those of texts that mean the same.

mod pool;

use std::sync::Arc;

use cpu::ThreadPool;
use models::{Output, Pooling};
use runtime::{Item, Rows};
use text::EncodeOptions;

pub use pool::Normalize;
use pool::Pool;

use crate::{Error, Model, Session, SessionOptions};

/// What an embedding is made of.
#[derive(Clone, Copy, Debug)]
pub struct EmbedOptions {
    /// How a text's rows become one; without it as the file says, else the mean of an encoder's rows and the last of a
    /// decoder's.
    pub pooling: Option<Pooling>,
    /// What embeddings are divided by.
    pub normalize: Normalize,
    /// Only so many of the first numbers, before they are normalized: models that were trained for it say more with less.
    pub dimensions: Option<usize>,
    /// How it is computed. `n_seq` is how many texts a batch may hold; what of the rest depends on the kind of model
    /// ([`EmbedOptions::session_options`]) is set.
    pub session: SessionOptions,
}

impl Default for EmbedOptions {
    fn default() -> EmbedOptions {
        let session = SessionOptions { n_seq: 8, ..SessionOptions::default() };
        EmbedOptions { pooling: None, normalize: Normalize::Euclidean, dimensions: None, session }
    }
}

impl EmbedOptions {
    /// How a session runs that makes such embeddings: what [`Model::plan`] takes to say how much memory it needs.
    ///
    /// # Errors
    /// A file that gives scores of relevance instead of embeddings.
    pub fn session_options(&self, model: &Model) -> Result<SessionOptions, Error> {
        let config = model.config();
        let mut options = SessionOptions { output: Output::Hidden, ..self.session };
        if config.arch.encoder {
            // There are no more positions, and a text is one batch.
            options.n_ctx = options.n_ctx.min(config.n_ctx_train);
            options.n_ubatch = options.n_ubatch.max(options.n_ctx);
        }
        options.n_outputs = match self.rows(model)? {
            Rows::All => options.n_ubatch,
            Rows::First | Rows::Last | Rows::None => options.n_seq,
        };
        options.head_rows = options.n_outputs;
        Ok(options)
    }

    /// How a model's rows become one.
    pub fn pooling(&self, model: &Model) -> Pooling {
        let config = model.config();
        let usual = if config.arch.encoder { Pooling::Mean } else { Pooling::Last };
        self.pooling.or(config.pooling).unwrap_or(usual)
    }

    fn rows(&self, model: &Model) -> Result<Rows, Error> {
        match self.pooling(model) {
            Pooling::Mean => Ok(Rows::All),
            Pooling::Cls => Ok(Rows::First),
            Pooling::Last => Ok(Rows::Last),
            Pooling::Rank => Err(Error::Rank),
        }
    }
}

/// The embedding of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding {
    /// Its numbers.
    pub values: Vec<f32>,
    /// Tokens of the text, special ones too.
    pub tokens: usize,
}

/// Makes embeddings with one model.
///
/// The embedding of a text depends on the text, the weights, the KV type and what is asked for, and on nothing else: not on
/// the texts beside it, the size of batches or the number of threads. Bit for bit.
pub struct Embedder {
    session: Session,
    options: EmbedOptions,
    rows: Rows,
    dimensions: usize,
}

impl Embedder {
    /// Plans and reserves; no weight is read before the first text.
    ///
    /// # Errors
    /// What [`Session::new`] refuses; more dimensions than the model has, or none; a file that gives scores of relevance.
    pub fn new(model: Arc<Model>, pool: Arc<ThreadPool>, options: &EmbedOptions) -> Result<Embedder, Error> {
        let dimensions = dimensions(&model, options.dimensions)?;
        let rows = options.rows(&model)?;
        let session = Session::new(model.clone(), pool, &options.session_options(&model)?)?;
        Ok(Embedder { session, options: *options, rows, dimensions })
    }

    /// The session that computes.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// How rows become one.
    pub fn pooling(&self) -> Pooling {
        self.options.pooling(self.session.model())
    }

    /// Numbers of an embedding.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// From now on only so many of the first numbers, before they are normalized; without a number all.
    ///
    /// # Errors
    /// More than the model has, or none.
    pub fn set_dimensions(&mut self, asked: Option<usize>) -> Result<(), Error> {
        self.dimensions = dimensions(self.session.model(), asked)?;
        Ok(())
    }

    /// The embedding of each text, in order. What a text says is text: no control token is read in it.
    ///
    /// # Errors
    /// A text without tokens or of more than the context; nothing is computed then.
    pub fn embed(&mut self, texts: &[impl AsRef<str>]) -> Result<Vec<Embedding>, Error> {
        let texts: Result<Vec<Vec<u32>>, Error> =
            texts.iter().map(|text| self.session.model().tokenize_text(text.as_ref())).collect();
        self.embed_tokens(&texts?)
    }

    /// The same for texts that are tokens already, special ones where they belong.
    pub fn embed_tokens(&mut self, texts: &[impl AsRef<[u32]>]) -> Result<Vec<Embedding>, Error> {
        let n_ctx = self.session.n_ctx();
        for (index, text) in texts.iter().enumerate() {
            let tokens = text.as_ref().len();
            if tokens == 0 {
                return Err(Error::EmptyText { index });
            }
            if tokens > n_ctx {
                return Err(Error::TextTooLong { index, tokens, n_ctx });
            }
        }
        let mut embeddings = Vec::with_capacity(texts.len());
        for group in texts.chunks(self.session.engine.params().n_seq) {
            let mut pools: Vec<Pool> = group.iter().map(|_| Pool::new(self.dimensions)).collect();
            let engine = &mut self.session.engine;
            let seqs: Vec<_> = group.iter().map(|_| engine.create()).collect();
            let rows = self.rows;
            let items: Vec<Item> = seqs
                .iter()
                .zip(group)
                .map(|(seq, text)| Item { seq: *seq, tokens: text.as_ref(), rows })
                .collect();
            let done = engine.process(&items, &mut |text, _, row| pools[text].add(row));
            for seq in seqs {
                engine.remove(seq)?;
            }
            done?;
            embeddings.extend(pools.into_iter().zip(group).map(|(pool, text)| Embedding {
                values: pool.finish(self.options.normalize),
                tokens: text.as_ref().len(),
            }));
        }
        Ok(embeddings)
    }
}

fn dimensions(model: &Model, asked: Option<usize>) -> Result<usize, Error> {
    let n_embd = model.config().n_embd;
    match asked.unwrap_or(n_embd) {
        asked if (1..=n_embd).contains(&asked) => Ok(asked),
        asked => Err(Error::Dimensions { asked, n_embd }),
    }
}

impl Model {
    /// Tokens of a text to embed: with the tokens around it that the file asks for, and none read in it.
    pub fn tokenize_text(&self, text: &str) -> Result<Vec<u32>, Error> {
        Ok(self.tokenizer().encode(text, EncodeOptions { add_special: true, parse_special: false })?)
    }
}
