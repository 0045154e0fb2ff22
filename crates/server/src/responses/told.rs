//! An answer as a response object, and as the events that tell of it while it is written.

use std::sync::Arc;

use minfer::TokenLogprobs;
use serde_json::{Value as Json, json};

use super::item::{Item, Status, part};
use crate::answer::Spent;
use crate::choice::Delta;
use crate::server::unix_seconds;
use crate::teller::Teller;
use crate::{ApiError, Server, logprobs};

/// Both forms come out of the same steps: whoever wants the whole does not look at the events.
pub(super) struct Told {
    server: Arc<Server>,
    with_logprobs: bool,
    /// The response, whose output is empty until the end.
    response: Json,
    /// Items that are over.
    output: Vec<Json>,
    /// The item that is being written.
    open: Option<Item>,
    /// Whether the answer ended for its length.
    is_cut: bool,
    /// Of the next event.
    sequence: u64,
    /// Events that were not yet given out.
    events: Vec<String>,
}

impl Told {
    pub fn new(server: Arc<Server>, response: Json, with_logprobs: bool) -> Told {
        let (output, events) = (Vec::new(), Vec::new());
        Told { server, with_logprobs, response, output, open: None, is_cut: false, sequence: 0, events }
    }

    /// Tells an event of the type `response.KIND`.
    fn tell(&mut self, kind: &str, fields: Json) {
        let mut data = json!({"type": format!("response.{kind}"), "sequence_number": self.sequence});
        if let (Json::Object(data), Json::Object(fields)) = (&mut data, fields) {
            data.extend(fields);
        }
        self.events.push(format!("event: response.{kind}\ndata: {data}\n\n"));
        self.sequence += 1;
    }

    /// Tells an event about the item that is being written.
    fn tell_of_open(&mut self, kind: &str, mut fields: Json) {
        let item = self.open.as_ref().expect("an item is being written");
        fields["output_index"] = self.output.len().into();
        fields["item_id"] = item.id().into();
        if let Item::Message { .. } = item {
            fields["content_index"] = 0.into();
        }
        self.tell(kind, fields);
    }

    fn begin(&mut self, item: Item) {
        self.close(Status::Completed);
        let is_message = matches!(item, Item::Message { .. });
        let added = json!({"output_index": self.output.len(), "item": item.to_json(Status::InProgress)});
        self.open = Some(item);
        self.tell("output_item.added", added);
        if is_message {
            self.tell_of_open("content_part.added", json!({"part": part("", &[])}));
        }
    }

    /// Ends the item that is being written, if there is one.
    fn close(&mut self, status: Status) {
        match &self.open {
            None => return,
            Some(Item::Message { text, logprobs, .. }) => {
                let (whole, part) = (json!({"text": text, "logprobs": logprobs}), part(text, logprobs));
                self.tell_of_open("output_text.done", whole);
                self.tell_of_open("content_part.done", json!({"part": part}));
            }
            Some(Item::Call { name, arguments, .. }) => {
                let whole = json!({"name": name, "arguments": arguments});
                self.tell_of_open("function_call_arguments.done", whole);
            }
        }
        if let Some(item) = self.open.take() {
            let item = item.to_json(status);
            self.tell("output_item.done", json!({"output_index": self.output.len(), "item": item}));
            self.output.push(item);
        }
    }

    fn write(&mut self, piece: &str, tokens: &[TokenLogprobs]) {
        if !matches!(self.open, Some(Item::Message { .. })) {
            self.begin(Item::message());
        }
        let tokenizer = self.server.engine.model().tokenizer();
        let told = if self.with_logprobs { logprobs::list(tokens, tokenizer) } else { Vec::new() };
        if piece.is_empty() && told.is_empty() {
            return;
        }
        if let Some(Item::Message { text, logprobs, .. }) = &mut self.open {
            text.push_str(piece);
            logprobs.extend(told.iter().cloned());
        }
        self.tell_of_open("output_text.delta", json!({"delta": piece, "logprobs": told}));
    }

    fn take(&mut self, delta: Delta) {
        match delta {
            Delta::Text(text, tokens) => self.write(&text, &tokens),
            Delta::Call { id, name, .. } => self.begin(Item::call(id, name)),
            Delta::Arguments { text, .. } => {
                if let Some(Item::Call { arguments, .. }) = &mut self.open {
                    arguments.push_str(&text);
                }
                self.tell_of_open("function_call_arguments.delta", json!({"delta": text}));
            }
            Delta::CallEnd { complete } => {
                self.close(if complete { Status::Completed } else { Status::Incomplete });
            }
            Delta::End(reason, tokens) => {
                // An answer without text is an empty message.
                if self.open.is_some() || self.output.is_empty() {
                    self.write("", &tokens);
                }
                self.is_cut = reason == "length";
                self.close(if self.is_cut { Status::Incomplete } else { Status::Completed });
            }
        }
    }

    /// The response, which is over.
    fn end(&mut self, spent: Spent) -> &'static str {
        let status = if self.is_cut { "incomplete" } else { "completed" };
        self.response["status"] = status.into();
        match self.is_cut {
            true => self.response["incomplete_details"] = json!({"reason": "max_output_tokens"}),
            false => self.response["completed_at"] = unix_seconds().into(),
        }
        self.response["output"] = std::mem::take(&mut self.output).into();
        self.response["usage"] = json!({
            "input_tokens": spent.prompt,
            "input_tokens_details": {"cached_tokens": spent.cached, "cache_write_tokens": 0},
            "output_tokens": spent.answer,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": spent.prompt + spent.answer,
        });
        status
    }

    /// Tells an event with the response as it is.
    fn tell_response(&mut self, kind: &str) {
        self.tell(kind, json!({"response": self.response}));
    }
}

impl Teller for Told {
    fn add(&mut self, _: usize, delta: Delta) {
        self.take(delta);
        self.events.clear();
    }

    fn whole(&mut self, spent: Spent) -> Json {
        self.end(spent);
        self.response.take()
    }

    fn opening(&mut self) -> Vec<String> {
        self.tell_response("created");
        self.tell_response("in_progress");
        std::mem::take(&mut self.events)
    }

    fn pieces(&mut self, _: usize, delta: Delta) -> Vec<String> {
        self.take(delta);
        std::mem::take(&mut self.events)
    }

    fn closing(&mut self, spent: Spent) -> Vec<String> {
        let status = self.end(spent);
        self.tell_response(status);
        std::mem::take(&mut self.events)
    }

    fn failed(&mut self, error: &ApiError) -> Vec<String> {
        self.close(Status::Incomplete);
        self.response["status"] = "failed".into();
        self.response["error"] = json!({"code": "server_error", "message": error.to_string()});
        self.response["output"] = std::mem::take(&mut self.output).into();
        self.tell_response("failed");
        std::mem::take(&mut self.events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ServerOptions;
    use minfer::{Engine, EngineOptions, GgufFile, Model, SessionOptions};

    #[test]
    fn a_stream_that_fails_ends_with_what_there_is_and_why() {
        let bytes = synthetic::build("qwen2", "micro", "F32", 1, None).unwrap();
        let model = Model::from_file(GgufFile::from_bytes(&bytes).unwrap()).unwrap();
        let session = SessionOptions { n_ctx: 32, ..SessionOptions::default() };
        let engine = EngineOptions { session, threads: Some(1), ..EngineOptions::default() };
        let engine = Engine::new(Arc::new(model), &engine).unwrap();
        let server = Arc::new(Server::new(engine, ServerOptions::default()));
        let mut told = Told::new(server, json!({"id": "resp_1", "status": "in_progress"}), false);
        let mut events = told.opening();
        events.extend(told.pieces(0, Delta::Text("So".to_owned(), Vec::new())));
        events.extend(told.failed(&ApiError::Stopping));
        let last = events.pop().unwrap();
        let data = last.strip_prefix("event: response.failed\ndata: ").unwrap();
        let data: Json = serde_json::from_str(data.trim_end()).unwrap();
        assert_eq!(data["sequence_number"], events.len());
        let response = &data["response"];
        assert_eq!(
            (&response["status"], &response["error"]["code"]),
            (&json!("failed"), &json!("server_error"))
        );
        assert_eq!(response["error"]["message"], ApiError::Stopping.to_string());
        let item = &response["output"][0];
        assert_eq!((&item["status"], &item["content"][0]["text"]), (&json!("incomplete"), &json!("So")));
        assert!(events.last().unwrap().starts_with("event: response.output_item.done\n"));
    }
}
