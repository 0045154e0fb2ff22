//! What the forms of responses have in common.

use serde_json::Value as Json;

use crate::ApiError;
use crate::answer::Spent;
use crate::choice::Delta;

/// Tells of answers in one form: either as a whole (`add`, `whole`) or as server-sent events (the others).
pub(crate) trait Teller: Send {
    /// Takes what is new of an answer.
    fn add(&mut self, index: usize, delta: Delta);

    /// All answers, which are over.
    fn whole(&mut self, spent: Spent) -> Json;

    /// What a stream begins with.
    fn opening(&mut self) -> Vec<String>;

    /// What is new of an answer.
    fn pieces(&mut self, index: usize, delta: Delta) -> Vec<String>;

    /// What a stream ends with once all answers are over.
    fn closing(&mut self, spent: Spent) -> Vec<String>;

    /// What a stream ends with if they cannot be finished.
    fn failed(&mut self, error: &ApiError) -> Vec<String>;
}

/// An event without a name.
pub(crate) fn event(data: &Json) -> String {
    format!("data: {data}\n\n")
}
