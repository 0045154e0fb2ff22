//! Answers as server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use serde_json::{Value as Json, json};

use crate::ApiError;
use crate::answer::Reply;
use crate::generation::Generation;

/// A response that tells of the answers while they are made. When its client goes away it is dropped, and they are given up.
pub(crate) fn response(reply: Reply, generation: Generation) -> Response {
    let ready =
        (0..reply.count()).filter_map(|index| reply.opening(index)).map(|json| event(&json)).collect();
    let body = Body::from_stream(Events { reply, generation, ready, is_done: false });
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream; charset=utf-8"), (header::CACHE_CONTROL, "no-cache")];
    (headers, body).into_response()
}

struct Events {
    reply: Reply,
    generation: Generation,
    /// Events to be sent.
    ready: VecDeque<String>,
    /// Whether no more come.
    is_done: bool,
}

impl Stream for Events {
    type Item = Result<String, Infallible>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(event) = this.ready.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            if this.is_done {
                return Poll::Ready(None);
            }
            let next = std::task::ready!(this.generation.poll_next(context));
            if let Err(error) = this.take(next) {
                this.ready.push_back(event(&error.to_json()));
                this.is_done = true;
            }
        }
    }
}

impl Events {
    fn take(&mut self, next: Option<(usize, minfer::Happening)>) -> Result<(), ApiError> {
        if let Some((index, happening)) = next {
            for delta in self.reply.take(index, happening, &self.generation)? {
                let piece = self.reply.piece(index, delta);
                self.ready.push_back(event(&piece));
            }
            return Ok(());
        }
        if !self.generation.is_over() {
            return Err(ApiError::Stopping);
        }
        if self.reply.include_usage {
            let mut last = self.reply.frame(json!([]));
            last["usage"] = self.reply.usage();
            self.ready.push_back(event(&last));
        }
        self.ready.push_back("data: [DONE]\n\n".to_owned());
        self.is_done = true;
        Ok(())
    }
}

fn event(json: &Json) -> String {
    format!("data: {json}\n\n")
}
