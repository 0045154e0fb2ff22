//! Properties of the tokenizer and of chat templates on small made-up data.

#[path = "text/encoding.rs"]
mod encoding;
#[path = "text/hostile_templates.rs"]
mod hostile_templates;
#[path = "text/long_runs.rs"]
mod long_runs;
#[path = "text/models.rs"]
mod models;
#[path = "text/named.rs"]
mod named;
#[path = "text/pretokenizers.rs"]
mod pretokenizers;
#[path = "text/published.rs"]
mod published;
#[path = "text/segments.rs"]
mod segments;
#[path = "text/small.rs"]
mod small;
#[path = "text/small_spm.rs"]
mod small_spm;
#[path = "text/spm.rs"]
mod spm;
#[path = "text/stop.rs"]
mod stop;
#[path = "text/stream.rs"]
mod stream;
#[path = "text/templates.rs"]
mod templates;
#[path = "text/vocabularies.rs"]
mod vocabularies;
#[path = "text/word_piece.rs"]
mod word_piece;
