//! Where redirects lead, and who gets the token.

use fetch::{Error, Options};

use crate::server::{Reply, Server};
use crate::support::{bytes, client, download, names, remote, sha256};

fn redirect(status: u16, to: &str) -> Reply {
    Reply::new(status, "").with("location", to)
}

#[test]
fn redirects_of_every_kind_are_followed_and_the_checksum_on_the_way_counts() {
    let sum = format!("\"{}\"", sha256(&bytes(1000)));
    let server = Server::new(move |asked, _| match asked.path.as_str() {
        "/x/301.gguf" => redirect(301, "302.gguf"),
        "/x/302.gguf" => redirect(302, "/307.gguf?signature=1").with("x-linked-etag", &sum),
        "/307.gguf?signature=1" => redirect(307, "/file.gguf"),
        _ => Reply::file(asked, &bytes(1000), "\"one\""),
    });
    let folder = tempfile::tempdir().unwrap();
    let file = remote(&server.url("/x/301.gguf"));
    assert_eq!(download(&client(Options::default()), &file, folder.path()).unwrap(), bytes(1000));
    let wrong = format!("\"{}\"", sha256(b""));
    let server = Server::new(move |asked, n| match n {
        0 => redirect(302, "/file.gguf").with("x-linked-etag", &wrong),
        _ => Reply::file(asked, &bytes(1000), "\"one\""),
    });
    let other = tempfile::tempdir().unwrap();
    let error =
        download(&client(Options::default()), &remote(&server.url("/m.gguf")), other.path()).unwrap_err();
    assert!(matches!(error, Error::Checksum { .. }), "{error}");
}

#[test]
fn the_tag_of_a_store_that_a_redirect_leads_to_is_no_checksum() {
    let tag = format!("\"{}\"", sha256(b"name of the file in the store"));
    let store = Server::new(move |asked, _| Reply::file(asked, &bytes(1000), &tag));
    let to = store.url("/blob");
    let hub = Server::new(move |_, _| redirect(302, &to));
    let folder = tempfile::tempdir().unwrap();
    let found = download(&client(Options::default()), &remote(&hub.url("/m.gguf")), folder.path());
    assert_eq!(found.unwrap(), bytes(1000));
}

#[test]
fn the_token_goes_to_the_mirror_and_to_nobody_else() {
    let elsewhere = Server::new(|asked, _| Reply::file(asked, &bytes(100), "\"one\""));
    let to = elsewhere.url("/m.gguf");
    let mirror = Server::new(move |asked, _| match asked.path.as_str() {
        "/away.gguf" => redirect(302, &to),
        "/here.gguf" => redirect(302, "/there.gguf"),
        _ => Reply::file(asked, &bytes(100), "\"one\""),
    });
    let options =
        Options { mirror: mirror.url(""), token: Some("hf_secret".to_owned()), ..Options::default() };
    let client = client(options);
    for url in [mirror.url("/away.gguf"), mirror.url("/here.gguf"), elsewhere.url("/own.gguf")] {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(download(&client, &remote(&url), folder.path()).unwrap(), bytes(100));
    }
    let token = |server: &Server| -> Vec<Option<String>> {
        server.asked().iter().map(|asked| asked.headers.get("authorization").cloned()).collect()
    };
    assert_eq!(token(&mirror), vec![Some("Bearer hf_secret".to_owned()); 3]);
    assert_eq!(token(&elsewhere), [None, None]);
}

#[test]
fn a_circle_and_a_redirect_to_nowhere_are_refused() {
    let server = Server::new(|asked, _| match asked.path.as_str() {
        "/circle.gguf" => redirect(302, "/circle.gguf"),
        "/file.gguf" => redirect(302, "http://user:secret@a.example/x"),
        _ => Reply::new(302, ""),
    });
    let folder = tempfile::tempdir().unwrap();
    for path in ["/circle.gguf", "/file.gguf", "/nowhere.gguf"] {
        let file = remote(&server.url(path));
        let error = download(&client(Options::default()), &file, folder.path()).unwrap_err();
        assert!(matches!(error, Error::Redirect { .. }), "{error}");
        assert!(names(folder.path()).is_empty());
    }
}

#[test]
fn an_interrupted_download_over_a_redirect_continues() {
    let store = Server::new(|asked, n| {
        let reply = Reply::file(asked, &bytes(10_000), "\"store\"");
        if n == 0 { reply.cut(4_000) } else { reply }
    });
    let to = store.url("/blob?signature=1");
    let hub = Server::new(move |_, _| redirect(302, &to));
    let folder = tempfile::tempdir().unwrap();
    let found = download(&client(Options::default()), &remote(&hub.url("/m.gguf")), folder.path());
    assert_eq!(found.unwrap(), bytes(10_000));
    assert_eq!(store.asked()[1].from(), Some(4_000));
    assert_eq!(store.asked()[1].headers["if-range"], "\"store\"");
}
