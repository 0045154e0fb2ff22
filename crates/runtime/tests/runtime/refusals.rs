//! What cannot be done is refused, and leaves everything as it was.

use std::sync::Arc;

use backend::{BackendError, Device, SharedBytes};
use compile::{DeviceId, Options};
use graph::{DType, Extents, RegionId};
use models::{BodyParams, Model, Tensors, inputs};
use runtime::{EngineParts, Item, Params, Rows, RuntimeError, SeqId, WeightSource};

use crate::common::*;

fn process(engine: &mut runtime::Engine, items: &[(SeqId, &[u32])]) -> Result<(), RuntimeError> {
    let items: Vec<_> =
        items.iter().map(|(seq, tokens)| Item { seq: *seq, tokens, rows: Rows::All }).collect();
    engine.process(&items, &mut |_, _, _| {})
}

#[test]
fn empty_batches_are_refused() {
    let mut engine = Setup::new(QUICK).engine();
    let seq = engine.create();
    assert!(matches!(process(&mut engine, &[]), Err(RuntimeError::EmptyBatch)));
    assert!(matches!(process(&mut engine, &[(seq, &[])]), Err(RuntimeError::EmptyBatch)));
    assert!(matches!(process(&mut engine, &[(seq, &[1]), (seq, &[])]), Err(RuntimeError::EmptyBatch)));
    assert_eq!(engine.len(seq).unwrap(), 0);
}

#[test]
fn a_failed_run_leaves_the_sequence_as_it_was() {
    let mut setup = Setup::new(QUICK);
    setup.params.n_seq = 2;
    setup.params.n_ubatch = 16;
    let (prompt, more) = (tokens(100, 1), tokens(20, 2));
    let expected = setup.logits(&[&prompt[..], &more].concat()).split_off(100);

    let mut engine = setup.engine();
    let [a, b] = [(); 2].map(|()| engine.create());
    append(&mut engine, a, &prompt);
    let before = engine.memory();

    let error = process(&mut engine, &[(b, &more), (a, &[1, 2, 320, 4])]).unwrap_err();
    let expected_error = RuntimeError::TokenOutOfRange { index: 2, id: 320, n_vocab: 320 };
    assert_eq!(error.to_string(), expected_error.to_string());
    let error = process(&mut engine, &[(a, &tokens(157, 3))]).unwrap_err();
    assert!(matches!(error, RuntimeError::ContextFull { needed: 257, n_ctx: 256 }), "{error}");
    // Twice in one call: together they are too long.
    let half = tokens(80, 3);
    let error = process(&mut engine, &[(a, &half), (b, &more), (a, &half)]).unwrap_err();
    assert!(matches!(error, RuntimeError::ContextFull { needed: 260, n_ctx: 256 }), "{error}");

    assert_eq!((engine.len(a).unwrap(), engine.len(b).unwrap()), (100, 0));
    assert_eq!(engine.memory(), before);
    assert_same_bits(&expected, &append(&mut engine, a, &more), "after the refusals");
}

#[test]
fn a_cache_that_runs_out_of_pages_in_the_middle_leaves_the_sequences_as_they_were() {
    let mut setup = Setup::new(QUICK);
    setup.params.body.n_ctx = 128;
    setup.params.n_ubatch = 16;
    let (prompt, more) = (tokens(60, 1), tokens(30, 2));
    let expected = setup.logits(&[&prompt[..], &more].concat()).split_off(60);

    // Four pages: the first sequence takes two, its fork a copy of the second, then one more.
    let mut engine = setup.engine();
    let a = engine.create();
    append(&mut engine, a, &prompt);
    let b = engine.fork(a).unwrap();
    let before = engine.memory();
    let error = process(&mut engine, &[(b, &more), (a, &more), (b, &more)]).unwrap_err();
    assert!(matches!(error, RuntimeError::OutOfPages { pages: 4 }), "{error}");
    assert_eq!((engine.len(a).unwrap(), engine.len(b).unwrap()), (60, 60));

    engine.remove(b).unwrap();
    assert_eq!(engine.memory(), before);
    assert_same_bits(&expected, &append(&mut engine, a, &more), "after the refusal");
}

#[test]
fn rebuild_with_another_context_is_refused() {
    let mut setup = Setup::new(QUICK);
    setup.params.n_seq = 2;
    let prompt = tokens(40, 1);
    let expected = setup.logits(&prompt);
    let mut engine = setup.engine();
    let seq = engine.create();
    let mut found = append(&mut engine, seq, &prompt[..20]);
    let body = setup.params.body;
    let others = [
        ("the context", Params { body: BodyParams { n_ctx: 512, ..body }, ..setup.params }),
        (
            "the type of cached keys",
            Params { body: BodyParams { type_k: DType::F32, ..body }, ..setup.params },
        ),
        (
            "the type of cached values",
            Params { body: BodyParams { type_v: DType::F32, ..body }, ..setup.params },
        ),
        ("the number of sequences", Params { n_seq: 1, ..setup.params }),
    ];
    for (expected_what, other) in others {
        match engine.rebuild(other) {
            Err(RuntimeError::CacheChanged { what, .. }) => assert_eq!(what, expected_what),
            result => panic!("{expected_what}: {result:?}"),
        }
        assert_eq!(engine.params(), &setup.params);
    }
    found.extend(append(&mut engine, seq, &prompt[20..]));
    assert_same_bits(&expected, &found, "after the refusals");
}

#[test]
fn a_size_of_nothing_is_refused() {
    let setup = Setup::new(QUICK);
    let mut engine = setup.engine();
    let nothing = [
        ("the batch size", Params { n_ubatch: 0, ..setup.params }),
        ("the number of outputs", Params { n_outputs: 0, ..setup.params }),
        ("the number of head rows", Params { head_rows: 0, ..setup.params }),
    ];
    for (expected_what, params) in nothing {
        match engine.rebuild(params) {
            Err(RuntimeError::Zero { what }) => assert_eq!(what, expected_what),
            result => panic!("{expected_what}: {result:?}"),
        }
    }
}

#[test]
fn position_beyond_context_is_refused_twice() {
    let mut setup = Setup::new(QUICK);
    // The last page is not whole: the table has room for positions that the context has not.
    setup.params.body.n_ctx = 48;
    let mut engine = setup.engine();
    let seq = engine.create();
    append(&mut engine, seq, &tokens(48, 1));
    let error = process(&mut engine, &[(seq, &[1])]).unwrap_err();
    assert!(matches!(error, RuntimeError::ContextFull { needed: 49, n_ctx: 48 }), "{error}");

    for (position, refused) in [(47, false), (48, true), (64, true), (-1, true)] {
        let result = run_body_at(&setup, position);
        if refused {
            let expected = BackendError::PositionBeyondContext { position: position.into(), context: 48 };
            assert_eq!(result, Err(expected));
        } else {
            assert_eq!(result, Ok(()));
        }
    }
}

/// Runs the program of the body with one token at a position, with no engine to refuse it.
fn run_body_at(setup: &Setup, position: i32) -> Result<(), BackendError> {
    let file = setup.file();
    let model = Model::new(file.metadata(), Tensors::of(&file)).unwrap();
    let graph = model.body(&setup.params.body).unwrap();
    let mut cpu = setup.cpu();
    let one = Extents { tokens: 1, outputs: 1, sequences: 1 };
    let device: &dyn Device = cpu.as_ref();
    let mut program = compile::compile(graph, &[device], &|_| DeviceId(0), &Options::new(one)).unwrap();
    let weights = File(file);
    let register =
        |w: &compile::ProgramWeight| cpu.register_weight(&w.name, weights.bytes(&w.name).unwrap()).unwrap();
    let handles: Vec<_> = program.weights.iter().map(register).collect();
    program.bind(&handles);
    cpu.reserve_arena(program.arenas[0].bytes as usize).unwrap();
    for (i, (region, _)) in program.regions.iter().enumerate() {
        cpu.reserve_region(RegionId(i as u32), region, 2).unwrap();
    }
    let filled: [(&str, &[i32]); 5] = [
        (inputs::TOKEN_IDS, &[5]),
        (inputs::POSITIONS, &[position]),
        (inputs::SEQUENCES, &[0]),
        (inputs::PAGE_TABLES, &[0, 1]),
        (inputs::OUT_IDS, &[0]),
    ];
    for (name, numbers) in filled {
        let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_ne_bytes()).collect();
        cpu.write(program.input(name).unwrap().windows[0].1, &bytes).unwrap();
    }
    program.splits.iter().try_for_each(|split| cpu.run(&split.calls, &one))?;
    cpu.synchronize()
}

#[test]
fn unknown_sequences_are_refused() {
    let mut engine = Setup::new(QUICK).engine();
    let seq = engine.create();
    engine.remove(seq).unwrap();
    let unknown = |result: Result<(), RuntimeError>| match result {
        Err(RuntimeError::UnknownSequence(id)) => assert_eq!(id, seq),
        result => panic!("{result:?}"),
    };
    unknown(process(&mut engine, &[(seq, &[1])]));
    unknown(engine.len(seq).map(drop));
    unknown(engine.fork(seq).map(drop));
    unknown(engine.truncate(seq, 0));
    unknown(engine.remove(seq));
    let seq = engine.create();
    let error = engine.truncate(seq, 1).unwrap_err();
    assert!(matches!(error, RuntimeError::TruncateBeyond { len: 0, to: 1, .. }), "{error}");
}

/// A file with the norm before the output filled with one number.
struct Spoiled(File, f32);

impl WeightSource for Spoiled {
    fn bytes(&self, name: &str) -> Option<SharedBytes> {
        let bytes = self.0.bytes(name)?;
        if name != "output_norm.weight" {
            return Some(bytes);
        }
        let length = (*bytes).as_ref().len();
        Some(Arc::new(self.1.to_ne_bytes().repeat(length / 4)))
    }
}

#[test]
fn logits_that_are_no_numbers_are_an_error_that_says_where() {
    let setup = Setup::new(CASES[0]);
    let file = setup.file();
    let model = Model::new(file.metadata(), Tensors::of(&file)).unwrap();
    let parts = EngineParts {
        model,
        devices: vec![setup.cpu()],
        placement: Box::new(|_, _| DeviceId(0)),
        weights: Arc::new(Spoiled(File(file), f32::NAN)),
    };
    let mut engine = runtime::Engine::new(parts, setup.params).unwrap();
    let seq = engine.create();
    let prompt = tokens(10, 1);
    for (rows, expected) in [(Rows::All, 0), (Rows::Last, 9)] {
        let error = engine.process(&[Item { seq, tokens: &prompt, rows }], &mut |_, _, _| {}).unwrap_err();
        let RuntimeError::BadLogits { position, token, value, .. } = error else { panic!("{error}") };
        assert_eq!((position, token), (expected, 0));
        assert!(value.is_nan());
        assert_eq!(engine.len(seq).unwrap(), 0, "a failed run leaves the sequence as it was");
    }
    engine.process(&[Item { seq, tokens: &prompt, rows: Rows::None }], &mut |_, _, _| {}).unwrap();
}

#[test]
fn a_weight_that_is_not_there_is_named() {
    struct Nothing;
    impl WeightSource for Nothing {
        fn bytes(&self, _: &str) -> Option<SharedBytes> {
            None
        }
    }
    let setup = Setup::new(QUICK);
    let file = setup.file();
    let model = Model::new(file.metadata(), Tensors::of(&file)).unwrap();
    let parts = EngineParts {
        model,
        devices: vec![setup.cpu()],
        placement: Box::new(|_, _| DeviceId(0)),
        weights: Arc::new(Nothing),
    };
    match runtime::Engine::new(parts, setup.params) {
        Err(RuntimeError::MissingWeight(name)) => assert_eq!(name, "token_embd.weight"),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("an engine without weights"),
    }
}
