//! A socket until the server is told to stop.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;

use axum::serve::ListenerExt;
use tokio::runtime::Builder;
use tokio::sync::watch;

use crate::{Server, router};

/// Tells a server to stop. Copies are the same.
#[derive(Clone, Debug)]
pub struct Stop(watch::Sender<bool>);

impl Default for Stop {
    fn default() -> Stop {
        Stop(watch::Sender::new(false))
    }
}

impl Stop {
    /// No more connections are taken; what runs is finished.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

/// Answers on a socket until it is told to stop and what ran by then is finished. Blocks the thread.
pub fn serve(listener: TcpListener, server: Arc<Server>, stop: &Stop) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    // Requests are read and answers written here; computing is the engine's.
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(8)
        .thread_name("minfer-http")
        .enable_io()
        .enable_time()
        .build()?;
    let mut stopped = stop.0.subscribe();
    runtime.block_on(async move {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        // A token is a small packet that nobody wants to wait for; where that cannot be said it comes later.
        let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
        let until = async move {
            // The sender outlives this, or nobody can stop it any more.
            let _ = stopped.wait_for(|stopped| *stopped).await;
        };
        axum::serve(listener, router(server)).with_graceful_shutdown(until).await
    })
}
