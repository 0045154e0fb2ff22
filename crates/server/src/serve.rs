//! A socket until the server is told to stop.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::runtime::Builder;
use tokio::sync::watch;
use tokio::time::sleep;

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

/// How long to wait before the next connection where none can be taken: there are too many open files.
const PAUSE: Duration = Duration::from_secs(1);

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
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(server.options.head_time);
        let service = TowerToHyperService::new(router(server));
        let connections = GracefulShutdown::new();
        loop {
            let stream = tokio::select! {
                accepted = listener.accept() => accepted,
                // The sender outlives this, or nobody can stop it any more.
                _ = stopped.wait_for(|stopped| *stopped) => break,
            };
            let stream = match stream {
                Ok((stream, _)) => stream,
                // The client went away before it was heard.
                Err(error) if is_of_connection(&error) => continue,
                Err(_) => {
                    sleep(PAUSE).await;
                    continue;
                }
            };
            // A token is a small packet that nobody wants to wait for; where that cannot be said it comes later.
            drop(stream.set_nodelay(true));
            let connection = http.serve_connection(TokioIo::new(stream), service.clone());
            // What goes wrong with a connection is its client's.
            tokio::spawn(connections.watch(connection));
        }
        drop(listener);
        connections.shutdown().await;
        Ok(())
    })
}

fn is_of_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
