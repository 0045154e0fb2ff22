//! A small HTTP server on the loopback interface; what it answers is up to the test.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// What was asked.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Path and query.
    pub path: String,
    /// By name in lower case.
    pub headers: HashMap<String, String>,
}

impl Asked {
    /// The first byte that a `Range` asks for.
    pub fn from(&self) -> Option<usize> {
        self.headers.get("range")?.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()
    }
}

/// What is answered.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Bytes of the body after which the connection ends.
    pub cut: Option<usize>,
}

impl Reply {
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Reply {
        Reply { status, body: body.into(), ..Reply::default() }
    }

    pub fn with(mut self, name: &str, value: &str) -> Reply {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn cut(self, at: usize) -> Reply {
        Reply { cut: Some(at), ..self }
    }

    /// The file, or the rest of it where `asked` wants that and `If-Range` names this state of it.
    pub fn file(asked: &Asked, body: &[u8], etag: &str) -> Reply {
        let same = asked.headers.get("if-range").is_none_or(|tag| tag == etag);
        match asked.from().filter(|_| same) {
            Some(first) if first >= body.len() => Reply::new(416, ""),
            Some(first) => {
                let range = format!("bytes {first}-{}/{}", body.len() - 1, body.len());
                Reply::new(206, &body[first..]).with("content-range", &range).with("etag", etag)
            }
            None => Reply::new(200, body).with("etag", etag),
        }
    }
}

/// Runs until it is dropped.
pub struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// `answer` gets what was asked and how many requests came before.
    pub fn new(answer: impl Fn(&Asked, usize) -> Reply + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (log, stopped) = (asked.clone(), stop.clone());
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                // A client that goes away is part of some tests.
                let _ = serve(stream.unwrap(), &log, &answer);
            }
        });
        Server { address, asked, stop, thread: Some(thread) }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Everything that was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        self.thread.take().unwrap().join().unwrap();
    }
}

fn serve(
    stream: TcpStream,
    log: &Mutex<Vec<Asked>>,
    answer: &dyn Fn(&Asked, usize) -> Reply,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.by_ref().take(1 << 16).read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        lines.push(line.trim().to_owned());
    }
    let Some((first, rest)) = lines.split_first() else { return Ok(()) };
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let header = |line: &String| line.split_once(':').map(|(k, v)| (k.to_lowercase(), v.trim().to_owned()));
    let asked = Asked { path, headers: rest.iter().filter_map(header).collect() };
    let before = {
        let mut log = log.lock().unwrap();
        log.push(asked.clone());
        log.len() - 1
    };
    let reply = answer(&asked, before);
    let mut head = format!("HTTP/1.1 {} Because\r\nconnection: close\r\n", reply.status);
    if !reply.headers.iter().any(|(name, _)| name == "content-length" || name == "transfer-encoding") {
        head += &format!("content-length: {}\r\n", reply.body.len());
    }
    for (name, value) in &reply.headers {
        head += &format!("{name}: {value}\r\n");
    }
    let stream = reader.get_mut();
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    stream.write_all(&reply.body[..reply.cut.unwrap_or(reply.body.len())])?;
    stream.flush()
}
