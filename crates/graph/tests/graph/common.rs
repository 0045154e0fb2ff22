//! A small graph with every kind of thing in it.

use graph::op::{Add, Attention, GetRows, KvStore, MatMul, RmsNorm};
use graph::{Builder, DType, Graph, Region, Shape, Symbol};

pub const N: usize = 64;

/// `[N, Tokens]`
pub fn rows() -> Shape {
    Shape::matrix(N, Symbol::Tokens)
}

/// Embedding, store, attention, product and residual of one layer, then the rows that go on.
pub fn layer() -> Graph {
    let mut b = Builder::new();
    let per_token = Shape::row(Symbol::Tokens);
    let [ids, positions, sequences] =
        ["ids", "positions", "sequences"].map(|name| b.input(name, per_token, DType::I32));
    let tables = b.input("tables", Shape::matrix(4, Symbol::Sequences), DType::I32);
    let out_ids = b.input("out_ids", Shape::row(Symbol::Outputs), DType::I32);
    let table = b.weight("table", Shape::matrix(N, 100), DType::Q8_0);
    let x = b.one("x", GetRows, &[table, ids]).unwrap();
    b.set_layer(Some(0));
    let scale = b.weight("scale", Shape::row(N), DType::F32);
    let normed = b.one("normed", RmsNorm { eps: 1e-5, to: DType::F32 }, &[x, scale]).unwrap();
    let region = |name: &str| Region {
        name: name.into(),
        layer: 0,
        dtype: DType::F16,
        heads: 2,
        head_dim: 32,
        window: None,
    };
    let (k, v) = (b.region(region("kv.0.k")), b.region(region("kv.0.v")));
    for (name, region) in [("store_k", k), ("store_v", v)] {
        let store = KvStore { region, heads: 2, head_dim: 32, context: 128, rope: None, bias: false };
        b.node(name, store, &[normed, positions, sequences, tables]).unwrap();
    }
    let attention =
        Attention { k, v, heads: 2, heads_kv: 2, head_dim: 32, scale: 0.125, soft_cap: None, window: None };
    let attended = b.one("attended", attention, &[normed, positions, sequences, tables]).unwrap();
    let square = b.weight("square", Shape::matrix(N, N), DType::F16);
    let projected = b.one("projected", MatMul, &[attended, square]).unwrap();
    let sum = b.one("sum", Add, &[x, projected]).unwrap();
    b.set_layer(None);
    let out = b.one("out", GetRows, &[sum, out_ids]).unwrap();
    b.output(out);
    b.finish()
}
