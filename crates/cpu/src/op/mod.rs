//! The operations, one file each: where the operands are, how the work is cut, which kernel does it.

mod add;
mod attention;
mod get_rows;
mod glu;
mod kv_store;
mod mat_mul;
mod mat_mul_add;
mod mat_mul_glu;
mod mat_mul_id;
mod norm;
mod quantize;
mod rope;
mod rope_table;
mod route_experts;
mod scale;
mod sum_experts;

use std::collections::HashMap;

use backend::{At, BackendError, Call, Operand, SharedBytes, Window};
use graph::{DType, Extents, Op, RegionId, Shape};

use crate::Isa;
use crate::memory::{RegionMemory, Reserved};
use crate::pool::Team;

/// Work below this many bytes is not worth waking another thread for.
const BYTES_A_CHUNK: usize = 16 * 1024;

/// With so many tokens a product waits for its weights; with more, for the arithmetic.
const TOKENS_BOUND_BY_MEMORY: usize = 4;

/// One call, with what it needs to run.
pub(crate) struct Run<'a> {
    pub call: &'a Call,
    pub extents: &'a Extents,
    pub isa: Isa,
    pub pool: &'a Team<'a>,
    pub arena: &'a Reserved,
    pub regions: &'a HashMap<RegionId, RegionMemory>,
    pub weights: &'a [SharedBytes],
}

/// Whether there is a kernel for these types; the reason if not.
pub(crate) fn supports(op: &Op, inputs: &[DType]) -> Result<(), String> {
    match op {
        Op::GetRows(_) if inputs[0] == DType::A32 => Err("rows of A32 cannot be gathered".to_owned()),
        Op::MatMul(_) | Op::MatMulGlu(_) | Op::MatMulAdd(_) | Op::MatMulId(_) => {
            match products(op, inputs).iter().find(|t| !t.is_weight()) {
                Some(other) => Err(format!("no product with weights of type {other}")),
                None => Ok(()),
            }
        }
        Op::GetRows(_)
        | Op::RmsNorm(_)
        | Op::LayerNorm(_)
        | Op::Gelu(_)
        | Op::Quantize(_)
        | Op::RopeTable(_)
        | Op::Rope(_)
        | Op::KvStore(_)
        | Op::Attention(_)
        | Op::Glu(_)
        | Op::Add(_)
        | Op::View(_)
        | Op::Scale(_)
        | Op::SoftCap(_)
        | Op::RouteExperts(_)
        | Op::SumExperts(_)
        | Op::AddNorm(_) => Ok(()),
    }
}

/// The types of the weights of a product.
fn products<'a>(op: &Op, inputs: &'a [DType]) -> &'a [DType] {
    if matches!(op, Op::MatMulId(_) | Op::MatMulAdd(_)) { &inputs[1..2] } else { &inputs[1..] }
}

/// Working memory of one thread, for any run within `capacity`.
pub(crate) fn scratch_bytes_a_thread(
    isa: Isa,
    op: &Op,
    inputs: &[(Shape, DType)],
    capacity: &Extents,
) -> usize {
    match op {
        Op::MatMul(_) => mat_mul::scratch_bytes(isa, inputs, capacity),
        Op::MatMulGlu(_) => mat_mul_glu::scratch_bytes(isa, inputs, capacity),
        Op::MatMulAdd(_) => mat_mul_add::scratch_bytes(isa, inputs, capacity),
        Op::MatMulId(_) => mat_mul_id::scratch_bytes(isa, inputs, capacity),
        Op::KvStore(op) => kv_store::scratch_bytes(op),
        Op::Attention(op) => attention::scratch_bytes(isa, op, inputs, capacity),
        Op::RmsNorm(op) => norm::scratch_bytes(op.to, inputs),
        Op::AddNorm(op) => norm::scratch_bytes(op.to, inputs),
        Op::Glu(op) => norm::scratch_bytes(op.to, inputs),
        Op::Gelu(op) => norm::scratch_bytes(op.to, inputs),
        Op::GetRows(_)
        | Op::Quantize(_)
        | Op::RopeTable(_)
        | Op::Rope(_)
        | Op::LayerNorm(_)
        | Op::Add(_)
        | Op::Scale(_)
        | Op::SoftCap(_)
        | Op::RouteExperts(_)
        | Op::SumExperts(_)
        | Op::View(_) => 0,
    }
}

impl<'a> Run<'a> {
    /// Does the work.
    pub fn execute(&self) -> Result<(), BackendError> {
        match &self.call.op {
            Op::GetRows(_) => get_rows::run(self)?,
            Op::RmsNorm(op) => norm::rms_norm(self, op),
            Op::LayerNorm(op) => norm::layer_norm(self, op),
            Op::AddNorm(op) => norm::add_norm(self, op),
            Op::Quantize(_) => quantize::run(self),
            Op::MatMul(_) => mat_mul::run(self),
            Op::MatMulGlu(op) => mat_mul_glu::run(self, op),
            Op::MatMulAdd(_) => mat_mul_add::run(self),
            Op::RopeTable(op) => rope_table::run(self, op),
            Op::Rope(op) => rope::run(self, op),
            Op::KvStore(op) => kv_store::run(self, op)?,
            Op::Attention(op) => attention::run(self, op)?,
            Op::Glu(op) => glu::run(self, op),
            Op::Gelu(op) => glu::gelu(self, op),
            Op::Add(_) => add::run(self),
            Op::Scale(op) => scale::scale(self, op.factor),
            Op::SoftCap(op) => scale::soft_cap(self, op.cap),
            Op::RouteExperts(op) => route_experts::run(self, op),
            Op::MatMulId(_) => mat_mul_id::run(self)?,
            Op::SumExperts(_) => sum_experts::run(self),
            Op::View(_) => {}
        }
        Ok(())
    }

    /// Whether [`Run::announce`] has something to say.
    pub fn is_product(call: &Call) -> bool {
        matches!(call.op, Op::MatMul(_) | Op::MatMulGlu(_) | Op::MatMulAdd(_))
    }

    /// Before a run of another call: tells the threads which weights this one will read, if there are so few tokens that
    /// reading takes the time.
    pub fn announce(&self) {
        if !(1..=TOKENS_BOUND_BY_MEMORY).contains(&self.input(0).count) {
            return;
        }
        match &self.call.op {
            Op::MatMul(_) => mat_mul::announce(self),
            Op::MatMulGlu(_) => mat_mul_glu::announce(self),
            Op::MatMulAdd(_) => mat_mul_add::announce(self),
            _ => {}
        }
    }

    fn input(&self, index: usize) -> Rows<'a> {
        self.rows(&self.call.inputs[index])
    }

    fn output(&self, index: usize) -> Rows<'a> {
        self.rows(&self.call.outputs[index])
    }

    /// The operand as rows of memory.
    fn rows(&self, operand: &'a Operand) -> Rows<'a> {
        let ne = operand.shape.evaluate(self.extents);
        let (columns, count) = (ne[0], ne[1..].iter().product());
        let row_bytes = operand.dtype.row_bytes(columns);
        let base = match operand.at {
            At::Arena(window) => {
                assert!(row_bytes * count <= window.bytes, "{} is larger than its window", self.call.name);
                self.arena_at(window)
            }
            At::Weight(handle) => {
                let bytes = weight_bytes(&self.weights[handle.0 as usize]);
                assert!(row_bytes * count <= bytes.len(), "{}: a weight is too short", self.call.name);
                bytes.as_ptr().cast_mut()
            }
            At::Nowhere => std::ptr::null_mut(),
        };
        Rows { base, dtype: operand.dtype, columns, count, row_bytes, operand }
    }

    fn arena_at(&self, window: Window) -> *mut u8 {
        assert!(
            window.offset + window.bytes <= self.arena.len(),
            "{}: window outside the arena",
            self.call.name
        );
        // SAFETY: inside the arena, as asserted.
        unsafe { self.arena.base().add(window.offset) }
    }

    /// One thread's part of the planned scratch.
    ///
    /// # Safety
    /// No two calls with one worker index are in use at a time.
    #[allow(clippy::mut_from_ref)] // The pool keeps worker indexes apart.
    unsafe fn scratch(&self, worker: usize) -> &mut [u8] {
        let Some((base, bytes)) = self.scratch_parts() else { return &mut [] };
        // SAFETY: the part lies in the call's own window, and the caller keeps workers apart.
        unsafe { std::slice::from_raw_parts_mut(base.add(worker * bytes), bytes) }
    }

    /// Where the planned scratch begins, and the bytes of each thread's part of it.
    fn scratch_parts(&self) -> Option<(*mut u8, usize)> {
        let window = self.call.scratch?;
        Some((self.arena_at(window), window.bytes / self.pool.threads()))
    }

    /// Cuts `rows` of `row_bytes` each into chunks worth a thread's while and runs `f(first, end, worker)`.
    fn by_rows(&self, rows: usize, row_bytes: usize, f: &(dyn Fn(usize, usize, usize) + Sync)) {
        let step = (BYTES_A_CHUNK / row_bytes.max(1)).max(1);
        self.pool.run(rows.div_ceil(step), &|chunk, worker| {
            f(chunk * step, rows.min((chunk + 1) * step), worker);
        });
    }

    fn index_error(&self, what: &'static str, index: i32, count: usize) -> BackendError {
        BackendError::Index { call: self.call.name.clone(), what, index: i64::from(index), count }
    }
}

/// An operand of a run: rows of one type in memory that stays put while the call runs.
#[derive(Clone, Copy)]
struct Rows<'a> {
    base: *mut u8,
    dtype: DType,
    columns: usize,
    count: usize,
    row_bytes: usize,
    operand: &'a Operand,
}

// SAFETY: the pointer is into the arena or into a weight, both of which outlive the call; what threads
// write through it is disjoint, which each operation sees to.
unsafe impl Sync for Rows<'_> {}

impl<'a> Rows<'a> {
    /// True if nobody reads the output.
    fn is_nowhere(&self) -> bool {
        self.operand.at == At::Nowhere
    }

    /// Where a row begins.
    fn row(&self, index: usize) -> *mut u8 {
        assert!(index < self.count);
        assert!(!self.base.is_null());
        // SAFETY: inside the operand, as asserted.
        unsafe { self.base.add(index * self.row_bytes) }
    }

    /// Where a row of f32 begins.
    fn floats(&self, index: usize) -> *mut f32 {
        assert_eq!(self.dtype, DType::F32);
        self.row(index).cast()
    }

    /// All numbers of an i32 operand.
    fn integers(&self) -> &'a [i32] {
        assert_eq!(self.dtype, DType::I32);
        // SAFETY: the operand holds this many numbers, and nothing writes inputs of this type in a call.
        unsafe { std::slice::from_raw_parts(self.base.cast(), self.columns * self.count) }
    }

    /// All bytes of an operand that the call only reads.
    fn bytes(&self) -> &'a [u8] {
        // SAFETY: the operand is this long and the planner let nothing write it in this call.
        unsafe { std::slice::from_raw_parts(self.base, self.row_bytes * self.count) }
    }

    /// A row of f32 that the call only reads.
    fn float_row(&self, index: usize) -> &'a [f32] {
        // SAFETY: the row is this long and nothing writes it in this call.
        unsafe { std::slice::from_raw_parts(self.floats(index), self.columns) }
    }
}

fn weight_bytes(weight: &SharedBytes) -> &[u8] {
    (**weight).as_ref()
}

/// The first floats of a thread's scratch.
fn float_scratch(scratch: &mut [u8], count: usize) -> &mut [f32] {
    assert!(count * size_of::<f32>() <= scratch.len());
    assert!(scratch.as_ptr().cast::<f32>().is_aligned());
    // SAFETY: long enough and aligned, as asserted; every bit pattern is a float.
    unsafe { std::slice::from_raw_parts_mut(scratch.as_mut_ptr().cast(), count) }
}
