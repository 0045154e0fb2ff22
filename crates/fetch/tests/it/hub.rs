//! References: what a repository's listing says, and what is made of it.

use fetch::{Error, Options};

use crate::server::{Asked, Reply, Server};
use crate::support::{bytes, client, download, names, sha256};

const TREE: &str = "/api/models/Org/Repo/tree/main?recursive=1";

fn entry(path: &str, body: &[u8]) -> String {
    let (size, oid) = (body.len(), sha256(body));
    format!(
        r#"{{"type":"file","path":"{path}","size":{size},"oid":"1","lfs":{{"oid":"{oid}","size":{size}}}}}"#
    )
}

fn tree(entries: &[String]) -> Reply {
    Reply::new(200, format!("[{}]", entries.join(",")))
}

fn body_of(asked: &Asked) -> Vec<u8> {
    bytes(1000 + asked.path.len())
}

fn hub(entries: Vec<String>) -> Server {
    Server::new(move |asked, _| match asked.path.as_str() {
        TREE => tree(&entries),
        _ => Reply::file(asked, &body_of(asked), "\"one\""),
    })
}

fn at(server: &Server) -> fetch::Client {
    client(Options { mirror: server.url(""), ..Options::default() })
}

#[test]
fn a_reference_becomes_the_file_with_its_length_and_checksum() {
    let path = "/Org/Repo/resolve/main/sub%20dir/m-Q4_0.gguf";
    let body = bytes(1000 + path.len());
    let server = hub(vec![
        entry("m-Q8_0.gguf", b"other"),
        entry("sub dir/m-Q4_0.gguf", &body),
        r#"{"type":"directory","path":"sub dir"}"#.to_owned(),
        entry("mmproj-m-Q4_0.gguf", b"eyes"),
        entry("README.md", b"text"),
    ]);
    let client = at(&server);
    let files = client.find(&"hf:Org/Repo:q4_0".parse().unwrap()).unwrap();
    assert_eq!(files.len(), 1);
    assert_eq!(
        (files[0].bytes, files[0].sha256.as_deref()),
        (Some(body.len() as u64), Some(&sha256(&body)[..]))
    );
    assert_eq!(files[0].url, server.url(path));
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(download(&client, &files[0], folder.path()).unwrap(), body);
    assert!(folder.path().join("sub dir/m-Q4_0.gguf").exists());
    // Something else than the tree promised is not kept.
    let swapped = fetch::RemoteFile { sha256: Some(sha256(b"x")), name: "n.gguf".into(), ..files[0].clone() };
    assert!(matches!(download(&client, &swapped, folder.path()), Err(Error::Checksum { .. })));
}

#[test]
fn a_mirror_without_a_tree_is_asked_for_the_names() {
    let server = Server::new(|asked, _| match asked.path.as_str() {
        "/api/models/Org/Repo" => {
            Reply::new(200, r#"{"siblings":[{"rfilename":"m.gguf"},{"rfilename":"x.md"}]}"#)
        }
        _ => Reply::new(404, ""),
    });
    let files = at(&server).find(&"Org/Repo".parse().unwrap()).unwrap();
    assert_eq!((files[0].name.as_str(), files[0].bytes, files.len()), ("m.gguf", None, 1));
    let empty = Server::new(|_, _| Reply::new(404, ""));
    assert!(matches!(at(&empty).find(&"Org/Repo".parse().unwrap()), Err(Error::NotFound { .. })));
}

#[test]
fn a_listing_of_several_pages_is_read_to_its_end() {
    let server = Server::new(|asked, _| match asked.path.as_str() {
        TREE => {
            let next = format!("<{TREE}&cursor=2>; rel=\"next\"");
            tree(&[entry("m-Q8_0.gguf", b"one")]).with("link", &next)
        }
        _ => tree(&[entry("m-Q4_0.gguf", b"two")]),
    });
    let files = at(&server).find(&"Org/Repo".parse().unwrap()).unwrap();
    assert_eq!(files[0].name, "m-Q4_0.gguf");
    let endless = Server::new(|_, _| tree(&[]).with("link", &format!("<{TREE}>; rel=\"next\"")));
    assert!(matches!(at(&endless).find(&"Org/Repo".parse().unwrap()), Err(Error::Answer { .. })));
}

#[test]
fn all_parts_of_a_split_model_arrive_side_by_side() {
    let name = |i: usize| format!("Q8_0/m-0000{i}-of-00003.gguf");
    let length = 1000 + "/Org/Repo/resolve/main/".len() + name(1).len();
    let server = hub([3, 1, 2].iter().map(|i| entry(&name(*i), &bytes(length))).collect());
    let client = at(&server);
    let folder = tempfile::tempdir().unwrap();
    let files = client.find(&"Org/Repo".parse().unwrap()).unwrap();
    for (i, file) in files.iter().enumerate() {
        assert_eq!(file.name, name(i + 1));
        download(&client, file, folder.path()).unwrap();
    }
    assert_eq!(names(&folder.path().join("Q8_0")).len(), 3);
}

#[test]
fn several_that_fit_none_that_fits_and_a_missing_part_are_errors_that_list_files() {
    let all = ["m-Q4_K_S.gguf", "m-Q4_K_M.gguf", "n-00001-of-00002.gguf"].map(|name| entry(name, b"x"));
    let server = hub(all.to_vec());
    let refused = |reference: &str, words: &[&str]| {
        let error = at(&server).find(&reference.parse().unwrap()).unwrap_err().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    };
    refused("Org/Repo:Q4_K", &["Org/Repo", "m-Q4_K_S.gguf", "m-Q4_K_M.gguf"]);
    refused("Org/Repo:Q9", &["Q9", "m-Q4_K_S.gguf", "n-00001-of-00002.gguf"]);
    refused("Org/Repo:n", &["part 2 of 2", "n-00001-of-00002.gguf"]);
}

#[test]
fn hostile_names_in_a_listing_never_become_paths() {
    for name in
        ["../../evil-Q4_0.gguf", "/tmp/evil-Q4_0.gguf", "a/../../evil-Q4_0.gguf", ".ssh/evil-Q4_0.gguf"]
    {
        let server = hub(vec![entry(name, b"x")]);
        let error = at(&server).find(&"Org/Repo:Q4_0".parse().unwrap()).unwrap_err();
        assert!(matches!(error, Error::Name { .. }), "{error}");
        assert_eq!(server.asked().len(), 1);
    }
}

#[test]
fn listings_that_are_no_listing_are_refused() {
    for body in ["", "[", "{}", "\"text\"", "null"] {
        let server = Server::new(move |_, _| Reply::new(200, body));
        let error = at(&server).find(&"Org/Repo".parse().unwrap()).unwrap_err();
        assert!(matches!(error, Error::Answer { .. }), "{body}: {error}");
    }
    let server = Server::new(|_, _| Reply::new(200, r#"[1,{"type":"file"},{"type":"file","path":7}]"#));
    assert!(matches!(at(&server).find(&"Org/Repo".parse().unwrap()), Err(Error::NoFile { .. })));
    let server = Server::new(|_, _| Reply::new(200, vec![b' '; (16 << 20) + 1]));
    assert!(matches!(at(&server).find(&"Org/Repo".parse().unwrap()), Err(Error::TooLarge { .. })));
}

#[test]
fn a_private_repository_says_so_and_a_busy_hub_is_asked_again() {
    let server = Server::new(|_, _| Reply::new(401, ""));
    let error = at(&server).find(&"Org/Repo".parse().unwrap()).unwrap_err();
    assert!(matches!(error, Error::Denied { .. }) && error.to_string().contains("token"), "{error}");
    let server =
        Server::new(|_, n| if n == 0 { Reply::new(503, "") } else { tree(&[entry("m.gguf", b"x")]) });
    assert_eq!(at(&server).find(&"Org/Repo".parse().unwrap()).unwrap().len(), 1);
}

#[test]
fn settings_that_are_no_urls_are_refused() {
    let mirror = Options { mirror: "huggingface.co".to_owned(), ..Options::default() };
    assert!(matches!(fetch::Client::new(mirror), Err(Error::Url { .. })));
    let proxy = Options { proxy: Some("not a proxy".to_owned()), ..Options::default() };
    assert!(matches!(fetch::Client::new(proxy), Err(Error::Proxy)));
}
