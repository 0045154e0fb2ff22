//! A product that is added at once, against the product and the addition after it.

use std::sync::Arc;

use backend::{At, Backend, Call, Device, Operand, Window};
use cpu::isa::Isa;
use cpu::{Cpu, ThreadPool};
use graph::op::{Add, MatMul, MatMulAdd};
use graph::{DType, Extents, Op, Shape, Symbol};

use crate::support::{Random, TYPES, pack, tiers};

/// Where a value lies: windows one behind the other.
struct Arena {
    end: usize,
}

impl Arena {
    fn window(&mut self, bytes: usize) -> Window {
        let offset = self.end;
        self.end = (offset + bytes).next_multiple_of(64);
        Window { offset, bytes }
    }
}

/// A product of random numbers and what it is added to.
struct Case {
    dtype: DType,
    columns: usize,
    rows: usize,
    /// Of the run, and the most that there is room for.
    tokens: (usize, usize),
    weight: Vec<u8>,
    x: Vec<f32>,
    residual: Vec<f32>,
}

impl Case {
    fn new(
        random: &mut Random,
        dtype: DType,
        columns: usize,
        rows: usize,
        tokens: usize,
        capacity: usize,
    ) -> Case {
        let columns = columns.next_multiple_of(dtype.block_elements().max(32));
        Case {
            dtype,
            columns,
            rows,
            tokens: (tokens, capacity),
            weight: random.weights(dtype, columns * rows),
            x: random.activations(columns * tokens),
            residual: random.activations(rows * tokens),
        }
    }

    /// The sums, by the fused call (over the residual or not), or by two calls.
    fn run(&self, isa: Isa, threads: usize, fused: Option<bool>) -> Vec<f32> {
        let mut cpu = Cpu::new(Arc::new(ThreadPool::new(threads)), isa);
        let extents = |tokens| Extents { tokens, outputs: 1, sequences: 1 };
        let (run, capacity) = (extents(self.tokens.0), extents(self.tokens.1));
        let (x, stride) = pack(self.dtype, &self.x, self.columns);
        let x_type = if self.dtype.is_quantized() { DType::A32 } else { DType::F32 };
        let wide = Shape::matrix(self.columns, Symbol::Tokens);
        let sums = Shape::matrix(self.rows, Symbol::Tokens);
        let weight_shape = Shape::matrix(self.columns, self.rows);
        let handle = cpu.register_weight("weight", Arc::new(self.weight.clone())).unwrap();
        let weight = Operand { shape: weight_shape, dtype: self.dtype, at: At::Weight(handle) };

        let mut arena = Arena { end: 0 };
        let x_at = arena.window(stride * self.tokens.1);
        let sums_bytes = sums.bytes(DType::F32, &capacity);
        let [residual_at, product_at, out_at] = [0; 3].map(|_| arena.window(sums_bytes));
        let at = |window| Operand { shape: sums, dtype: DType::F32, at: At::Arena(window) };
        let x_operand = Operand { shape: wide, dtype: x_type, at: At::Arena(x_at) };
        let mut call = |op: Op, inputs: Vec<Operand>, out: Window| {
            let metas: Vec<_> = inputs.iter().map(|o| (o.shape, o.dtype)).collect();
            assert_eq!(op.infer(&metas), Ok(vec![(sums, DType::F32)]));
            let bytes = cpu.scratch_bytes(&op, &metas, &capacity);
            let scratch = (bytes > 0).then(|| arena.window(bytes));
            Call { op, inputs, outputs: vec![at(out)], scratch, name: "call".to_owned() }
        };
        let (calls, out_at) = match fused {
            Some(in_place) => {
                let out = if in_place { residual_at } else { out_at };
                (vec![call(MatMulAdd.into(), vec![x_operand, weight, at(residual_at)], out)], out)
            }
            None => {
                let multiply = call(MatMul.into(), vec![x_operand, weight], product_at);
                (vec![multiply, call(Add.into(), vec![at(residual_at), at(product_at)], out_at)], out_at)
            }
        };

        // A guard behind all windows, the last of which is scratch.
        let guard = arena.window(64);
        cpu.reserve_arena(arena.end).unwrap();
        let floats = |x: &[f32]| x.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>();
        cpu.write(x_at, &x).unwrap();
        cpu.write(residual_at, &floats(&self.residual)).unwrap();
        cpu.write(guard, &[0xa5; 64]).unwrap();
        cpu.run(&calls.into(), &run).unwrap();
        cpu.synchronize().unwrap();
        let mut behind = [0; 64];
        cpu.read(guard, &mut behind).unwrap();
        assert_eq!(behind, [0xa5; 64], "written behind the scratch");
        let mut found = vec![0; sums.bytes(DType::F32, &run)];
        cpu.read(out_at, &mut found).unwrap();
        found.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
    }

    /// The fused call gives the bits of the two calls in every tier, on any number of threads, over the residual or
    /// not.
    fn check(&self) {
        let what = format!("{} {}x{}, {:?} tokens", self.dtype, self.columns, self.rows, self.tokens);
        let bits = |x: Vec<f32>| x.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        let expected = bits(self.run(Isa::Scalar, 1, None));
        for isa in tiers().chain([Isa::Scalar]) {
            for (threads, in_place) in [(1, true), (3, true), (2, false)] {
                let found = bits(self.run(isa, threads, Some(in_place)));
                assert!(found == expected, "{what}: {isa}, {threads} threads, in place: {in_place}");
            }
        }
    }
}

#[test]
fn a_product_that_is_added_at_once_has_the_bits_of_product_and_addition() {
    let mut random = Random(0x1357_0000_0246_0001);
    for dtype in TYPES {
        for _ in 0..6 {
            let (rows, tokens) = (1 + random.below(100), 1 + random.below(40));
            let columns = 32 * (1 + random.below(4));
            let capacity = tokens + random.below(3) * 20;
            Case::new(&mut random, dtype, columns, rows, tokens, capacity).check();
        }
    }
}

/// On both sides of where tokens go in several parts, with room for as many or for more.
#[test]
fn many_tokens_are_added_in_parts() {
    let mut random = Random(0x1357_0000_0246_0003);
    for (tokens, capacity) in
        [(127, 128), (128, 128), (129, 129), (256, 300), (257, 300), (5, 600), (600, 600)]
    {
        for dtype in [DType::Q8_0, DType::F32] {
            Case::new(&mut random, dtype, 32, 35, tokens, capacity).check();
        }
    }
}

#[test]
fn sums_are_near_the_reference() {
    let mut random = Random(0x1357_0000_0246_0005);
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let case = Case::new(&mut random, dtype, 96, 40, 7, 7);
        let values = reference::matmul::dequantize(dtype, &case.weight);
        let products = reference::matmul::matmul(&values, case.columns, &case.x, 7);
        let expected = reference::elementwise::add(&case.residual, &products);
        let found = case.run(Isa::Scalar, 1, Some(true));
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() <= 1e-4, "{dtype}: {found}, expected {expected}");
        }
    }
}
