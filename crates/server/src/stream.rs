//! Answers as server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_core::Stream;
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use crate::ApiError;
use crate::answer::Answers;
use crate::teller::Teller;

/// What is sent so that nobody in between takes a silent connection for a dead one. Clients skip it.
const COMMENT: &str = ": keep-alive\n\n";

/// A response that tells of the answers while they are made, with a comment after each so long silence; after its time, which
/// is over then and was so long, it ends with an error. When its client goes away it is dropped, and they are given up.
pub(crate) fn response(
    mut teller: Box<dyn Teller>,
    answers: Answers,
    silence: Duration,
    time: Option<(std::time::Instant, Duration)>,
) -> Response {
    let ready = teller.opening().into();
    let silent = Box::pin(sleep(silence));
    let over = time.map(|(end, limit)| (Box::pin(sleep_until(end.into())), limit));
    let body = Body::from_stream(Events { teller, answers, ready, silence, silent, over, is_done: false });
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream; charset=utf-8"), (header::CACHE_CONTROL, "no-cache")];
    (headers, body).into_response()
}

struct Events {
    teller: Box<dyn Teller>,
    answers: Answers,
    /// Events to be sent.
    ready: VecDeque<String>,
    /// How long nothing may be sent.
    silence: Duration,
    /// Until it was that long.
    silent: Pin<Box<Sleep>>,
    /// Until its time is over, and how long it was.
    over: Option<(Pin<Box<Sleep>>, Duration)>,
    /// Whether no more come.
    is_done: bool,
}

impl Stream for Events {
    type Item = Result<String, Infallible>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(event) = this.ready.pop_front() {
                this.silent.as_mut().reset(Instant::now() + this.silence);
                return Poll::Ready(Some(Ok(event)));
            }
            if this.is_done {
                return Poll::Ready(None);
            }
            if let Some((over, limit)) = &mut this.over
                && over.as_mut().poll(context).is_ready()
            {
                let error = ApiError::TookTooLong { limit: *limit };
                this.end_with(&error);
                continue;
            }
            let Poll::Ready(next) = this.answers.generation.poll_next(context) else {
                std::task::ready!(this.silent.as_mut().poll(context));
                this.ready.push_back(COMMENT.to_owned());
                continue;
            };
            if let Err(error) = this.take(next) {
                this.end_with(&error);
            }
        }
    }
}

impl Events {
    fn end_with(&mut self, error: &ApiError) {
        self.ready.extend(self.teller.failed(error));
        self.is_done = true;
    }

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
