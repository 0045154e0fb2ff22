//! Chat templates that a user can name, for files that bring none or a broken one.

/// A template by the name of the family that was trained on it.
const NAMED: [(&str, &str); 4] = [
    (
        "chatml",
        "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{% endfor %}\
         {% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
    ),
    (
        "gemma",
        "{{ bos_token }}{% set first = '' %}\
         {% if messages and messages[0].role == 'system' %}{% set first = messages[0].content + '\\n\\n' %}\
         {% set messages = messages[1:] %}{% endif %}\
         {% for message in messages %}{% set role = 'model' if message.role == 'assistant' else message.role %}\
         {{ '<start_of_turn>' + role + '\\n' + (first if loop.first else '') + message.content | trim + '<end_of_turn>\\n' }}{% endfor %}\
         {% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}",
    ),
    (
        "llama3",
        "{{ bos_token }}{% for message in messages %}\
         {{ '<|start_header_id|>' + message.role + '<|end_header_id|>\\n\\n' + message.content | trim + '<|eot_id|>' }}{% endfor %}\
         {% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}",
    ),
    (
        "phi3",
        "{% for message in messages %}{{ '<|' + message.role + '|>\\n' + message.content + '<|end|>\\n' }}{% endfor %}\
         {% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}",
    ),
];

/// The source of a template by name; none if there is no such name.
pub fn named_template(name: &str) -> Option<&'static str> {
    NAMED.iter().find(|(known, _)| *known == name).map(|(_, source)| *source)
}

/// The names that [`named_template`] knows.
pub fn template_names() -> impl Iterator<Item = &'static str> {
    NAMED.iter().map(|(name, _)| *name)
}
