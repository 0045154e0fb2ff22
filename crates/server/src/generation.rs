//! From a body to answers that arrive.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use minfer::{Cancel, GenerateOptions, Happening, Request};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::{ApiError, Server};

/// The bytes of a body.
pub(crate) fn body(bytes: Result<Bytes, BytesRejection>, server: &Server) -> Result<Bytes, ApiError> {
    bytes.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => ApiError::TooLarge { limit: server.options.body_limit },
        _ => ApiError::Body(rejection.body_text()),
    })
}

/// Work that takes longer than the threads of sockets may be held: templates, tokenizers, schemas.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| ApiError::Failed(format!("the request could not be read: {error}")))?
}

/// Answers on their way. Dropping it gives them up.
pub(crate) struct Generation {
    server: Arc<Server>,
    receiver: UnboundedReceiver<(usize, Happening)>,
    cancels: Vec<Cancel>,
    /// Answers that are not over.
    left: usize,
}

impl Generation {
    /// Asks the engine for an answer to each prompt; `field` held the prompts. If it refuses one, none is answered.
    pub fn start(
        server: &Arc<Server>,
        prompts: Vec<(Vec<u32>, GenerateOptions)>,
        field: &'static str,
        since: Instant,
    ) -> Result<Generation, ApiError> {
        let (sender, receiver) = unbounded_channel();
        let mut generation = Generation { server: server.clone(), receiver, cancels: Vec::new(), left: 0 };
        for (index, (prompt, options)) in prompts.into_iter().enumerate() {
            // Not the server: its engine cannot be dropped on its own thread.
            let (sender, figures) = (sender.clone(), server.figures.clone());
            let (asked, mut latest) = (Instant::now(), None::<Instant>);
            // The channel holds what a slow client has not read: an answer at most.
            let sink = move |happening| {
                match happening {
                    Happening::Started { .. } => figures.queue.add(asked.elapsed()),
                    Happening::Token { .. } => {
                        let now = Instant::now();
                        match latest.replace(now) {
                            None => figures.first_token.add(now - since),
                            Some(before) => figures.between_tokens.add(now - before),
                        }
                    }
                    _ => {}
                }
                match sender.send((index, happening)) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            };
            let cancel = server.engine.generate_into(Request { prompt, options }, field, Box::new(sink));
            match cancel {
                Ok(cancel) => generation.cancels.push(cancel),
                Err(error) => {
                    // Nobody went away.
                    generation.give_up();
                    generation.left = 0;
                    return Err(error);
                }
            }
            generation.left += 1;
        }
        Ok(generation)
    }

    /// Ends one of the answers.
    pub fn cancel(&self, index: usize) {
        self.cancels[index].cancel();
    }

    /// What happens next, and to which answer; nothing once all are over.
    pub fn poll_next(&mut self, context: &mut Context) -> Poll<Option<(usize, Happening)>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let next = self.receiver.poll_recv(context);
        if let Poll::Ready(Some((_, Happening::Finished { .. } | Happening::Failed(_)))) = next {
            self.left -= 1;
        }
        next
    }

    /// The same, waiting for it.
    pub async fn next(&mut self) -> Option<(usize, Happening)> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    /// Whether all answers are over.
    pub fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Nobody wants the answers any more.
    fn give_up(&mut self) {
        self.cancels.iter().for_each(Cancel::cancel);
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        if self.left > 0 {
            self.give_up();
            self.server.figures.cancelled(self.left as u64);
        }
    }
}
