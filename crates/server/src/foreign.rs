//! Fields of OpenAI's interface and of other servers that are not done here.
//!
//! One that could change an answer is refused by its name, unless it says what is done anyway; one that could not is taken
//! without effect.

use serde_json::{Value as Json, json};

use crate::ApiError;
use crate::fields::Fields;

/// What could change an answer, whatever it says.
const REFUSED: [&str; 22] = [
    "guided_choice",
    "guided_grammar",
    "guided_json",
    "guided_regex",
    "json_schema",
    "lora",
    "min_tokens",
    "n_predict",
    "prediction",
    "samplers",
    "stop_token_ids",
    "structured_outputs",
    // Of chats.
    "audio",
    "chat_template",
    "continue_final_message",
    "function_call",
    "functions",
    "reasoning_effort",
    "web_search_options",
    // Of completions.
    "suffix",
    "input_prefix",
    "input_suffix",
];

/// What could change an answer, with the value that does not.
fn neutral() -> [(&'static str, Json); 15] {
    [
        ("add_generation_prompt", json!(true)),
        ("dry_multiplier", json!(0)),
        ("dynatemp_range", json!(0)),
        ("grammar", json!("")),
        ("min_keep", json!(0)),
        ("mirostat", json!(0)),
        ("modalities", json!(["text"])),
        ("n_indent", json!(0)),
        ("n_keep", json!(0)),
        ("n_probs", json!(0)),
        ("post_sampling_probs", json!(false)),
        ("reasoning_format", json!("none")),
        ("t_max_predict_ms", json!(-1)),
        ("top_n_sigma", json!(-1)),
        ("verbosity", json!("medium")),
    ]
}

/// What cannot change an answer, at least not while the fields above are as they have to be.
const WITHOUT_EFFECT: [&str; 17] = [
    "cache_prompt",
    "dry_allowed_length",
    "dry_base",
    "dry_penalty_last_n",
    "dry_sequence_breakers",
    "dynatemp_exponent",
    "id_slot",
    "metadata",
    "mirostat_eta",
    "mirostat_tau",
    "n_discard",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "store",
    "user",
];

/// Takes them.
pub(crate) fn take(fields: &mut Fields) -> Result<(), ApiError> {
    for field in REFUSED {
        fields.refuse(field, "is not supported")?;
    }
    for (field, value) in neutral() {
        fields.only(field, &value)?;
    }
    fields.ignore(&WITHOUT_EFFECT);
    Ok(())
}
