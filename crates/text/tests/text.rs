//! Properties of the tokenizer and of chat templates on small made-up data.
