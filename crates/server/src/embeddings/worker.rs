//! The thread that makes embeddings, so that neither answers nor sockets wait for them.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use minfer::{Embedder, Embedding, Error, Pooling};
use tokio::sync::oneshot;

use crate::ApiError;

/// Texts between two looks at whether anybody still waits for them.
const TEXTS: usize = 16;

/// An embedder on a thread of its own, with a queue before it. Dropping it waits until what is in the queue is done.
pub(crate) struct Embeddings {
    /// How rows become one.
    pub pooling: Pooling,
    /// Positions that a text may have.
    pub n_ctx: usize,
    queue: usize,
    /// There until it is dropped.
    jobs: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
}

struct Job {
    texts: Vec<Vec<u32>>,
    dimensions: Option<usize>,
    done: oneshot::Sender<Result<Vec<Embedding>, Error>>,
}

impl Embeddings {
    /// Starts; so many requests may wait.
    pub fn start(embedder: Embedder, queue: usize) -> Result<Embeddings, Error> {
        let (pooling, n_ctx) = (embedder.pooling(), embedder.session().n_ctx());
        let (jobs, receiver) = sync_channel(queue);
        let thread = thread::Builder::new().name("minfer-embedder".to_owned());
        let thread =
            thread.spawn(move || run(embedder, &receiver)).map_err(|e| Error::Thread(e.to_string()))?;
        Ok(Embeddings { pooling, n_ctx, queue, jobs: Some(jobs), thread: Some(thread) })
    }

    /// The embeddings of texts, in order. Who drops the future gives them up.
    pub async fn embed(
        &self,
        texts: Vec<Vec<u32>>,
        dimensions: Option<usize>,
    ) -> Result<Vec<Embedding>, ApiError> {
        let (done, receiver) = oneshot::channel();
        let jobs = self.jobs.as_ref().ok_or(ApiError::Stopping)?;
        jobs.try_send(Job { texts, dimensions, done }).map_err(|error| match error {
            TrySendError::Full(_) => ApiError::Busy { waiting: self.queue },
            TrySendError::Disconnected(_) => ApiError::Stopping,
        })?;
        let made =
            receiver.await.map_err(|_| ApiError::Failed("no embeddings are made any more".to_owned()))?;
        made.map_err(|error| ApiError::of(error, "input"))
    }
}

impl Drop for Embeddings {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was told by the panic hook.
            let _ = thread.join();
        }
    }
}

/// The life of the thread.
fn run(mut embedder: Embedder, jobs: &Receiver<Job>) {
    while let Ok(Job { texts, dimensions, done }) = jobs.recv() {
        let mut made = embedder.set_dimensions(dimensions).map(|()| Vec::with_capacity(texts.len()));
        for group in texts.chunks(TEXTS) {
            let Ok(list) = &mut made else { break };
            if done.is_closed() {
                break;
            }
            match embedder.embed_tokens(group) {
                Ok(more) => list.extend(more),
                Err(error) => made = Err(error),
            }
        }
        // Nobody may want them any more.
        let _ = done.send(made);
    }
}
