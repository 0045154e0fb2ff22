//! One file: whole, in pieces, changed on the way, not there.

use std::fs::{self, File};
use std::ops::ControlFlow;

use fetch::{Error, Options, RemoteFile};

use crate::server::{Reply, Server};
use crate::support::{bytes, client, download, names, remote, sha256};

#[test]
fn a_file_arrives_whole_under_its_name_and_progress_ends_at_its_length() {
    let body = bytes(700_000);
    let served = body.clone();
    let server = Server::new(move |asked, _| Reply::file(asked, &served, "\"one\""));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/m.gguf");
    let mut seen = Vec::new();
    let mut progress = |done, total| {
        seen.push((done, total));
        ControlFlow::Continue(())
    };
    client(Options::default()).download(&remote(&server.url("/m.gguf")), &path, &mut progress).unwrap();
    assert_eq!(fs::read(&path).unwrap(), body);
    assert_eq!(names(path.parent().unwrap()), ["m.gguf"]);
    assert!(seen.is_sorted() && seen.last() == Some(&(700_000, Some(700_000))), "{seen:?}");
}

#[test]
fn a_cut_connection_continues_where_it_ended() {
    let body = bytes(300_000);
    let served = body.clone();
    let server = Server::new(move |asked, n| {
        let reply = Reply::file(asked, &served, "\"one\"");
        if n < 2 { reply.cut(100_000) } else { reply }
    });
    let folder = tempfile::tempdir().unwrap();
    let file = RemoteFile { sha256: Some(sha256(&body)), ..remote(&server.url("/m.gguf")) };
    assert_eq!(download(&client(Options::default()), &file, folder.path()).unwrap(), body);
    let asked = server.asked();
    let from: Vec<_> = asked.iter().map(|asked| asked.from()).collect();
    assert_eq!(from, [None, Some(100_000), Some(200_000)]);
    assert!(asked[1..].iter().all(|asked| asked.headers["if-range"] == "\"one\""));
    assert_eq!(names(folder.path()), ["m.gguf"]);
}

#[test]
fn a_connection_that_is_always_cut_is_given_up_and_a_later_call_continues() {
    let body = bytes(100_000);
    let served = body.clone();
    let server = Server::new(move |asked, n| {
        let reply = Reply::file(asked, &served, "\"one\"");
        if n < 3 { reply.cut(10_000) } else { reply }
    });
    let folder = tempfile::tempdir().unwrap();
    let file = remote(&server.url("/m.gguf"));
    let error = download(&client(Options::default()), &file, folder.path()).unwrap_err();
    assert!(matches!(error, Error::Connection { .. }), "{error}");
    assert_eq!(server.asked().len(), 3, "as many attempts as are allowed");
    assert_eq!(names(folder.path()), ["m.gguf.part", "m.gguf.part.lock"]);
    assert_eq!(download(&client(Options::default()), &file, folder.path()).unwrap(), body);
    assert_eq!(server.asked()[3].from(), Some(30_000));
    assert_eq!(names(folder.path()), ["m.gguf"]);
}

#[test]
fn a_server_that_ignores_ranges_sends_the_file_from_its_beginning() {
    let body = bytes(200_000);
    let served = body.clone();
    let server = Server::new(move |_, n| {
        let reply = Reply::new(200, served.clone()).with("etag", "\"one\"");
        if n == 0 { reply.cut(50_000) } else { reply }
    });
    let folder = tempfile::tempdir().unwrap();
    let file = RemoteFile { sha256: Some(sha256(&body)), ..remote(&server.url("/m.gguf")) };
    assert_eq!(download(&client(Options::default()), &file, folder.path()).unwrap(), body);
    assert_eq!(server.asked()[1].from(), Some(50_000));
}

#[test]
fn without_a_proof_that_the_file_is_the_same_nothing_is_continued() {
    let body = bytes(90_000);
    let served = body.clone();
    let server = Server::new(move |_, n| {
        let reply = Reply::new(200, served.clone()).with("etag", "W/\"weak\"");
        if n == 0 { reply.cut(50_000) } else { reply }
    });
    let folder = tempfile::tempdir().unwrap();
    let found = download(&client(Options::default()), &remote(&server.url("/m.gguf")), folder.path());
    assert_eq!(found.unwrap(), body);
    assert_eq!(server.asked()[1].from(), None);
}

#[test]
fn a_file_that_changed_between_attempts_is_fetched_anew() {
    let (old, new) = (bytes(80_000), vec![9; 90_000]);
    // Honest servers send all of the new file; others let the tag or the length of the whole show it.
    for liar in [false, true] {
        let (old, served) = (old.clone(), new.clone());
        let server = Server::new(move |asked, n| match (n, liar) {
            (0, _) => Reply::file(asked, &old, "\"old\"").cut(30_000),
            (1, true) => {
                let rest = &served[30_000..];
                Reply::new(206, rest).with("content-range", "bytes 30000-89999/90000").with("etag", "\"new\"")
            }
            _ => Reply::file(asked, &served, "\"new\""),
        });
        let folder = tempfile::tempdir().unwrap();
        let found = download(&client(Options::default()), &remote(&server.url("/m.gguf")), folder.path());
        assert!(found.unwrap() == new);
        assert_eq!(server.asked().len(), if liar { 3 } else { 2 });
    }
}

#[test]
fn a_part_of_another_url_or_without_a_note_is_not_continued() {
    let body = bytes(50_000);
    let served = body.clone();
    let server = Server::new(move |asked, n| {
        let reply = Reply::file(asked, &served, "\"one\"");
        if n < 3 { reply.cut(5_000) } else { reply }
    });
    let folder = tempfile::tempdir().unwrap();
    let client = client(Options::default());
    download(&client, &remote(&server.url("/a/m.gguf")), folder.path()).unwrap_err();
    assert_eq!(download(&client, &remote(&server.url("/b/m.gguf")), folder.path()).unwrap(), body);
    assert_eq!(server.asked()[3].from(), None);
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("m.gguf.part"), [1; 100]).unwrap();
    assert_eq!(download(&client, &remote(&server.url("/m.gguf")), other.path()).unwrap(), body);
}

#[test]
fn a_length_other_than_the_promised_one_is_refused() {
    let server = Server::new(|asked, _| Reply::file(asked, &bytes(1000), "\"one\""));
    let folder = tempfile::tempdir().unwrap();
    let file = RemoteFile { bytes: Some(1001), ..remote(&server.url("/m.gguf")) };
    let error = download(&client(Options::default()), &file, folder.path()).unwrap_err();
    assert!(matches!(error, Error::Length { expected: 1001, found: 1000, .. }), "{error}");
    assert!(names(folder.path()).is_empty());
    assert_eq!(server.asked().len(), 1, "another attempt would not help");
}

#[test]
fn a_file_larger_than_allowed_is_refused_also_if_its_length_is_not_told() {
    let server = Server::new(|asked, _| match asked.path.as_str() {
        "/told.gguf" => Reply::new(200, bytes(5000)),
        _ => {
            let chunk = [b"1388\r\n", &bytes(5000)[..], b"\r\n0\r\n\r\n"].concat();
            Reply::new(200, chunk).with("transfer-encoding", "chunked")
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let client = client(Options { bytes_max: 4999, ..Options::default() });
    for path in ["/told.gguf", "/untold.gguf"] {
        let error = download(&client, &remote(&server.url(path)), folder.path()).unwrap_err();
        assert!(matches!(error, Error::TooLarge { bytes_max: 4999, .. }), "{error}");
        assert!(names(folder.path()).is_empty());
    }
}

#[test]
fn a_file_of_untold_length_arrives_whole_and_a_cut_one_does_not() {
    let server = Server::new(|asked, _| {
        let chunk = [b"1388\r\n", &bytes(5000)[..], b"\r\n0\r\n\r\n"].concat();
        let reply = Reply::new(200, chunk).with("transfer-encoding", "chunked");
        if asked.path == "/cut.gguf" { reply.cut(3000) } else { reply }
    });
    let folder = tempfile::tempdir().unwrap();
    let client = client(Options::default());
    assert_eq!(download(&client, &remote(&server.url("/m.gguf")), folder.path()).unwrap(), bytes(5000));
    let other = tempfile::tempdir().unwrap();
    let error = download(&client, &remote(&server.url("/cut.gguf")), other.path()).unwrap_err();
    assert!(matches!(error, Error::Connection { .. }), "{error}");
    assert!(!other.path().join("m.gguf").exists());
}

#[test]
fn a_wrong_checksum_is_refused_and_nothing_is_kept() {
    let wrong = sha256(b"something else");
    let tag = format!("\"{wrong}\"");
    // Told by the caller, by a header of the hub, or by a tag that is one.
    let server = Server::new(move |asked, _| match asked.path.as_str() {
        "/linked.gguf" => Reply::file(asked, &bytes(1000), "\"one\"").with("x-linked-etag", &tag),
        "/tag.gguf" => Reply::file(asked, &bytes(1000), &tag),
        _ => Reply::file(asked, &bytes(1000), "\"one\""),
    });
    let told = RemoteFile { sha256: Some(wrong.to_uppercase()), ..remote(&server.url("/told.gguf")) };
    for file in [told, remote(&server.url("/linked.gguf")), remote(&server.url("/tag.gguf"))] {
        let folder = tempfile::tempdir().unwrap();
        let error = download(&client(Options::default()), &file, folder.path()).unwrap_err();
        let words = error.to_string();
        assert!(words.contains(&wrong) && words.contains(&sha256(&bytes(1000))), "{words}");
        assert!(names(folder.path()).is_empty());
    }
}

#[test]
fn a_damaged_part_is_noticed_and_fetched_anew() {
    let body = bytes(60_000);
    let served = body.clone();
    let server = Server::new(move |asked, n| {
        let reply = Reply::file(asked, &served, "\"one\"");
        if n < 3 { reply.cut(10_000) } else { reply }
    });
    let folder = tempfile::tempdir().unwrap();
    let file = RemoteFile { sha256: Some(sha256(&body)), ..remote(&server.url("/m.gguf")) };
    let client = client(Options::default());
    download(&client, &file, folder.path()).unwrap_err();
    let part = folder.path().join("m.gguf.part");
    let mut damaged = fs::read(&part).unwrap();
    damaged[5] ^= 1;
    fs::write(&part, damaged).unwrap();
    assert_eq!(download(&client, &file, folder.path()).unwrap(), body);
    let from: Vec<_> = server.asked()[3..].iter().map(|asked| asked.from()).collect();
    assert_eq!(from, [Some(30_000), None]);
}

#[test]
fn refusals_say_which_kind_and_are_not_repeated() {
    let server = Server::new(|asked, _| Reply::new(asked.path[1..4].parse().unwrap(), "no"));
    let folder = tempfile::tempdir().unwrap();
    let refusal = |status| {
        let file = remote(&server.url(&format!("/{status}/m.gguf?secret=1")));
        let before = server.asked().len();
        let error = download(&client(Options::default()), &file, folder.path()).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
        assert!(names(folder.path()).is_empty());
        (error, server.asked().len() - before)
    };
    assert!(matches!(refusal(404), (Error::NotFound { status: 404, .. }, 1)));
    assert!(matches!(refusal(401), (Error::Denied { status: 401, token: false, .. }, 1)));
    assert!(matches!(refusal(403), (Error::Denied { status: 403, .. }, 1)));
    assert!(matches!(refusal(418), (Error::Status { status: 418, .. }, 1)));
    assert!(matches!(refusal(503), (Error::Status { status: 503, .. }, 3)));
    assert!(matches!(refusal(429), (Error::Status { status: 429, .. }, 3)));
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let server = Server::new(|_, _| Reply::new(200, ""));
    let url = server.url("/m.gguf");
    drop(server);
    let folder = tempfile::tempdir().unwrap();
    let error = download(&client(Options::default()), &remote(&url), folder.path()).unwrap_err();
    assert!(error.to_string().contains(&url), "{error}");
    assert!(names(folder.path()).is_empty());
}

#[test]
fn the_callback_stops_a_download_and_the_next_call_continues_it() {
    let body = bytes(2_000_000);
    let served = body.clone();
    let server = Server::new(move |asked, _| Reply::file(asked, &served, "\"one\""));
    let folder = tempfile::tempdir().unwrap();
    let (file, path) = (remote(&server.url("/m.gguf")), folder.path().join("m.gguf"));
    let client = client(Options::default());
    let mut stop =
        |done, _| if done > 1_000_000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    assert!(matches!(client.download(&file, &path, &mut stop), Err(Error::Cancelled)));
    assert!(!path.exists());
    assert!(download(&client, &file, folder.path()).unwrap() == body);
    assert!(server.asked()[1].from().unwrap() > 1_000_000);
}

#[test]
fn the_part_grows_in_pieces_that_end_at_multiples_of_their_size_also_when_continued() {
    const PIECE: u64 = 2 << 20;
    let body = bytes(2 * PIECE as usize + 1000);
    let served = body.clone();
    let server = Server::new(move |asked, _| Reply::file(asked, &served, "\"one\""));
    let folder = tempfile::tempdir().unwrap();
    let (file, path) = (remote(&server.url("/m.gguf")), folder.path().join("m.gguf"));
    let on_disk = || fs::metadata(folder.path().join("m.gguf.part")).unwrap().len();
    let client = client(Options::default());
    let mut stop =
        |done, _| if done > 1_000_000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    assert!(matches!(client.download(&file, &path, &mut stop), Err(Error::Cancelled)));
    let first = on_disk();
    assert!(first > 1_000_000, "what was received is kept: {first}");
    let mut lengths = Vec::new();
    let mut progress = |_, _| {
        lengths.push(on_disk());
        ControlFlow::Continue(())
    };
    client.download(&file, &path, &mut progress).unwrap();
    lengths.dedup();
    assert_eq!(lengths, [first, PIECE, 2 * PIECE]);
    assert!(fs::read(&path).unwrap() == body);
}

#[test]
fn two_downloads_of_one_file_do_not_write_over_each_other() {
    let server = Server::new(|asked, _| Reply::file(asked, &bytes(100), "\"one\""));
    let folder = tempfile::tempdir().unwrap();
    let lock = File::create(folder.path().join("m.gguf.part.lock")).unwrap();
    lock.lock().unwrap();
    let file = remote(&server.url("/m.gguf"));
    let error = download(&client(Options::default()), &file, folder.path()).unwrap_err();
    assert!(matches!(error, Error::Busy { .. }), "{error}");
    drop(lock);
    assert_eq!(download(&client(Options::default()), &file, folder.path()).unwrap(), bytes(100));
}

#[test]
fn a_file_that_is_there_is_kept_unless_its_length_is_wrong() {
    let server = Server::new(|asked, _| Reply::file(asked, &bytes(100), "\"one\""));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("m.gguf"), [1; 99]).unwrap();
    let file = remote(&server.url("/m.gguf"));
    assert_eq!(download(&client(Options::default()), &file, folder.path()).unwrap(), [1; 99]);
    let file = RemoteFile { bytes: Some(100), ..file };
    assert_eq!(download(&client(Options::default()), &file, folder.path()).unwrap(), bytes(100));
    assert_eq!(server.asked().len(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_named_and_a_compressed_answer_refused() {
    let server = Server::new(|asked, _| {
        let reply = Reply::file(asked, &bytes(100), "\"one\"");
        if asked.path == "/gzip.gguf" { reply.with("content-encoding", "gzip") } else { reply }
    });
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/full", folder.path().join("m.gguf.part")).unwrap();
    let error =
        download(&client(Options::default()), &remote(&server.url("/m.gguf")), folder.path()).unwrap_err();
    assert!(matches!(error, Error::DiskFull { done: 0, total: Some(100), .. }), "{error}");
    let error =
        download(&client(Options::default()), &remote(&server.url("/gzip.gguf")), folder.path()).unwrap_err();
    assert!(matches!(error, Error::Answer { .. }) && error.to_string().contains("gzip"), "{error}");
}
