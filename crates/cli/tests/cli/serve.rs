//! `minfer serve`: flags, what it prints, how it ends.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
#[cfg(unix)]
use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::Value as Json;

use crate::support::{command, encoder, file, json, micro, minfer};

/// A server that goes away with the test.
pub struct Serving {
    child: Child,
    out: BufReader<ChildStdout>,
    told: Json,
}

pub fn serve(options: &[&str], key: Option<&str>) -> Serving {
    serve_model(micro(), options, key)
}

fn serve_model(model: &str, options: &[&str], key: Option<&str>) -> Serving {
    let arguments = [&["serve", model, "--port", "0", "--json"], options].concat();
    let mut command = command(&arguments);
    command.env_remove("MINFER_API_KEY").envs(key.map(|key| ("MINFER_API_KEY", key)));
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    Serving { child, out, told: serde_json::from_str(&line).unwrap() }
}

impl Serving {
    pub fn url(&self) -> &str {
        self.told["url"].as_str().unwrap()
    }

    fn connect(&self) -> io::Result<TcpStream> {
        TcpStream::connect(self.url().strip_prefix("http://").unwrap())
    }

    /// A request, whose response is not read.
    fn send(&self, head: &str, body: &str) -> TcpStream {
        let mut stream = self.connect().unwrap();
        let length = body.len();
        write!(
            stream,
            "{head} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        stream
    }

    /// The whole response.
    fn ask(&self, head: &str, body: &str) -> String {
        let mut text = String::new();
        self.send(head, body).read_to_string(&mut text).unwrap();
        text
    }

    #[cfg(unix)]
    fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_address_and_the_context_are_told_and_ctrl_c_ends_the_server() {
    let mut serving = serve(&["-np", "2", "-c", "256", "--alias", "other", "-t", "1"], None);
    assert_eq!((&serving.told["model"], &serving.told["n_ctx"]), (&"other".into(), &256.into()));
    assert_eq!((&serving.told["parallel"], &serving.told["version"]), (&2.into(), &1.into()));
    let answer = serving.ask("POST /v1/completions", r#"{"prompt": "a", "max_tokens": 3, "model": "other"}"#);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    #[cfg(unix)]
    {
        serving.signal("INT");
        assert!(serving.child.wait().unwrap().success());
        let mut rest = String::new();
        serving.out.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "");
    }
}

#[cfg(unix)]
#[test]
fn sigterm_finishes_what_runs_and_takes_no_more() {
    let mut serving = serve(&["-np", "4", "-c", "1024"], None);
    // More than sockets hold, so that it runs until it is read.
    let body = r#"{"messages": [{"role": "user", "content": "a"}], "stream": true, "n": 4, "max_tokens": 900,
        "ignore_eos": true, "logprobs": true, "top_logprobs": 20}"#;
    let mut client = serving.send("POST /v1/chat/completions", body);
    let mut first = [0; 12];
    client.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    serving.signal("TERM");
    let since = Instant::now();
    while serving.connect().is_ok() {
        assert!(since.elapsed() < Duration::from_secs(60), "connections are taken");
        thread::sleep(Duration::from_millis(5));
    }
    assert!(serving.child.try_wait().unwrap().is_none(), "what runs is not finished");
    let mut text = String::new();
    client.read_to_string(&mut text).unwrap();
    assert!(text.contains("data: [DONE]") && text.len() > 5_000_000, "{}", text.len());
    assert_eq!(serving.child.wait().unwrap().code(), Some(0));
}

#[test]
fn keys_come_from_the_environment_and_from_a_file_and_origins_are_checked() {
    let (_folder, path) = file("keys", b"first\n\n second \n");
    let serving = serve(&["-c", "64", "--api-key-file", &path], Some("third"));
    assert!(serving.ask("GET /health", "").starts_with("HTTP/1.1 200"));
    assert!(serving.ask("GET /v1/models", "").starts_with("HTTP/1.1 401"));
    for key in ["first", "second", "third"] {
        let head = format!("GET /v1/models HTTP/1.1\r\nAuthorization: Bearer {key}\r\nX:");
        assert!(serving.ask(&head, "").starts_with("HTTP/1.1 200"), "{key}");
    }
    for wrong in
        ["example.com", "https://example.com/", "https://*.example.com", "://x", "https://Example.com"]
    {
        minfer(&["serve", micro(), "--port", "0", "--cors-origin", wrong]).refused(2, &["--cors-origin"]);
    }
    let (_folder, empty) = file("keys", b"\n");
    minfer(&["serve", micro(), "--port", "0", "--api-key-file", &empty])
        .refused(1, &["there is no key in it"]);
}

/// The numbers in a response that holds one embedding.
fn numbers(response: &str) -> Json {
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{response}");
    serde_json::from_str::<Json>(body).unwrap()["data"][0]["embedding"].take()
}

#[test]
fn embeddings_are_served_by_encoders_and_by_others_on_demand() {
    let body = r#"{"input": "a river"}"#;
    for (model, flags) in [(encoder(), &[][..]), (micro(), &["--embeddings", "--pooling", "mean"])] {
        let pooling = flags.iter().filter(|flag| **flag != "--embeddings").copied();
        let alone =
            json(&[&["embed", model, "a river", "--json"], &pooling.collect::<Vec<_>>()[..]].concat());
        let serving = serve_model(model, &[&["-c", "128"], flags].concat(), None);
        let found = numbers(&serving.ask("POST /v1/embeddings", body));
        assert_eq!(found, alone["data"][0]["embedding"]);
    }
    let serving = serve(&["-c", "128"], None);
    assert!(serving.ask("POST /v1/embeddings", body).contains("start it with --embeddings"));
    minfer(&["serve", micro(), "--port", "0", "--pooling", "mean"])
        .refused(1, &["--pooling", "--embeddings"]);
}

#[test]
fn the_memory_of_embeddings_counts() {
    let total = json(&["plan", micro(), "-c", "512", "-t", "1", "--json"])["total"].to_string();
    let flags = ["-c", "512", "-np", "1", "--keep-contexts", "0", "-t", "1", "--memory", &total];
    drop(serve(&flags, None));
    let refused = ["serve", micro(), "--port", "0", "--embeddings"];
    minfer(&[&refused[..], &flags].concat()).refused(1, &["memory: ", "needed"]);
}
