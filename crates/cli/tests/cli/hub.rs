//! Models from a hub and from URLs; the hub is a server of the test.

use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;
use tempfile::TempDir;

use crate::server::{Asked, Reply, Server};
use crate::support::{Ran, command, micro, run};

const FILE: &str = "/Org/Repo/resolve/main/m-F32.gguf";

/// A hub with one repository: the micro model as two files, and a projector.
fn hub() -> Server {
    let model = std::fs::read(micro()).unwrap();
    Server::new(move |asked, _| answer(asked, &model))
}

fn answer(asked: &Asked, model: &[u8]) -> Reply {
    let entry = |name: &str| format!(r#"{{"type":"file","path":"{name}","size":{}}}"#, model.len());
    match asked.path.as_str() {
        "/api/models/Org/Repo/tree/main?recursive=1" => {
            let entries = ["m-F32.gguf", "m-Q4_K_M.gguf", "mmproj-F32.gguf"].map(entry);
            Reply::new(200, format!("[{}]", entries.join(",")))
        }
        FILE | "/Org/Repo/resolve/main/m-Q4_K_M.gguf" | "/files/own.gguf" => {
            Reply::file(asked, model, "\"one\"")
        }
        _ => Reply::new(404, ""),
    }
}

struct Place {
    server: Server,
    cache: TempDir,
}

impl Place {
    fn new(server: Server) -> Place {
        Place { server, cache: tempfile::tempdir().unwrap() }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        command.env("MINFER_CACHE", self.cache.path()).env("HF_ENDPOINT", self.server.url("/"));
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        run(&mut self.command(arguments))
    }

    fn json(&self, arguments: &[&str]) -> Json {
        serde_json::from_str(&self.run(arguments).expect(0).out).unwrap()
    }
}

#[test]
fn a_repository_is_fetched_once_and_used_without_the_hub() {
    let place = Place::new(hub());
    let found = place.json(&["pull", "hf:Org/Repo:f32", "--json"]);
    let path = place.cache.path().join("hf/Org/Repo/m-F32.gguf");
    assert_eq!(
        (&found["name"], Path::new(found["path"].as_str().unwrap())),
        (&"hf:Org/Repo:f32".into(), &*path)
    );
    assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(micro()).unwrap());
    let asked = place.server.asked().len();
    assert_eq!(place.json(&["inspect", "hf:Org/Repo:F32", "--json"])["architecture"], "qwen2");
    assert_eq!(place.server.asked().len(), asked, "nobody is asked for what is there");
    // Without a QUANT it is another file, which every command fetches by itself.
    let tokens = place.json(&["tokenize", "-hf", "Org/Repo", "hello", "--json"]);
    assert_eq!(tokens, place.json(&["tokenize", micro(), "hello", "--json"]));
    assert!(place.cache.path().join("hf/Org/Repo/m-Q4_K_M.gguf").exists());
}

#[test]
fn every_command_that_takes_a_model_takes_a_repository_before_and_after_its_arguments() {
    let place = Place::new(hub());
    let options = ["-no-cnv", "--temp", "0", "-n", "2", "--json"];
    let plain = place.json(&[&["run", micro(), "hi"], &options[..]].concat());
    for arguments in [["run", "-hf", "Org/Repo", "hi"], ["run", "hi", "--hf-repo", "hf:Org/Repo"]] {
        let found = place.json(&[&arguments, &options[..]].concat());
        assert_eq!(found["tokens"], plain["tokens"]);
    }
    place.run(&["logits", "-hf", "Org/Repo", "--tokens", "1,2"]).expect(0);
    place.run(&["bench", "-hf", "Org/Repo", "-p", "2", "-n", "0", "-r", "1"]).expect(0);
    place.run(&["list", "-hf", "Org/Repo"]).refused(2, &["--hf-repo"]);
}

#[test]
fn a_url_is_a_model_and_its_file_is_fetched_once() {
    let place = Place::new(hub());
    let url = place.server.url("/files/own.gguf");
    let path = place.run(&["pull", &url]).expect(0).out;
    assert!(path.ends_with("own.gguf\n") && Path::new(path.trim()).starts_with(place.cache.path()), "{path}");
    assert_eq!(place.json(&["inspect", &url, "--json"])["architecture"], "qwen2");
    assert_eq!(place.server.asked().len(), 1);
    place.run(&["pull", &place.server.url("/files/none.gguf")]).refused(1, &["none.gguf", "404"]);
    place.run(&["pull", &place.server.url("/files/text.txt")]).refused(1, &["text.txt", ".gguf"]);
}

#[test]
fn a_download_that_was_cut_continues_in_the_next_run() {
    let model = std::fs::read(micro()).unwrap();
    let cut = model.len() / 4;
    let place = Place::new(Server::new(move |asked, n| match n {
        0 => answer(asked, &model).cut(cut),
        _ => answer(asked, &model),
    }));
    let ran = place.run(&["pull", &place.server.url("/files/own.gguf")]).expect(0);
    assert_eq!(std::fs::read(ran.out.trim()).unwrap(), std::fs::read(micro()).unwrap());
    assert_eq!(place.server.asked()[1].headers["range"], format!("bytes={cut}-"));
}

#[test]
fn the_mirror_that_is_asked_is_the_flag_and_gets_the_token() {
    let (place, other) = (Place::new(hub()), hub());
    let arguments = ["pull", "hf:Org/Repo:F32", "--mirror", &other.url("")];
    run(place.command(&arguments).env("HF_TOKEN", "hf_secret")).expect(0);
    assert_eq!((place.server.asked().len(), other.asked().len()), (0, 2));
    assert!(other.asked().iter().all(|asked| asked.headers["authorization"] == "Bearer hf_secret"));
    // Somebody else's URL does not.
    run(place.command(&["pull", &other.url("/files/own.gguf")]).env("HF_TOKEN", "hf_secret")).expect(0);
    assert!(!other.asked()[2].headers.contains_key("authorization"));
}

#[test]
fn what_the_hub_does_not_have_is_said_with_what_it_has() {
    let place = Place::new(hub());
    place.run(&["pull", "hf:Org/Repo:Q9"]).refused(1, &["Q9", "m-F32.gguf", "m-Q4_K_M.gguf"]);
    place.run(&["pull", "hf:Org/Repo:m"]).refused(1, &["several", "m-F32.gguf", "m-Q4_K_M.gguf"]);
    place.run(&["run", "hf:Org/None", "hi"]).refused(1, &["Org/None", "404"]);
    place.run(&["run", "hf:nonsense", "hi"]).refused(1, &["nonsense", "ORG/REPO"]);
    place.run(&["pull", "hf:Org/Repo", "--mirror", "ftp://x"]).refused(1, &["ftp://x"]);
}
