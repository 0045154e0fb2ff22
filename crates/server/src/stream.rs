//! Answers as server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_core::Stream;

use crate::ApiError;
use crate::answer::Answers;
use crate::teller::Teller;

/// A response that tells of the answers while they are made. When its client goes away it is dropped, and they are given up.
pub(crate) fn response(mut teller: Box<dyn Teller>, answers: Answers) -> Response {
    let ready = teller.opening().into();
    let body = Body::from_stream(Events { teller, answers, ready, is_done: false });
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream; charset=utf-8"), (header::CACHE_CONTROL, "no-cache")];
    (headers, body).into_response()
}

struct Events {
    teller: Box<dyn Teller>,
    answers: Answers,
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
            let next = std::task::ready!(this.answers.generation.poll_next(context));
            if let Err(error) = this.take(next) {
                this.ready.extend(this.teller.failed(&error));
                this.is_done = true;
            }
        }
    }
}

impl Events {
    fn take(&mut self, next: Option<(usize, minfer::Happening)>) -> Result<(), ApiError> {
        let Some((index, happening)) = next else {
            let spent = self.answers.spent()?;
            self.ready.extend(self.teller.closing(spent));
            self.is_done = true;
            return Ok(());
        };
        for delta in self.answers.take(index, happening)? {
            self.ready.extend(self.teller.pieces(index, delta));
        }
        Ok(())
    }
}
