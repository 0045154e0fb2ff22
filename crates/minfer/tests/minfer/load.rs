//! Ways to load a model, and what they change.

use std::path::PathBuf;

use minfer::{LoadOptions, Model, Residence, RopeOverrides, RopeScalingKind, SessionOptions};
use tempfile::TempDir;

use crate::common::{session, tokens};

fn file() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    synthetic::write("llama", "micro", "Q8_0", 1, None, &path).unwrap();
    (folder, path)
}

fn hash(model: Model) -> u64 {
    let mut session = session(&model.into(), &SessionOptions::default());
    session.score(&tokens(60, 3), 0).unwrap().hash
}

#[test]
fn models_are_shared_between_threads_and_sessions_go_from_one_to_another() {
    fn shared<T: Send + Sync>() {}
    fn sent<T: Send>() {}
    shared::<Model>();
    shared::<minfer::Error>();
    sent::<minfer::Session>();
    sent::<minfer::Generation>();
}

#[test]
fn a_model_read_into_memory_answers_as_the_mapped_one_and_does_not_need_its_file() {
    let (folder, path) = file();
    let mapped = hash(Model::load(&path).unwrap());
    let options = LoadOptions { residence: Residence::Memory, ..LoadOptions::default() };
    let read = Model::load_with(&path, &options).unwrap();
    std::fs::write(&path, b"something else").unwrap();
    drop(folder);
    assert_eq!(hash(read), mapped);
}

#[test]
fn ropes_that_say_what_the_file_says_change_nothing_and_others_do() {
    let (_folder, path) = file();
    let with = |rope| hash(Model::load_with(&path, &LoadOptions { rope, ..LoadOptions::default() }).unwrap());
    let plain = with(RopeOverrides::default());
    let none = RopeOverrides { scaling: Some(RopeScalingKind::None), ..RopeOverrides::default() };
    assert_eq!(with(none), plain);
    let stated = Model::load(&path).unwrap().config().rope.base;
    assert_eq!(with(RopeOverrides { freq_base: Some(stated), ..RopeOverrides::default() }), plain);
    let others = [
        RopeOverrides { freq_base: Some(stated * 3.0), ..RopeOverrides::default() },
        RopeOverrides { freq_scale: Some(0.5), ..RopeOverrides::default() },
        RopeOverrides { scaling: Some(RopeScalingKind::Yarn), freq_scale: Some(0.5), freq_base: None },
    ];
    let mut hashes = others.map(with).to_vec();
    hashes.push(plain);
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 4, "each is another rotation");
}

#[test]
fn locked_weights_answer_as_before() {
    let (_folder, path) = file();
    let model = Model::load(&path).unwrap();
    if let Err(error) = model.lock_weights() {
        assert!(error.to_string().contains("locked in memory"), "{error}");
    }
    assert_eq!(hash(model), hash(Model::load(&path).unwrap()));
}
