//! Sequences in files: what comes back is what went out, bit for bit, and nothing in a file is taken on trust.

use std::io::{Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use minfer::{
    DType, Error, GenerateOptions, Generation, LoadOptions, Model, RopeOverrides, RuntimeError, Sampling,
    SavedError, Session, SessionOptions,
};
use sha2::{Digest, Sha256};

use crate::common::{file, model, session, session_on, tokens};

const CONTINUE: ControlFlow<()> = ControlFlow::Continue(());

fn options(n_ctx: usize) -> SessionOptions {
    SessionOptions { n_ctx, n_ubatch: 64, ..SessionOptions::default() }
}

fn sampled(n: usize) -> GenerateOptions {
    let sampling = Sampling { temperature: 2.0, seed: 5, ..Sampling::default() };
    let n_predict = Some(n);
    GenerateOptions { n_predict, sampling, logprobs: Some(1), ignore_eos: true, ..GenerateOptions::default() }
}

/// Tokens, and how likely each was.
fn bits(generation: &Generation) -> Vec<(u32, u64)> {
    generation.logprobs.iter().map(|l| (l.id, l.logprob.to_bits())).collect()
}

/// A folder and a file in it with a sequence of so many tokens.
fn saved(session: &mut Session, n: usize) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("saved.kv");
    let mut sequence = session.sequence();
    assert_eq!(session.read(&mut sequence, &tokens(n, 1), &mut |_| CONTINUE).unwrap(), 0);
    let bytes = session.save(&sequence, &path).unwrap();
    assert_eq!(bytes, std::fs::metadata(&path).unwrap().len());
    session.remove(sequence).unwrap();
    (folder, path)
}

/// Models, the types of keys and values, and whether weights are dequantized.
fn kinds() -> Vec<(Arc<Model>, SessionOptions)> {
    let with = |type_k, type_v| SessionOptions { type_k, type_v, ..options(256) };
    vec![
        (model("llama", "micro", "Q8_0"), options(256)),
        (model("llama", "tiny", "Q4_0"), with(DType::Q8_0, DType::Q8_0)),
        (model("llama", "tiny", "Q4_0"), with(DType::Q8_0, DType::F32)),
        (model("gemma3", "micro", "Q8_0"), options(256)),
        (model("gemma2", "micro", "F32"), with(DType::Q8_0, DType::BF16)),
        (model("llama", "micro", "Q8_0"), SessionOptions { reference: true, ..options(256) }),
    ]
}

#[test]
fn a_loaded_sequence_answers_as_if_it_had_never_left_and_computes_only_what_is_new() {
    for (model, options) in kinds() {
        for n in [1, 33, 100] {
            let mut first = session(&model, &options);
            let (_folder, path) = saved(&mut first, n);
            let prompt = [tokens(n, 1), tokens(7, 2)].concat();
            let expected = first.generate(&prompt, &sampled(40), &mut |_| CONTINUE).unwrap();

            // Other threads, batches and context.
            let other = SessionOptions { n_ctx: n + 60, n_ubatch: 16, ..options };
            let mut second = session_on(1, &model, &other);
            let mut sequence = second.load(&path).unwrap();
            assert_eq!(sequence.tokens(), tokens(n, 1));
            let found = second.generate_in(&mut sequence, &prompt, &sampled(40), &mut |_| CONTINUE).unwrap();
            assert_eq!((found.cached_tokens, expected.cached_tokens), (n, 0));
            assert_eq!((bits(&found), &found.text), (bits(&expected), &expected.text), "{n}");
            // All of the answer but its last token.
            assert_eq!(sequence.tokens(), [&prompt[..], &expected.tokens[..39]].concat());
            second.remove(sequence).unwrap();
            assert_eq!(second.memory().kv_bytes_committed, 0);
        }
    }
}

#[test]
fn turns_in_one_sequence_answer_as_whole_prompts_do() {
    for (model, options) in kinds() {
        let (mut kept, mut fresh) = (session(&model, &options), session(&model, &options));
        let mut sequence = kept.sequence();
        let mut prompt = tokens(20, 1);
        for turn in 0..4 {
            let known = sequence.tokens().len();
            let found = kept.generate_in(&mut sequence, &prompt, &sampled(15), &mut |_| CONTINUE).unwrap();
            let expected = fresh.generate(&prompt, &sampled(15), &mut |_| CONTINUE).unwrap();
            assert_eq!((bits(&found), found.cached_tokens), (bits(&expected), known), "turn {turn}");
            prompt.extend(&found.tokens);
            prompt.extend(tokens(9, 10 + turn));
        }
        // Another beginning: what differs is computed, and where windows let go of what that sees, all of it.
        prompt[50] ^= 1;
        let found = kept.generate_in(&mut sequence, &prompt, &sampled(15), &mut |_| CONTINUE).unwrap();
        let expected = fresh.generate(&prompt, &sampled(15), &mut |_| CONTINUE).unwrap();
        assert_eq!(bits(&found), bits(&expected));
        assert_eq!(found.cached_tokens, if model.config().window.is_some() { 0 } else { 50 });
    }
}

#[test]
fn a_sink_that_ends_the_reading_leaves_the_first_tokens() {
    let mut session = session(&model("llama", "micro", "Q8_0"), &options(256));
    let mut sequence = session.sequence();
    let (prompt, mut calls) = (tokens(200, 1), 0);
    let mut twice = |_: minfer::Event| {
        calls += 1;
        if calls > 2 { ControlFlow::Break(()) } else { CONTINUE }
    };
    session.read(&mut sequence, &prompt, &mut twice).unwrap();
    assert_eq!(sequence.tokens(), &prompt[..128]);
    assert_eq!(session.read(&mut sequence, &prompt, &mut |_| CONTINUE).unwrap(), 128);
    let long = session.read(&mut sequence, &tokens(257, 1), &mut |_| CONTINUE).unwrap_err();
    assert!(matches!(long, Error::PromptTooLong { prompt: 257, n_ctx: 256 }));
    assert_eq!(sequence.tokens(), prompt);
}

/// Why a file is refused. Nothing of it stays.
#[track_caller]
fn refusal(session: &mut Session, path: &std::path::Path) -> SavedError {
    let before = session.memory();
    let error = match session.load(path) {
        Err(Error::Saved { path: named, error }) => {
            assert_eq!(named, path);
            *error
        }
        Err(other) => panic!("{other}"),
        Ok(sequence) => panic!("a sequence of {} tokens", sequence.tokens().len()),
    };
    assert_eq!(session.memory(), before);
    error
}

#[test]
fn a_file_that_ends_anywhere_too_early_or_goes_on_is_refused() {
    for arch in ["llama", "gemma3"] {
        let mut session = session(&model(arch, "micro", "Q8_0"), &options(64));
        let (_folder, path) = saved(&mut session, 3);
        let whole = std::fs::read(&path).unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        for n in (0..whole.len()).rev() {
            file.set_len(n as u64).unwrap();
            match refusal(&mut session, &path) {
                SavedError::NotSaved { found, .. } => assert_eq!(found, whole[..n.min(8)]),
                SavedError::Length { found, expected } => {
                    assert_eq!((found, expected), (n as u64, if n < 192 { 192 } else { whole.len() as u64 }));
                }
                other => panic!("{n} bytes: {other}"),
            }
        }
        std::fs::write(&path, [&whole[..], b"x"].concat()).unwrap();
        let error = refusal(&mut session, &path).to_string();
        assert!(error.contains(&format!("{} bytes, expected {}", whole.len() + 1, whole.len())), "{error}");
    }
}

#[test]
fn any_bit_that_changed_is_noticed_and_told_with_the_section() {
    for arch in ["llama", "gemma3"] {
        let mut session = session(&model(arch, "micro", "Q8_0"), &options(64));
        let (_folder, path) = saved(&mut session, 3);
        let bytes = std::fs::read(&path).unwrap();
        let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        let mut put = |at: usize, byte: u8| {
            file.seek(SeekFrom::Start(at as u64)).unwrap();
            file.write_all(&[byte]).unwrap();
        };
        for (at, byte) in bytes.iter().enumerate() {
            put(at, byte ^ (1 << (at % 8)));
            let error = refusal(&mut session, &path);
            let expected = match at {
                0..8 => None,
                8..12 => Some(""),
                12..192 => Some("header"),
                192..236 => Some("list of tokens"),
                _ => Some("cache"),
            };
            match (&error, expected) {
                (SavedError::NotSaved { .. }, None) | (SavedError::Version { expected: 1, .. }, Some("")) => {
                }
                (SavedError::Damaged { section, from, to, .. }, Some(expected)) => {
                    assert_eq!(*section, expected, "byte {at}");
                    assert!((*from..*to + 32).contains(&(at as u64)), "byte {at}: {error}");
                }
                _ => panic!("byte {at}: {error}"),
            }
            put(at, *byte);
        }
        session.load(&path).unwrap();
    }
}

/// The file with other bytes in its header, whose checksum is right again.
fn with_header(bytes: &[u8], at: usize, new: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + new.len()].copy_from_slice(new);
    let sum = Sha256::digest(&bytes[..160]);
    bytes[160..192].copy_from_slice(&sum);
    bytes
}

#[test]
fn numbers_that_lie_are_refused_before_anything_is_reserved_for_them() {
    for arch in ["llama", "gemma3"] {
        let mut session = session(&model(arch, "micro", "Q8_0"), &options(256));
        let (folder, path) = saved(&mut session, 100);
        let whole = std::fs::read(&path).unwrap();
        let lying = folder.path().join("lying.kv");
        let rows = u64::from_le_bytes(*whole[152..].first_chunk().unwrap());
        for at in [136, 144, 152] {
            let true_value = u64::from_le_bytes(*whole[at..].first_chunk().unwrap());
            for value in [u64::MAX, u64::MAX - 31, 1 << 63, u64::from(u32::MAX), 257, 99, 96, 65, 32, 1, 0] {
                if value == true_value {
                    continue;
                }
                std::fs::write(&lying, with_header(&whole, at, &value.to_le_bytes())).unwrap();
                let error = refusal(&mut session, &lying);
                match (at, &error) {
                    (136, SavedError::Context { positions, n_ctx: 256 }) => assert_eq!(*positions, value),
                    (136, SavedError::Stated { .. }) => assert!(value <= 256),
                    // Windows that begin in the middle of a page or too late; without windows, anywhere but at 0.
                    (144, SavedError::Runtime(RuntimeError::WindowMissing { first, .. })) => {
                        assert!(arch == "llama" && *first as u64 == value);
                    }
                    (144, SavedError::Stated { found, .. }) => assert!(*found == value || *found == rows),
                    (152, SavedError::Stated { found, .. }) => assert_eq!(*found, value),
                    _ => panic!("{value} at {at}: {error}"),
                }
            }
        }
        let page = with_header(&whole, 36, &64u32.to_le_bytes());
        std::fs::write(&lying, page).unwrap();
        assert!(matches!(refusal(&mut session, &lying), SavedError::Stated { found: 64, .. }));
        // A token that the vocabulary does not have, with a right checksum.
        let mut token = whole.clone();
        let outside = session.model().config().n_vocab as u32;
        token[192 + 4 * 40..][..4].copy_from_slice(&outside.to_le_bytes());
        let sum = Sha256::digest(&token[192..592]);
        token[592..624].copy_from_slice(&sum);
        std::fs::write(&lying, token).unwrap();
        let error = refusal(&mut session, &lying);
        assert!(matches!(error, SavedError::Token { position: 40, id, .. } if id == outside), "{error}");
    }
}

#[test]
fn a_file_of_something_else_is_refused_with_both_sides() {
    let own = model("llama", "tiny", "Q8_0");
    let mut session = session(&own, &options(256));
    let (folder, path) = saved(&mut session, 40);
    let whole = std::fs::read(&path).unwrap();
    let refused =
        |model: &Arc<Model>, options: &SessionOptions| refusal(&mut session_on(1, model, options), &path);

    let bytes = synthetic::build("llama", "tiny", "Q8_0", 2, None).unwrap();
    let seed = Arc::new(Model::from_file(gguf::GgufFile::from_bytes(&bytes).unwrap()).unwrap());
    for other in [&seed, &model("llama", "tiny", "Q4_0"), &model("gemma3", "micro", "Q8_0")] {
        let error = refused(other, &options(256));
        let SavedError::Model { found, expected, .. } = &error else { panic!("{error}") };
        assert_ne!(found, expected);
    }
    for (type_k, type_v, what) in [(DType::F32, DType::F16, "keys"), (DType::F16, DType::Q8_0, "values")] {
        let error = refused(&own, &SessionOptions { type_k, type_v, ..options(256) }).to_string();
        let expected = if what == "keys" { "F32" } else { "Q8_0" };
        assert!(error.contains(&format!("{what} of type F16, expected {expected}")), "{error}");
    }
    let error = refused(&own, &SessionOptions { reference: true, ..options(256) }).to_string();
    assert!(error.contains("quantized mode, expected reference"), "{error}");
    let error = refused(&own, &options(39));
    assert!(matches!(error, SavedError::Context { positions: 40, n_ctx: 39 }), "{error}");
    assert!(error.to_string().contains("40 positions") && error.to_string().contains("39"), "{error}");

    let gguf = folder.path().join("model.gguf");
    std::fs::write(&gguf, synthetic::build("llama", "tiny", "Q8_0", 1, None).unwrap()).unwrap();
    // The same bytes from a file are the same model.
    let same = Arc::new(Model::load(&gguf).unwrap());
    session_on(1, &same, &options(256)).load(&path).unwrap();
    let rope = RopeOverrides { freq_base: Some(5000.0), ..RopeOverrides::default() };
    let turned = Arc::new(Model::load_with(&gguf, &LoadOptions { rope, ..LoadOptions::default() }).unwrap());
    let error = refused(&turned, &options(256)).to_string();
    assert!(error.contains("frequency base as in the file") && error.contains("5000"), "{error}");

    let other = folder.path().join("other.kv");
    std::fs::write(&other, with_header(&whole, 12, &(minfer::NUMERICS_VERSION + 1).to_le_bytes())).unwrap();
    let error = refusal(&mut session, &other);
    assert!(matches!(error, SavedError::Numerics { found, expected } if found == expected + 1), "{error}");
    std::fs::write(&other, "Dear Sir or Madam,").unwrap();
    let error = refusal(&mut session, &other);
    assert!(error.to_string().contains("Dear Sir") && !error.is_of_a_saved_sequence(), "{error}");
    assert!(matches!(refusal(&mut session, folder.path()), SavedError::NotAFile));
    assert!(matches!(refusal(&mut session, &folder.path().join("none")), SavedError::Io(_)));
    session.load(&path).unwrap();
}

#[test]
fn contexts_on_both_sides_of_long_factors_do_not_share_files() {
    let long = model("phi3", "micro", "F32");
    let factors = long.config().rope.factors;
    let n = (2..1 << 20).find(|n| factors.is_long(*n)).expect("a preset with long factors");
    let (_folder, path) = saved(&mut session(&long, &options(n - 1)), 5);
    let error = refusal(&mut session(&long, &options(n)), &path).to_string();
    assert!(error.contains("long contexts"), "{error}");
}

#[test]
fn a_file_is_written_as_a_whole_or_not_at_all() {
    let mut session = session(&model("llama", "micro", "Q8_0"), &options(256));
    let (folder, path) = saved(&mut session, 40);
    let mut sequence = session.sequence();
    session.read(&mut sequence, &tokens(70, 2), &mut |_| CONTINUE).unwrap();
    let nowhere = session.save(&sequence, folder.path().join("none/file")).unwrap_err();
    assert!(matches!(nowhere, Error::Saved { .. }), "{nowhere}");
    // A folder stands in the way.
    let taken = folder.path().join("taken");
    std::fs::create_dir(&taken).unwrap();
    session.save(&sequence, &taken).unwrap_err();
    session.save(&sequence, &path).unwrap();
    assert_eq!(session.load(&path).unwrap().tokens(), tokens(70, 2));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "no half of a file is left: {left:?}");
    // Much less than pages would take: positions that there are.
    let bytes = std::fs::metadata(&path).unwrap().len();
    assert!(bytes < session.memory().kv_bytes_committed, "{bytes}");
}

#[test]
fn a_sequence_of_another_session_is_refused() {
    let model = Arc::new(Model::from_file(file("llama", "micro", "Q8_0")).unwrap());
    let (mut one, mut two) = (session(&model, &options(64)), session(&model, &options(64)));
    let (_folder, path) = saved(&mut one, 10);
    let mut sequence = one.load(&path).unwrap();
    two.save(&sequence, &path).unwrap_err();
    two.sequence();
    two.sequence();
    two.save(&sequence, &path).unwrap_err();
    two.generate_in(&mut sequence, &tokens(12, 1), &sampled(2), &mut |_| CONTINUE).unwrap_err();
    one.load(&path).unwrap();
}
