//! A server of a random model on a port of its own, and a client.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use minfer::{Engine, EngineOptions, GgufFile, Model, SessionOptions};
use serde_json::{Value as Json, json};
use server::{Server, ServerOptions, Stop};

/// A server that stops when it is dropped.
pub struct Running {
    pub address: SocketAddr,
    pub server: Arc<Server>,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

/// How many requests at a time.
pub const PARALLEL: usize = 2;
/// How many more may wait.
pub const QUEUE: usize = 64;

/// A model that writes noise, and chats in ChatML.
pub fn model() -> Model {
    let bytes = synthetic::build("qwen2", "micro", "F32", 1, None).unwrap();
    Model::from_file(GgufFile::from_bytes(&bytes).unwrap()).unwrap()
}

pub fn start() -> Running {
    start_with(model(), ServerOptions::default())
}

pub fn start_with(model: Model, options: ServerOptions) -> Running {
    start_parallel(model, options, PARALLEL)
}

pub fn start_parallel(model: Model, options: ServerOptions, parallel: usize) -> Running {
    start_sized(model, options, parallel, 512)
}

/// With so many positions for each request.
pub fn start_sized(model: Model, options: ServerOptions, parallel: usize, n_ctx: usize) -> Running {
    let session = SessionOptions { n_ctx, n_seq: parallel, n_kept: 2, ..SessionOptions::default() };
    let engine = EngineOptions { session, chunk: 64, queue: QUEUE, threads: Some(2) };
    let engine = Engine::new(Arc::new(model), &engine).unwrap();
    let options = ServerOptions { names: vec!["noise".into(), "noise.gguf".into()], parallel, ..options };
    run(Server::new(engine, options))
}

/// Answers on a port of its own.
pub fn run(server: Server) -> Running {
    let server = Arc::new(server);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, stop) = (listener.local_addr().unwrap(), Stop::default());
    let (shared, told) = (server.clone(), stop.clone());
    let thread = thread::spawn(move || server::serve(listener, shared, &told).unwrap());
    Running { address, server, stop, thread: Some(thread) }
}

/// A response.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub retry_after: bool,
    pub content_type: String,
    /// The fields that were left out.
    pub ignored: Option<String>,
    pub text: String,
}

impl Response {
    pub fn json(&self) -> Json {
        serde_json::from_str(&self.text).unwrap_or_else(|e| panic!("{e}: {}", self.text))
    }

    /// The events of a stream, without the last, which must be there, and without comments.
    pub fn events(&self) -> Vec<Json> {
        let mut lines: Vec<&str> =
            self.text.split("\n\n").filter(|line| !line.is_empty() && !line.starts_with(':')).collect();
        assert_eq!(lines.pop(), Some("data: [DONE]"), "{}", self.text);
        lines.iter().map(|line| serde_json::from_str(line.strip_prefix("data: ").unwrap()).unwrap()).collect()
    }
}

impl Running {
    pub fn get(&self, path: &str) -> Response {
        read(agent().get(format!("http://{}{path}", self.address)).call())
    }

    pub fn post(&self, path: &str, body: &Json) -> Response {
        self.post_bytes(path, body.to_string().as_bytes())
    }

    pub fn post_bytes(&self, path: &str, body: &[u8]) -> Response {
        read(agent().post(format!("http://{}{path}", self.address)).send(body))
    }

    /// An answer, which there must be.
    pub fn answer(&self, path: &str, body: &Json) -> Json {
        let response = self.post(path, body);
        assert_eq!(response.status, 200, "{body}: {}", response.text);
        response.json()
    }

    /// A number of `/metrics`.
    pub fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").text;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
    }

    /// Waits until something holds.
    pub fn wait_until(&self, what: &str, holds: impl Fn(&Running) -> bool) {
        let since = Instant::now();
        while !holds(self) {
            assert!(since.elapsed() < Duration::from_secs(60), "never: {what}");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.stop();
        let ended = self.thread.take().map(JoinHandle::join);
        if !thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}

/// Each call has a connection of its own.
fn agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder().http_status_as_error(false).max_idle_connections(0);
    config.timeout_global(Some(Duration::from_secs(120))).build().into()
}

fn read(response: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Response {
    let mut response = response.unwrap();
    Response {
        status: response.status().as_u16(),
        retry_after: response.headers().contains_key("retry-after"),
        ignored: response.headers().get("minfer-ignored-fields").map(|it| it.to_str().unwrap().to_owned()),
        content_type: response.headers()["content-type"].to_str().unwrap().to_owned(),
        text: response.body_mut().read_to_string().unwrap(),
    }
}

/// A chat of one message, with further fields.
pub fn chat(text: &str, more: Json) -> Json {
    with(json!({"model": "noise", "messages": [{"role": "user", "content": text}], "max_tokens": 12}), more)
}

/// A raw prompt, with further fields.
pub fn raw(text: &str, more: Json) -> Json {
    with(json!({"model": "noise", "prompt": text, "max_tokens": 12}), more)
}

/// A body with further fields.
pub fn with(mut body: Json, more: Json) -> Json {
    for (key, value) in more.as_object().unwrap() {
        body[key] = value.clone();
    }
    body
}

/// What keeps a model from ending its answer.
pub fn no_end(running: &Running) -> Json {
    let ends = running.server.model().tokenizer().eog().iter();
    ends.map(|id| (id.to_string(), json!(-100))).collect::<serde_json::Map<_, _>>().into()
}

/// Sends a request and does not read the response.
pub fn send(running: &Running, path: &str, body: &Json) -> TcpStream {
    let body = body.to_string();
    let mut stream = TcpStream::connect(running.address).unwrap();
    let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all((head + &body).as_bytes()).unwrap();
    stream
}
