//! Files that cannot be run, and files that the command writes.

use gguf::{ElementType, Writer};
use serde_json::Value as Json;

use crate::support::{file, json, micro, minfer};

#[test]
fn a_file_of_an_unknown_architecture_is_shown_and_not_run() {
    let mut writer = Writer::new();
    writer.key("general.architecture", "mystery").unwrap();
    writer.tensor("some.weight", &[4, 2], ElementType::F32).unwrap();
    let (_folder, path) = file("mystery.gguf", &writer.to_vec(|_| vec![0; 32]).unwrap());
    let found = json(&["inspect", &path, "--json"]);
    assert_eq!((&found["architecture"], &found["runs"]), (&"mystery".into(), &false.into()));
    assert!(found["why_not"].as_str().unwrap().contains("mystery"), "{found}");
    assert_eq!(found["parameters"], 8);
    assert_eq!(found["tensors"][0]["dims"], serde_json::json!([4, 2]));
    let shown = minfer(&["inspect", &path]).expect(0).out;
    assert!(shown.contains("some.weight") && !shown.contains("null"), "{shown}");
    minfer(&["run", &path, "hi"]).refused(1, &[&path, "mystery"]);
}

#[test]
fn an_empty_valid_file_is_shown_and_not_run() {
    let (_folder, path) = file("empty.gguf", &Writer::new().to_vec(|_| vec![]).unwrap());
    let found = json(&["inspect", &path, "--json"]);
    assert_eq!((&found["architecture"], &found["runs"]), (&Json::Null, &false.into()));
    assert_eq!((&found["tensors"], &found["parameters"]), (&Json::Array(vec![]), &0.into()));
    assert!(found["why_not"].is_string());
    let shown = minfer(&["inspect", &path]).expect(0).out;
    assert!(!shown.contains("null"), "{shown}");
    minfer(&["run", &path, "hi"]).refused(1, &[&path, "general.architecture"]);
}

#[test]
fn a_graph_is_written_in_the_format_that_its_name_asks_for() {
    let folder = tempfile::tempdir().unwrap();
    let dump = |name: &str, options: &[&str]| {
        let path = folder.path().join(name);
        let arguments = ["logits", micro(), "--tokens", "1,2", "--dump-graph", path.to_str().unwrap()];
        minfer(&[&arguments, options].concat()).expect(0);
        std::fs::read_to_string(path).unwrap()
    };
    let graph: Json = serde_json::from_str(&dump("graph.json", &[])).unwrap();
    let nodes = graph["nodes"].as_array().unwrap();
    assert!(nodes.iter().any(|node| node["layer"] == 1), "{graph}");
    let dot = dump("graph.dot", &[]);
    assert!(dot.starts_with("digraph") && dot.trim_end().ends_with('}'));
    assert_eq!(dot.matches('{').count(), dot.matches('}').count());
    assert!(dot.matches(" -> ").count() >= nodes.len() && dot.matches("label=").count() > nodes.len());
    assert!(dump("graph.txt", &[]).lines().count() > 10);
    assert_eq!(dump("again.dot", &["-t", "1"]), dot);
}

#[test]
fn a_graph_file_of_another_kind_or_place_is_refused() {
    let arguments = |path| ["logits", micro(), "--tokens", "1", "--dump-graph", path];
    minfer(&arguments("graph.png")).refused(2, &["--dump-graph", "graph.png", ".dot"]);
    minfer(&arguments("no/such/graph.dot")).refused(1, &["no/such/graph.dot"]);
}
