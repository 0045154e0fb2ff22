//! How answers are chosen and when they end: flags of `run` and `chat`.

use clap::Args;

use super::SamplingArgs;

#[derive(Args)]
pub struct AnswerArgs {
    /// Another chat template than the file's: chatml, gemma, llama3, phi3, or a file that holds one
    #[arg(long, value_name = "NAME|FILE")]
    pub chat_template: Option<String>,
    /// At most N tokens an answer; -1 or -2: until the model ends or the context is full
    #[arg(
        short = 'n',
        long = "predict",
        visible_alias = "n-predict",
        allow_negative_numbers = true,
        default_value_t = -1,
        value_parser = clap::value_parser!(i64).range(-2..),
        value_name = "N"
    )]
    predict: i64,
    /// End an answer before this text, again for more
    #[arg(
        short = 'r',
        long,
        visible_alias = "reverse-prompt",
        allow_hyphen_values = true,
        value_parser = clap::builder::NonEmptyStringValueParser::new(),
        value_name = "TEXT"
    )]
    pub stop: Vec<String>,
    #[command(flatten)]
    pub sampling: SamplingArgs,
}

impl AnswerArgs {
    /// The most tokens, if there is a limit.
    pub fn n_predict(&self) -> Option<usize> {
        usize::try_from(self.predict).ok()
    }
}
