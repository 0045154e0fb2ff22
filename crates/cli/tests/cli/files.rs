//! Files that cannot be run, and files that the command writes.

use gguf::{ElementType, GgufFile, TensorInfo, Writer};
use serde_json::Value as Json;

use crate::support::{file, json, micro, minfer, tiny};

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

/// A whole model, but that one tensor is of a type that the engine does not compute with.
fn with_unsupported_type(name: &str) -> Vec<u8> {
    let model = GgufFile::open(tiny()).unwrap();
    let mut writer = Writer::new();
    for (key, value) in model.metadata().iter() {
        writer.key(key, value.clone()).unwrap();
    }
    for tensor in model.tensors() {
        let ty = if tensor.name == name { ElementType::IQ2_XXS } else { tensor.ty };
        writer.tensor(&tensor.name, &tensor.dims, ty).unwrap();
    }
    let bytes = |info: &TensorInfo| {
        let mut bytes = model.data(model.tensor(&info.name).unwrap()).to_vec();
        bytes.truncate(info.bytes as usize);
        bytes
    };
    writer.to_vec(bytes).unwrap()
}

#[test]
fn a_tensor_of_an_unsupported_type_is_shown_and_refused_with_types_that_would_serve() {
    let name = "blk.1.attn_q.weight";
    let (_folder, path) = file("odd.gguf", &with_unsupported_type(name));
    let found = json(&["inspect", &path, "--json"]);
    assert_eq!(found["runs"], false);
    assert_eq!(
        (&found["types"]["IQ2_XXS"]["tensors"], &found["types"]["IQ2_XXS"]["supported"]),
        (&1.into(), &false.into())
    );
    let others = found["types"].as_object().unwrap().iter().filter(|(ty, _)| *ty != "IQ2_XXS");
    assert!(others.map(|(_, counts)| &counts["supported"]).all(|supported| supported == true), "{found}");
    let expected = [name, "IQ2_XXS", "Q8_0", "Q4_K"];
    assert!(expected.iter().all(|word| found["why_not"].as_str().unwrap().contains(word)), "{found}");
    let shown = minfer(&["inspect", &path]).expect(0).out;
    assert!(shown.lines().any(|line| line.contains("IQ2_XXS") && line.contains("not supported")), "{shown}");
    minfer(&["run", &path, "hi"]).refused(1, &[&[&path[..]], &expected[..]].concat());
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
