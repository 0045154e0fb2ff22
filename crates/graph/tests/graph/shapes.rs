//! The shape rule of every operation: what it accepts, what it makes of it, what it refuses.

use DType::{A32, BF16, F16, F32, I32, Q4_0, Q4_1, Q8_0};
use graph::op::*;
use graph::{A32_ROW_ALIGN, DType, Dim, Extents, Op, RegionId, Shape, Symbol};

use crate::common::{N, rows};

type Meta = (Shape, DType);

#[track_caller]
fn gives(op: impl Into<Op>, inputs: &[Meta], outputs: &[Meta]) {
    assert_eq!(op.into().infer(inputs).expect("accepted"), outputs);
}

#[track_caller]
fn refuses(op: impl Into<Op>, inputs: &[Meta], part: &str) {
    let reason = op.into().infer(inputs).expect_err("refused");
    assert!(reason.contains(part), "{reason:?} does not say {part:?}");
}

fn x() -> Meta {
    (rows(), F32)
}

fn row(n: usize) -> Meta {
    (Shape::row(n), F32)
}

fn ids() -> Meta {
    (Shape::row(Symbol::Tokens), I32)
}

fn matrix(columns: usize, rows: usize, dtype: DType) -> Meta {
    (Shape::matrix(columns, rows), dtype)
}

/// Rows of `n` elements, one for each token.
fn wide(n: usize, dtype: DType) -> Meta {
    (Shape::matrix(n, Symbol::Tokens), dtype)
}

#[test]
fn get_rows_takes_a_table_and_ids() {
    for dtype in [F32, F16, BF16, Q4_0, Q4_1, Q8_0] {
        gives(GetRows, &[matrix(N, 10, dtype), ids()], &[x()]);
    }
    gives(GetRows, &[matrix(N, 10, I32), ids()], &[wide(N, I32)]);
    gives(GetRows, &[x(), (Shape::row(Symbol::Outputs), I32)], &[(Shape::matrix(N, Symbol::Outputs), F32)]);
    refuses(GetRows, &[matrix(N, 10, A32), ids()], "A32 cannot be gathered");
    refuses(GetRows, &[x(), row(3)], "input 1: expected type I32, found F32");
    refuses(GetRows, &[x()], "expected 2 inputs, found 1");
    refuses(GetRows, &[(Shape::row(Symbol::Tokens), F32), ids()], "row length is not fixed");
}

#[test]
fn rms_norm_takes_rows_and_a_row() {
    let norm = |to| RmsNorm { eps: 1e-5, to };
    gives(norm(F32), &[x(), row(N)], &[x()]);
    gives(norm(A32), &[x(), row(N)], &[wide(N, A32)]);
    refuses(norm(F32), &[x(), row(N + 1)], "input 1: expected shape [64], found [65]");
    refuses(norm(F32), &[x(), (Shape::row(N), F16)], "expected type F32, found F16");
    refuses(norm(F32), &[wide(N, F16), row(N)], "input 0: expected type F32");
    refuses(norm(A32), &[wide(48, F32), row(48)], "rows of 48 are not whole blocks of 32");
    refuses(norm(F16), &[x(), row(N)], "cannot write rows of type F16");
    refuses(norm(F32), &[x(), row(N), row(N)], "expected 2 inputs, found 3");
}

#[test]
fn add_norm_makes_a_sum_and_its_norm() {
    let op = |to| AddNorm { eps: 1e-5, to };
    gives(op(F32), &[x(), x(), row(N)], &[x(), x()]);
    gives(op(A32), &[x(), x(), row(N)], &[x(), wide(N, A32)]);
    refuses(op(F32), &[x(), row(N), row(N)], "input 1: expected shape");
    refuses(op(F32), &[x(), x(), row(32)], "input 2: expected shape");
    refuses(op(F32), &[x(), x()], "expected 3 inputs, found 2");
    refuses(op(Q8_0), &[x(), x(), row(N)], "cannot write rows of type Q8_0");
}

#[test]
fn add_takes_equal_shapes_or_a_row() {
    gives(Add, &[x(), x()], &[x()]);
    gives(Add, &[x(), row(N)], &[x()]);
    refuses(Add, &[row(N), x()], "cannot add [64, Tokens] to [64]");
    refuses(Add, &[x(), row(32)], "cannot add");
    refuses(Add, &[x(), (rows(), A32)], "input 1: expected type F32, found A32");
    refuses(Add, &[x()], "expected 2 inputs");
}

#[test]
fn quantize_takes_rows_of_whole_blocks() {
    gives(Quantize, &[x()], &[wide(N, A32)]);
    refuses(Quantize, &[wide(33, F32)], "not whole blocks");
    refuses(Quantize, &[wide(N, F16)], "expected type F32");
    refuses(Quantize, &[], "expected 1 inputs, found 0");
}

#[test]
fn mat_mul_takes_one_input_and_any_number_of_weights() {
    for dtype in [F32, F16, BF16, Q4_0, Q4_1, Q8_0] {
        gives(MatMul, &[x(), matrix(N, 7, dtype)], &[wide(7, F32)]);
    }
    gives(MatMul, &[wide(N, A32), matrix(N, 7, Q4_1)], &[wide(7, F32)]);
    let weights = [matrix(N, 7, Q8_0), matrix(N, 9, Q4_0), matrix(N, 1, Q8_0)];
    let expected = [wide(7, F32), wide(9, F32), wide(1, F32)];
    gives(MatMul, &[wide(N, A32), weights[0], weights[1], weights[2]], &expected);
    refuses(MatMul, &[x()], "at least 2 inputs");
    refuses(MatMul, &[x(), matrix(32, 7, F32)], "input 1: expected rows of 64, found [32, 7]");
    refuses(MatMul, &[x(), matrix(N, 7, F32), matrix(32, 7, F32)], "input 2: expected rows of 64");
    refuses(MatMul, &[wide(N, A32), matrix(N, 7, F16)], "F16 weights cannot multiply A32");
    refuses(MatMul, &[x(), matrix(N, 7, I32)], "I32 weights");
    refuses(MatMul, &[x(), matrix(N, 7, A32)], "A32 weights");
    refuses(MatMul, &[wide(N, F16), matrix(N, 7, F16)], "cannot multiply F16");
}

#[test]
fn mat_mul_add_takes_a_weight_and_what_the_product_is_added_to() {
    gives(MatMulAdd, &[x(), matrix(N, 7, F16), wide(7, F32)], &[wide(7, F32)]);
    gives(MatMulAdd, &[wide(N, A32), matrix(N, 7, Q4_1), wide(7, F32)], &[wide(7, F32)]);
    refuses(MatMulAdd, &[x(), matrix(N, 7, F16), row(7)], "input 2: expected shape [7, Tokens], found [7]");
    refuses(MatMulAdd, &[x(), matrix(N, 7, F16), wide(7, F16)], "input 2: expected type F32");
    refuses(MatMulAdd, &[x(), matrix(N, 7, F16)], "expected 3 inputs, found 2");
    refuses(MatMulAdd, &[wide(N, A32), matrix(N, 7, F16), wide(7, F32)], "F16 weights cannot multiply A32");
}

#[test]
fn mat_mul_glu_takes_two_weights_of_one_size() {
    let op = |to| MatMulGlu { activation: graph::op::Activation::Silu, to };
    gives(op(F32), &[x(), matrix(N, 96, F32), matrix(N, 96, F16)], &[wide(96, F32)]);
    gives(op(A32), &[wide(N, A32), matrix(N, 96, Q4_0), matrix(N, 96, Q8_0)], &[wide(96, A32)]);
    refuses(
        op(F32),
        &[x(), matrix(N, 96, F32), matrix(N, 64, F32)],
        "gate is [96, Tokens], up is [64, Tokens]",
    );
    refuses(op(A32), &[x(), matrix(N, 40, F32), matrix(N, 40, F32)], "rows of 40");
    refuses(op(F32), &[x(), matrix(N, 96, F32)], "expected 3 inputs, found 2");
    refuses(op(F32), &[x(), matrix(32, 96, F32), matrix(32, 96, F32)], "expected rows of 64");
}

#[test]
fn swiglu_takes_equal_shapes() {
    gives(Glu { activation: graph::op::Activation::Silu, to: F32 }, &[x(), x()], &[x()]);
    gives(Glu { activation: graph::op::Activation::Silu, to: A32 }, &[x(), x()], &[wide(N, A32)]);
    refuses(
        Glu { activation: graph::op::Activation::Silu, to: F32 },
        &[x(), row(N)],
        "input 1: expected shape",
    );
    refuses(
        Glu { activation: graph::op::Activation::Silu, to: F32 },
        &[x(), wide(N, F16)],
        "input 1: expected type F32",
    );
    refuses(
        Glu { activation: graph::op::Activation::Silu, to: A32 },
        &[wide(16, F32), wide(16, F32)],
        "whole blocks",
    );
    refuses(
        Glu { activation: graph::op::Activation::Silu, to: I32 },
        &[x(), x()],
        "cannot write rows of type I32",
    );
    refuses(Glu { activation: graph::op::Activation::Silu, to: F32 }, &[x()], "expected 2 inputs");
}

#[test]
fn layer_norm_and_gelu_keep_the_shape() {
    let norm = || LayerNorm { eps: 1e-12 };
    gives(norm(), &[x(), row(N), row(N)], &[x()]);
    refuses(norm(), &[x(), row(N)], "expected 3 inputs, found 2");
    refuses(norm(), &[x(), row(32), row(N)], "input 1: expected shape [64], found [32]");
    refuses(norm(), &[x(), row(N), row(32)], "input 2: expected shape [64], found [32]");
    refuses(norm(), &[x(), row(N), (Shape::row(N), F16)], "input 2: expected type F32");
    let gelu = |to| Gelu { to };
    gives(gelu(F32), &[x()], &[x()]);
    gives(gelu(A32), &[x()], &[wide(N, A32)]);
    refuses(gelu(A32), &[wide(16, F32)], "whole blocks");
    refuses(gelu(F32), &[wide(N, A32)], "input 0: expected type F32");
    refuses(gelu(F32), &[x(), x()], "expected 1 inputs, found 2");
}

#[test]
fn rope_table_takes_positions_and_factors() {
    let op = |factors| RopeTable { rot: 16, base: 1e4, factors, scaling: graph::op::RopeScaling::NONE };
    gives(op(false), &[ids()], &[wide(16, F32)]);
    gives(op(true), &[ids(), row(8)], &[wide(16, F32)]);
    refuses(op(true), &[ids(), row(16)], "input 1: expected shape [8], found [16]");
    refuses(op(true), &[ids(), (Shape::row(8), F16)], "input 1: expected type F32");
    refuses(op(false), &[row(5)], "input 0: expected type I32");
    refuses(op(false), &[ids(), row(8)], "expected 1 inputs, found 2");
}

#[test]
fn rope_takes_heads_and_a_table() {
    let op = |rot, bias| Rope { heads: 2, head_dim: 32, rot, pairs: RopePairs::Halves, bias };
    gives(op(32, false), &[x(), wide(32, F32)], &[x()]);
    gives(op(16, true), &[x(), wide(16, F32), row(N)], &[x()]);
    refuses(op(34, false), &[x(), wide(34, F32)], "cannot turn 34 of 32");
    refuses(op(15, false), &[x(), wide(15, F32)], "cannot turn 15 of 32");
    refuses(op(16, false), &[x(), wide(32, F32)], "input 1: expected shape [16, Tokens]");
    refuses(op(16, true), &[x(), wide(16, F32), row(32)], "input 2: expected shape [64]");
    refuses(op(16, true), &[x(), wide(16, F32)], "expected 3 inputs, found 2");
    refuses(op(16, false), &[wide(96, F32), wide(16, F32)], "2 heads of 32 are not 96 long");
    refuses(op(16, false), &[wide(N, A32), wide(16, F32)], "input 0: expected type F32");
    // As many rows of the table as there are rows to turn.
    let outputs = (Shape::matrix(16, Symbol::Outputs), F32);
    refuses(op(16, false), &[x(), outputs], "input 1: expected shape");
}

#[test]
fn kv_store_takes_rows_and_places_and_writes_no_value() {
    let rope = Rope { heads: 2, head_dim: 32, rot: 16, pairs: RopePairs::Neighbours, bias: false };
    let op = |rope, bias| KvStore { region: RegionId(0), heads: 2, head_dim: 32, context: 64, rope, bias };
    let tables = (Shape::matrix(2, Symbol::Sequences), I32);
    let place = [ids(), ids(), tables];
    let with = |first: Meta, rest: &[Meta]| [&[first][..], &place, rest].concat();
    gives(op(None, false), &with(x(), &[]), &[]);
    gives(op(None, true), &with(x(), &[row(N)]), &[]);
    gives(op(Some(rope.clone()), false), &with(x(), &[wide(16, F32)]), &[]);
    gives(op(Some(rope.clone()), true), &with(x(), &[wide(16, F32), row(N)]), &[]);
    refuses(op(None, false), &with(x(), &[row(N)]), "expected 4 inputs, found 5");
    refuses(op(None, false), &with(wide(32, F32), &[]), "2 heads of 32 are not 32 long");
    refuses(op(None, false), &with(wide(N, A32), &[]), "input 0: expected type F32");
    refuses(op(None, true), &with(x(), &[row(32)]), "input 4: expected shape [64]");
    refuses(
        op(Some(rope), true),
        &with(x(), &[wide(32, F32), row(N)]),
        "input 4: expected shape [16, Tokens]",
    );
    let outputs = (Shape::row(Symbol::Outputs), I32);
    refuses(op(None, false), &[x(), outputs, ids(), tables], "input 1: expected shape [Tokens]");
    refuses(op(None, false), &[x(), ids(), outputs, tables], "input 2: expected shape [Tokens]");
    refuses(op(None, false), &[x(), ids(), ids(), x()], "input 3: expected type I32");
}

#[test]
fn attention_takes_queries_and_places() {
    let op = |heads, heads_kv| {
        let (k, v) = (RegionId(0), RegionId(1));
        Attention { k, v, heads, heads_kv, head_dim: 16, scale: 0.25, soft_cap: None, window: None }
    };
    let tables = (Shape::matrix(2, Symbol::Sequences), I32);
    gives(op(4, 2), &[x(), ids(), ids(), tables], &[x()]);
    gives(op(4, 4), &[x(), ids(), ids(), tables], &[x()]);
    refuses(op(4, 3), &[x(), ids(), ids(), tables], "4 heads cannot share 3 KV heads");
    refuses(op(4, 0), &[x(), ids(), ids(), tables], "4 heads cannot share 0 KV heads");
    refuses(op(2, 2), &[x(), ids(), ids(), tables], "2 heads of 16 are not 64 long");
    refuses(op(4, 2), &[x(), ids(), tables], "expected 4 inputs, found 3");
    refuses(op(4, 2), &[x(), tables, ids(), tables], "input 1: expected shape [Tokens]");
    refuses(op(4, 2), &[x(), ids(), x(), tables], "input 2: expected type I32");
    refuses(op(4, 2), &[wide(N, A32), ids(), ids(), tables], "input 0: expected type F32");
}

#[test]
fn a_view_begins_between_elements() {
    let op = |offset_bytes| View { shape: Shape::row(8), offset_bytes };
    gives(op(12), &[x()], &[row(8)]);
    gives(op(68), &[(rows(), Q8_0)], &[(Shape::row(8), Q8_0)]);
    refuses(op(2), &[x()], "offset 2 is inside an element of F32");
    refuses(op(33), &[(rows(), Q8_0)], "inside an element of Q8_0");
    refuses(op(0), &[x(), x()], "expected 1 inputs, found 2");
}

#[test]
fn rights_to_overwrite_are_for_results_of_the_operands_size() {
    let rights = |op: Op| op.facts().in_place.iter().map(|r| (r.output, r.input)).collect::<Vec<_>>();
    assert_eq!(rights(Add.into()), [(0, 0), (0, 1)]);
    assert_eq!(rights(RmsNorm { eps: 0.0, to: F32 }.into()), [(0, 0)]);
    assert_eq!(rights(Glu { activation: graph::op::Activation::Silu, to: F32 }.into()), [(0, 0), (0, 1)]);
    assert_eq!(rights(LayerNorm { eps: 0.0 }.into()), [(0, 0)]);
    assert_eq!(rights(Gelu { to: F32 }.into()), [(0, 0)]);
    assert_eq!(rights(MatMulAdd.into()), [(0, 2)]);
    // Rows of A32 are shorter than the rows that they are made from: they would run over rows not yet read.
    assert_eq!(rights(RmsNorm { eps: 0.0, to: A32 }.into()), []);
    assert_eq!(rights(Glu { activation: graph::op::Activation::Silu, to: A32 }.into()), []);
    assert_eq!(rights(Gelu { to: A32 }.into()), []);
    assert_eq!(rights(Quantize.into()), []);
    // A row of a product needs the whole row of the input.
    assert_eq!(rights(MatMul.into()), []);
    assert_eq!(rights(GetRows.into()), []);
}

#[test]
fn regions_are_named_by_the_facts() {
    let store = KvStore { region: RegionId(3), heads: 1, head_dim: 1, context: 1, rope: None, bias: false };
    let facts = Op::from(store).facts();
    assert_eq!((facts.reads, facts.writes), (vec![], vec![RegionId(3)]));
    let (k, v) = (RegionId(1), RegionId(2));
    let facts = Op::from(Attention {
        k,
        v,
        heads: 1,
        heads_kv: 1,
        head_dim: 1,
        scale: 1.0,
        soft_cap: None,
        window: None,
    })
    .facts();
    assert_eq!((facts.reads, facts.writes), (vec![k, v], vec![]));
}

#[test]
fn dimensions_follow_the_run() {
    let extents = Extents { tokens: 5, outputs: 2, sequences: 3 };
    let shape = Shape([
        Dim::Fixed(64),
        Dim::Scaled { symbol: Symbol::Tokens, times: 2 },
        Symbol::Sequences.into(),
        Symbol::Outputs.into(),
    ]);
    assert_eq!(shape.evaluate(&extents), [64, 10, 3, 2]);
    assert_eq!(shape.rows(&extents), 60);
    assert_eq!(shape.bytes(F32, &extents), 60 * 64 * 4);
    assert_eq!(shape.bytes(Q8_0, &extents), 60 * 2 * 34);
    assert_eq!(shape.to_string(), "[64, 2*Tokens, Sequences, Outputs]");
    assert_eq!(Shape::row(1).to_string(), "[1]");
    let smaller = Extents { tokens: 5, outputs: 2, sequences: 2 };
    assert!(smaller.within(&extents) && !extents.within(&smaller));
}

#[test]
fn rows_of_activations_are_aligned() {
    for columns in (32..2000).step_by(32) {
        let bytes = A32.row_bytes(columns);
        assert!(bytes.is_multiple_of(A32_ROW_ALIGN));
        assert!((0..A32_ROW_ALIGN).contains(&(bytes - columns / 32 * 44)));
    }
    for dtype in DType::ALL {
        assert_eq!(DType::from_name(dtype.name()), Some(dtype));
    }
    assert_eq!(DType::from_name("Q8_K"), None);
}
