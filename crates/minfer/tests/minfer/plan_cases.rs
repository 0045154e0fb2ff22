//! Shapes that make careless planners take too much: a context of a million positions, a vocabulary of a quarter million.

use std::sync::Arc;

use gguf::{Array, ElementType, GgufFile, StrArray, Value, Writer};
use minfer::{
    ContextChoice, DType, Error, Item, MemoryLimit, Model, Plan, Rows, Session, SessionOptions, ThreadPool,
    choose_context,
};

use crate::common::{file, tokens};

const GIB: u64 = 1 << 30;

/// The sizes of a Llama.
struct Sizes {
    layers: u32,
    width: u32,
    heads: u32,
    heads_kv: u32,
    head_dim: u32,
    vocabulary: u32,
    context: u32,
}

/// Trained for a million positions, each of which takes 2 * 8 * 128 numbers of cache in 32 layers.
const LONG: Sizes = Sizes {
    layers: 32,
    width: 64,
    heads: 8,
    heads_kv: 8,
    head_dim: 128,
    vocabulary: 320,
    context: 1_048_576,
};

/// Each row of logits takes a megabyte, each hidden row 256 bytes.
const WORDY: Sizes =
    Sizes { layers: 4, width: 64, heads: 4, heads_kv: 2, head_dim: 16, vocabulary: 262_144, context: 8192 };

/// A Llama of these sizes whose weights are zero.
fn zeros(sizes: &Sizes) -> Arc<Model> {
    let small = file("llama", "micro", "F32");
    let mut w = Writer::new();
    for (key, value) in small.metadata().iter() {
        let value = match (key, value) {
            ("llama.block_count", _) => sizes.layers.into(),
            ("llama.context_length", _) => sizes.context.into(),
            ("llama.embedding_length" | "llama.feed_forward_length", _) => sizes.width.into(),
            ("llama.attention.head_count", _) => sizes.heads.into(),
            ("llama.attention.head_count_kv", _) => sizes.heads_kv.into(),
            ("llama.rope.dimension_count", _) => sizes.head_dim.into(),
            ("llama.vocab_size", _) => sizes.vocabulary.into(),
            ("tokenizer.ggml.tokens", Value::Array(Array::String(known))) => {
                let more = (known.len()..sizes.vocabulary as usize).map(|id| format!("[{id}]"));
                let all: StrArray = known.iter().map(str::to_owned).chain(more).collect();
                all.into()
            }
            ("tokenizer.ggml.token_type", Value::Array(Array::I32(known))) => {
                let mut all = known.clone();
                all.resize(sizes.vocabulary as usize, 5);
                all.into()
            }
            (_, value) => value.clone(),
        };
        w.key(key, value).unwrap();
    }
    for part in ["key_length", "value_length"] {
        let key = format!("llama.attention.{part}");
        if small.metadata().get(&key).is_none() {
            w.key(key, sizes.head_dim).unwrap();
        }
    }
    let [width, vocabulary] = [sizes.width, sizes.vocabulary].map(u64::from);
    let [q, kv] = [sizes.heads, sizes.heads_kv].map(|heads| u64::from(heads * sizes.head_dim));
    w.tensor("token_embd.weight", &[width, vocabulary], ElementType::Q4_0).unwrap();
    w.tensor("output_norm.weight", &[width], ElementType::F32).unwrap();
    for layer in 0..sizes.layers {
        let matrices = [
            ("attn_q", [width, q]),
            ("attn_k", [width, kv]),
            ("attn_v", [width, kv]),
            ("attn_output", [q, width]),
            ("ffn_gate", [width, width]),
            ("ffn_up", [width, width]),
            ("ffn_down", [width, width]),
        ];
        for (name, dims) in matrices {
            w.tensor(format!("blk.{layer}.{name}.weight"), &dims, ElementType::Q4_0).unwrap();
        }
        for name in ["attn_norm", "ffn_norm"] {
            w.tensor(format!("blk.{layer}.{name}.weight"), &[width], ElementType::F32).unwrap();
        }
    }
    let bytes = w.to_vec(|info| vec![0; info.bytes as usize]).unwrap();
    Arc::new(Model::from_file(GgufFile::from_bytes(&bytes).unwrap()).unwrap())
}

fn open(model: &Arc<Model>, options: &SessionOptions) -> Result<Session, Error> {
    Session::new(model.clone(), Arc::new(ThreadPool::new(2)), options)
}

fn plan(model: &Model, options: &SessionOptions) -> Plan {
    model.plan(options, 2, None).unwrap()
}

#[test]
fn a_long_training_makes_no_long_context_and_an_empty_one_takes_nothing() {
    let model = zeros(&LONG);
    let trained = model.config().n_ctx_train;
    assert_eq!(trained, 1_048_576);
    let ContextChoice { n_ctx, clamped_from } = choose_context(None, 10, trained);
    assert_eq!((n_ctx, clamped_from), (4096, None));

    let options = SessionOptions { n_ctx, ..SessionOptions::default() };
    let mut session = open(&model, &options).unwrap();
    assert_eq!(session.memory().kv_bytes_committed, 0);
    let engine = session.engine();
    let seq = engine.create();
    let prompt = tokens(33, 1);
    engine.process(&[Item { seq, tokens: &prompt, rows: Rows::Last }], &mut |_, _, _| {}).unwrap();
    // Thirty-three positions lie on two pages of 32.
    let of_a_position = 32 * 2 * 8 * 128 * 2;
    assert_eq!(session.memory().kv_bytes_committed, 64 * of_a_position);
    assert_eq!(session.memory().kv_bytes_reserved, 4096 * of_a_position);
}

#[test]
fn a_context_longer_than_training_is_shortened_and_that_is_told() {
    let chosen = |asked| choose_context(Some(asked), 10, 1_048_576);
    assert_eq!(chosen(1_048_577), ContextChoice { n_ctx: 1_048_576, clamped_from: Some(1_048_577) });
    assert_eq!(chosen(1_048_576), ContextChoice { n_ctx: 1_048_576, clamped_from: None });
    assert_eq!(chosen(0), ContextChoice { n_ctx: 1_048_576, clamped_from: None });
}

#[test]
fn the_cache_of_a_full_context_is_counted_for_each_sequence() {
    let model = zeros(&LONG);
    for (n_seq, kv_type, bytes) in
        [(1, DType::F16, 128 * GIB), (4, DType::F16, 512 * GIB), (1, DType::F32, 256 * GIB)]
    {
        let options = SessionOptions {
            n_ctx: 1_048_576,
            n_seq,
            type_k: kv_type,
            type_v: kv_type,
            ..SessionOptions::default()
        };
        let plan = plan(&model, &options);
        assert_eq!((plan.kv_reserved, plan.kv_committed), (bytes, bytes), "{n_seq} of {kv_type}");
        // The length of a context costs the arena its tables of pages, of four bytes for each 32 positions.
        let short = self::plan(&model, &SessionOptions { n_ctx: 4096, ..options });
        let tables = n_seq as u64 * (1_048_576 - 4096) / 32 * 4;
        assert_eq!(plan.arena_bytes() - short.arena_bytes(), tables, "{n_seq} of {kv_type}");
    }
}

#[test]
fn a_full_context_over_its_limit_is_refused_with_each_term_and_the_longest_that_fits() {
    let model = zeros(&LONG);
    let limit = MemoryLimit { bytes: 4 * GIB, with_mapped: false };
    for n_seq in [1, 4] {
        let options =
            SessionOptions { n_ctx: 1_048_576, n_seq, memory: Some(limit), ..SessionOptions::default() };
        let Err(Error::OverLimit(over)) = open(&model, &options) else { panic!("{n_seq} sequences") };
        assert_eq!(over.plan.kv_committed, n_seq as u64 * 128 * GIB);
        let said = over.to_string();
        let cache = format!("KV cache ({n_seq} x 1048576 positions, F16 and F16)");
        for word in ["4.00 GiB allowed", "copied weights", &cache, "arenas", "rows of the head", "tokenizer"]
        {
            assert!(said.contains(word), "{word:?} is missing in {said}");
        }
        let of_context = |flags: &[(&str, String)]| matches!(flags, [("ctx-size", _)]);
        let longest = over.would_fit.iter().find(|proposal| of_context(&proposal.changes)).unwrap();
        assert!(limit.holds(&longest.plan));
        assert!(said.contains(&format!("--ctx-size {}", longest.options.n_ctx)), "{said}");
        let longer = SessionOptions { n_ctx: longest.options.n_ctx + 32, ..longest.options };
        assert!(!limit.holds(&plan(&model, &longer)));
        open(&model, &longest.options).unwrap();
    }
}

/// The batches that are planned, the smallest first.
const BATCHES: [usize; 5] = [1, 16, 17, 512, 4096];

fn of_batch(n_ubatch: usize) -> SessionOptions {
    SessionOptions { n_ctx: 4096, n_ubatch, ..SessionOptions::default() }
}

#[test]
fn arenas_grow_at_most_in_proportion_to_the_batch() {
    let model = zeros(&WORDY);
    for (less, more) in BATCHES.iter().zip(&BATCHES[1..]) {
        let [small, large] = [less, more].map(|n| plan(&model, &of_batch(*n)).arena_bytes());
        let (small, large) = (small * *more as u64, large * *less as u64);
        assert!(large <= small, "{more} tokens take more for each than {less}");
    }
    // Nothing is as wide as the vocabulary for more than one row, or as long as the context for each token.
    let arena = plan(&model, &of_batch(4096)).arena_bytes();
    assert!(arena < 4096 * 64 * 4 * 8, "{arena}");
}

#[test]
fn working_memory_is_not_batch_times_context_times_heads() {
    let model = zeros(&WORDY);
    for n_ubatch in BATCHES {
        let options = of_batch(n_ubatch);
        let full = plan(&model, &options);
        let half = plan(&model, &SessionOptions { n_ctx: 2048, n_ubatch: n_ubatch.min(2048), ..options });
        // A score for each head, token and position would be 256 MiB for the largest batch; these are 8 MiB for two threads.
        let most = (256 << 10) + 2 * 1024 * n_ubatch as u64;
        assert!(full.scratch() <= most, "{n_ubatch} tokens: {}", full.scratch());
        if n_ubatch <= 2048 {
            assert_eq!(full.scratch(), half.scratch(), "{n_ubatch} tokens");
        }
    }
}

#[test]
fn logits_after_every_token_are_computed_in_pieces() {
    let model = zeros(&WORDY);
    let row = 262_144 * size_of::<f32>() as u64;
    for n_ubatch in BATCHES {
        for head_rows in [1, 4] {
            let one = SessionOptions { head_rows, ..of_batch(n_ubatch) };
            let all = SessionOptions { n_outputs: n_ubatch, ..one };
            let hidden = 64 * size_of::<f32>() as u64;
            let rows = |outputs: usize| outputs as u64 * hidden + head_rows as u64 * row;
            assert_eq!(plan(&model, &one).head, rows(1));
            let (one, all) = (plan(&model, &one), plan(&model, &all));
            assert_eq!(all.head, rows(n_ubatch));
            // The last layer then has all rows too, and the head's rows are in its arena whatever goes on to it.
            assert!(all.arena_bytes() <= one.arena_bytes() + (n_ubatch as u64 + 1) * 2 * hidden);
            assert!(all.arena_bytes() >= head_rows as u64 * row);
        }
    }
    let mut session = open(&model, &SessionOptions { n_outputs: 16, n_ctx: 64, ..of_batch(16) }).unwrap();
    let engine = session.engine();
    let (seq, prompt, mut seen) = (engine.create(), tokens(5, 1), Vec::new());
    let items = [Item { seq, tokens: &prompt, rows: Rows::All }];
    engine.process(&items, &mut |_, row, logits| seen.push((row, logits.len()))).unwrap();
    assert_eq!(seen, [0, 1, 2, 3, 4].map(|row| (row, 262_144)));
}

#[test]
fn the_plan_names_what_sets_the_peak() {
    let model = zeros(&WORDY);
    for n_ubatch in BATCHES {
        let plan = plan(&model, &of_batch(n_ubatch));
        let [arena] = &plan.arenas[..] else { panic!("one device") };
        let sum: u64 = arena.peak_values.iter().map(|v| v.bytes.next_multiple_of(64)).sum();
        assert_eq!(sum, arena.needs.lower_bound, "{n_ubatch} tokens");
        assert!(arena.peak_values.is_sorted_by(|a, b| a.bytes >= b.bytes));
        // A row of logits is more than all that a batch of 512 takes elsewhere.
        let of_the_head = n_ubatch <= 512;
        assert_eq!(arena.peak_values[0].name == "logits", of_the_head, "{n_ubatch}: {:?}", arena.peak_values);
        assert_eq!(arena.peak_step == "logits", of_the_head, "{n_ubatch}: {}", arena.peak_step);
    }
}

#[test]
fn what_is_planned_for_any_batch_is_what_is_allocated() {
    let model = zeros(&WORDY);
    for n_ubatch in BATCHES {
        for n_outputs in [1, n_ubatch] {
            let options = SessionOptions { n_outputs, ..of_batch(n_ubatch) };
            let plan = plan(&model, &options);
            let held = open(&model, &options).unwrap().memory();
            assert_eq!(plan.arena_bytes(), held.arena_bytes, "{n_ubatch} tokens, {n_outputs} rows");
            assert_eq!(plan.kv_reserved, held.kv_bytes_reserved, "{n_ubatch} tokens, {n_outputs} rows");
        }
    }
}
