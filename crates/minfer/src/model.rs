//! A loaded model: the mapped file, its configuration, its tokenizer and its chat template.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use constrain::{ConstrainError, Vocabulary};
use gguf::{GgufFile, Metadata, Residence, StrArray};
use graph::DType;
use models::{ModelError, RopeOverrides, Tensors};
use serde_json::Value as Json;
use text::{
    ChatTemplate, EncodeOptions, RenderOptions, Strings, TemplateError, TokenKind, Tokenizer, VocabularyData,
};

use crate::Error;
use crate::saved::model_hash;

/// What weights may be of: every type that the engine computes with but those that exist only while it runs.
pub fn weight_types() -> impl Iterator<Item = DType> {
    DType::weights()
}

/// How a model is loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadOptions {
    /// Where the weights are: mapped in their file, or read into memory.
    pub residence: Residence,
    /// What is to differ from the rotation that the file states. It changes the answers.
    pub rope: RopeOverrides,
}

/// A model that can be run. Weights stay in the file, which is mapped and read when they are needed; share it
/// in an `Arc` between sessions.
pub struct Model {
    pub(crate) file: Arc<GgufFile>,
    pub(crate) model: models::Model,
    tokenizer: Tokenizer,
    template: Option<Result<ChatTemplate, TemplateError>>,
    /// What was asked for of rotations.
    pub(crate) rope: RopeOverrides,
    hash: OnceLock<[u8; 32]>,
    /// Made when the first constraint asks for it.
    vocabulary: OnceLock<Result<Arc<Vocabulary>, ConstrainError>>,
}

impl Model {
    /// Opens and checks a GGUF file, or a split model by any of its parts.
    pub fn load(path: impl AsRef<Path>) -> Result<Model, Error> {
        Model::load_with(path, &LoadOptions::default())
    }

    /// The same with options.
    pub fn load_with(path: impl AsRef<Path>, options: &LoadOptions) -> Result<Model, Error> {
        Model::new(GgufFile::open_in(path, options.residence)?, &options.rope)
    }

    /// The same for an open file.
    pub fn from_file(file: GgufFile) -> Result<Model, Error> {
        Model::new(file, &RopeOverrides::default())
    }

    fn new(mut file: GgufFile, rope: &RopeOverrides) -> Result<Model, Error> {
        let path = file.path().to_owned();
        let model = models::Model::with_rope(file.metadata(), Tensors::of(&file), rope)
            .map_err(|error| Error::Model { path: path.clone(), error })?;
        let tokenizer = tokenizer(file.metadata()).map_err(|error| in_file(&path, error))?;
        let source = file.metadata().get_str("tokenizer.chat_template")?;
        let template = source.map(|source| chat_template(source, &tokenizer));
        // The tokenizer has tables of its own by now.
        for list in ["tokens", "token_type", "scores", "merges"] {
            file.forget(&format!("tokenizer.ggml.{list}"));
        }
        Ok(Model {
            file: Arc::new(file),
            model,
            tokenizer,
            template,
            rope: *rope,
            hash: OnceLock::new(),
            vocabulary: OnceLock::new(),
        })
    }

    /// The same model with another chat template than the file's, or with one where the file has none. A template that
    /// does not parse is an error with its line and column.
    pub fn with_chat_template(self, source: &str) -> Result<Model, Error> {
        let template = chat_template(source, &self.tokenizer)?;
        Ok(Model { template: Some(Ok(template)), ..self })
    }

    /// Hyper-parameters.
    pub fn config(&self) -> &models::Config {
        &self.model.config
    }

    /// `general.name`, or the file's name where there is none.
    pub fn name(&self) -> String {
        let stated = self.file.metadata().get_str("general.name").ok().flatten();
        let file = || self.file.path().file_stem().map(|stem| stem.to_string_lossy().into_owned());
        stated.map(str::to_owned).or_else(file).unwrap_or_default()
    }

    /// Tells the file from others: by its header and samples of its weights, which are read at the first call.
    pub(crate) fn hash(&self) -> [u8; 32] {
        *self.hash.get_or_init(|| model_hash(&self.file))
    }

    /// Text to tokens and back.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// Tokens of a text. With `special`, BOS and EOS are added as the file asks, and control tokens in the
    /// text are taken for what they say.
    pub fn tokenize(&self, text: &str, special: bool) -> Result<Vec<u32>, Error> {
        Ok(self.tokenizer.encode(text, EncodeOptions { add_special: special, parse_special: special })?)
    }

    /// The tokens as constraints see them. The first call takes a while (half a second for 150,000 tokens) and memory that
    /// no plan counts (some 60 bytes a token); all others get the same.
    pub fn vocabulary(&self) -> Result<Arc<Vocabulary>, ConstrainError> {
        let made = self.vocabulary.get_or_init(|| {
            let tokenizer = &self.tokenizer;
            let is_text = |id: &u32| {
                !tokenizer.is_control(*id)
                    && tokenizer.kind(*id) != TokenKind::Unused
                    && !tokenizer.is_eog(*id)
            };
            let ids = 0..tokenizer.n_vocab() as u32;
            let pieces = ids.map(|id| Some(id).filter(is_text).map(|id| tokenizer.piece(id)));
            Vocabulary::new(pieces, tokenizer.eog()).map(Arc::new)
        });
        made.clone()
    }

    /// True if the file has a chat template, whether or not it can be used.
    pub fn has_template(&self) -> bool {
        self.template.is_some()
    }

    /// Length of the template's source, if it could be compiled.
    pub(crate) fn template_bytes(&self) -> Option<usize> {
        self.template.as_ref()?.as_ref().ok().map(ChatTemplate::source_bytes)
    }

    /// The tokens of a chat. `messages` is a list of objects with `role` and `content`; whatever else they hold (tool
    /// calls, thoughts) is passed to the template, as are the tools and variables of `options`. Text in a message never
    /// becomes a control token.
    pub fn tokenize_chat(&self, messages: &Json, options: &RenderOptions) -> Result<Vec<u32>, Error> {
        let template = match &self.template {
            Some(Ok(template)) => template,
            Some(Err(error)) => return Err(error.clone().into()),
            None => return Err(Error::NoTemplate),
        };
        let segments = template.render_segments(messages, options, &self.tokenizer)?;
        Ok(self.tokenizer.encode_segments(&segments)?)
    }

    /// Keeps the weights in memory from now on, so that no run waits for the disk. Fails where the system
    /// lets the process lock less; the model can be run all the same.
    pub fn lock_weights(&self) -> Result<(), Error> {
        Ok(self.file.lock()?)
    }

    /// Bytes of all tensors in the file.
    pub fn weights_bytes(&self) -> u64 {
        self.file.tensors().iter().map(|t| t.bytes).sum()
    }
}

fn in_file(path: &Path, error: Error) -> Error {
    match error {
        Error::Gguf(error) => Error::Model { path: path.to_owned(), error: ModelError::Metadata(error) },
        other => other,
    }
}

/// Strings of a file where they lie.
struct FileStrings<'a>(Option<&'a StrArray>);

impl Strings for FileStrings<'_> {
    fn len(&self) -> usize {
        self.0.map_or(0, StrArray::len)
    }

    fn get(&self, index: usize) -> &str {
        self.0.expect("an index below the length").get(index)
    }
}

fn tokenizer(metadata: &Metadata) -> Result<Tokenizer, Error> {
    let key = |name: &str| format!("tokenizer.ggml.{name}");
    let id = |name: &str| metadata.get_u32(&key(&format!("{name}_token_id")));
    let types = metadata.get_i32_array(&key("token_type"))?;
    let scores = metadata.get_f32_array(&key("scores"))?;
    let data = VocabularyData {
        model: metadata.require_str(&key("model"))?,
        pre: metadata.get_str(&key("pre"))?,
        tokens: &FileStrings(metadata.get_str_array(&key("tokens"))?),
        token_types: types.as_deref(),
        scores: scores.as_deref(),
        merges: &FileStrings(metadata.get_str_array(&key("merges"))?),
        bos: id("bos")?,
        eos: id("eos")?,
        eot: id("eot")?,
        cls: id("cls")?,
        // Spelled so in every file.
        sep: id("seperator")?,
        unk: id("unknown")?,
        pad: id("padding")?,
        eog: &[],
        add_bos: metadata.get_bool(&key("add_bos_token"))?,
        add_eos: metadata.get_bool(&key("add_eos_token"))?,
        add_space_prefix: metadata.get_bool(&key("add_space_prefix"))?,
    };
    Ok(Tokenizer::new(data)?)
}

fn chat_template(source: &str, tokenizer: &Tokenizer) -> Result<ChatTemplate, TemplateError> {
    let text = |id: Option<u32>| id.map_or("", |id| tokenizer.token_text(id));
    ChatTemplate::new(source, text(tokenizer.bos()), text(tokenizer.eos()))
}
