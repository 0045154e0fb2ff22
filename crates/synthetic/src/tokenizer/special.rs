//! Special tokens and chat templates, as the published models have them.

/// The special tokens of Qwen 2.5, in order.
pub fn qwen2() -> Vec<String> {
    let names = "endoftext im_start im_end object_ref_start object_ref_end box_start box_end \
        quad_start quad_end vision_start vision_end vision_pad image_pad video_pad";
    let code = "fim_prefix fim_middle fim_suffix fim_pad repo_name file_sep";
    let bars = |names: &str| names.split(' ').map(|n| format!("<|{n}|>")).collect::<Vec<_>>();
    let tools = ["<tool_call>", "</tool_call>"].map(str::to_owned);
    [bars(names), tools.to_vec(), bars(code)].concat()
}

/// The special tokens of Qwen 3, in order.
pub fn qwen3() -> Vec<String> {
    let more = ["<tool_response>", "</tool_response>", "<think>", "</think>"].map(str::to_owned);
    [qwen2(), more.to_vec()].concat()
}

/// The special tokens of Llama 3: named ones, then reserved ones up to 256, or up to 16 in a
/// vocabulary that is smaller than the real one.
pub fn llama3(vocab: usize) -> Vec<String> {
    let names = "begin_of_text end_of_text reserved_special_token_0 reserved_special_token_1 \
        finetune_right_pad_id reserved_special_token_2 start_header_id end_header_id eom_id eot_id \
        python_tag";
    let mut out: Vec<String> = names.split(' ').map(|n| format!("<|{n}|>")).collect();
    let room = if vocab >= 128256 { 256 } else { 16 };
    let reserved = 3..3 + room - out.len();
    out.extend(reserved.map(|i| format!("<|reserved_special_token_{i}|>")));
    out
}

/// Special tokens that the published files do not mark as control tokens, since a parser of the
/// answer must see them as text.
pub fn is_text(token: &str) -> bool {
    let text = "<tool_call> </tool_call> <tool_response> </tool_response> <think> </think>";
    text.split(' ').any(|t| t == token)
}

pub const CHATML: &str = "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' \
    + message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}\
    {{ '<|im_start|>assistant\\n' }}{% endif %}";

pub const LLAMA3_CHAT: &str = "{{ bos_token }}{% for message in messages %}\
    {{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + message['content'] \
    | trim + '<|eot_id|>' }}{% endfor %}{% if add_generation_prompt %}\
    {{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}";

pub const GEMMA_CHAT: &str = "{{ bos_token }}{% for message in messages %}\
    {% if message['role'] == 'assistant' %}{% set role = 'model' %}{% else %}\
    {% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\\n' + \
    message['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}{% if add_generation_prompt %}\
    {{ '<start_of_turn>model\\n' }}{% endif %}";

pub const PHI3_CHAT: &str = "{% for message in messages %}{{ '<|' + message['role'] + '|>\\n' + \
    message['content'] + '<|end|>\\n' }}{% endfor %}{% if add_generation_prompt %}\
    {{ '<|assistant|>\\n' }}{% endif %}";
