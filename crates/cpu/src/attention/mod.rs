//! Attention over a paged KV cache.
//!
//! The result of a token depends on its query, its position and the pages of its sequence, and on
//! nothing else: every tier walks the visible positions in ranges of [`RANGE`], and folds the
//! ranges from the left as NUMERICS says, however tokens are grouped into calls.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "aarch64")]
mod neon;
mod part;
mod scalar;
mod scratch;

use std::ops::Range;

use graph::DType;

use self::part::Part;
use crate::isa::Isa;
use crate::kv::kv_row_bytes;

/// Positions of a page of the cache. A page starts at a multiple of it.
pub const PAGE: usize = 32;
/// Positions of a range: the softmax of a range is relative to the largest score in it.
pub const RANGE: usize = 256;
/// Most tokens of a batch whose work may be cut into ranges too.
pub const FEW_TOKENS: usize = 8;

/// The keys or the values of one layer.
///
/// Position `i` of page `p` of head `h` of the cache is the row at
/// `base + p * page_bytes + (h * PAGE + i) * kv_row_bytes(dtype, head_dim)`.
#[derive(Clone, Copy, Debug)]
pub struct Cache {
    /// One of [`KV_TYPES`](crate::kv::KV_TYPES).
    pub dtype: DType,
    /// The first byte of page 0.
    pub base: *const u8,
    /// Bytes from a page to the next one.
    pub page_bytes: usize,
}

/// The attention of one layer for the tokens of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Attention<'a> {
    /// Heads of the queries, a multiple of `heads_kv`.
    pub heads: usize,
    /// Heads of the cache; head `h` of the queries reads head `h / (heads / heads_kv)`.
    pub heads_kv: usize,
    /// Elements of a head.
    pub head_dim: usize,
    /// Factor of the scores.
    pub scale: f32,
    /// Queries: head `h` of token `t` is at `q + t * q_stride + h * head_dim`.
    pub q: *const f32,
    /// Elements from a token's queries to the next one's.
    pub q_stride: usize,
    /// Results, laid out as the queries.
    pub out: *mut f32,
    /// Elements from a token's results to the next one's.
    pub out_stride: usize,
    /// Position of each token, not negative.
    pub positions: &'a [i32],
    /// Row of `page_tables` of each token.
    pub sequences: &'a [i32],
    /// Rows of page numbers, one row a sequence.
    pub page_tables: &'a [i32],
    /// Elements of a row of `page_tables`.
    pub table_stride: usize,
    /// The keys.
    pub k: Cache,
    /// The values.
    pub v: Cache,
    /// With a window of `w`, a token at `p` sees the positions from `p - w + 1` to `p`; without, all
    /// positions up to its own.
    pub window: Option<usize>,
    /// Scores become `cap tanh(score / cap)` before the softmax.
    pub soft_cap: Option<f32>,
}

// SAFETY: the pointers are used only by `attention`, whose caller promises that concurrent calls
// write different results.
unsafe impl Send for Attention<'_> {}
// SAFETY: as above.
unsafe impl Sync for Attention<'_> {}

impl Attention<'_> {
    /// Query heads that share a head of the cache.
    pub fn group(&self) -> usize {
        self.heads / self.heads_kv
    }

    /// The positions that a token sees.
    fn visible(&self, token: usize) -> Range<usize> {
        let end = position(self.positions[token]) + 1;
        let start = self.window.map_or(0, |window| end.saturating_sub(window));
        start..end
    }

    /// The ranges of which some token sees a position.
    pub fn ranges(&self, tokens: Range<usize>) -> Range<usize> {
        let visible = || tokens.clone().map(|token| self.visible(token));
        let start = visible().map(|v| v.start).min().unwrap_or(0);
        let end = visible().map(|v| v.end).max().unwrap_or(0);
        start / RANGE..end.div_ceil(RANGE)
    }

    /// The token and the query head of each row of some tokens at a head of the cache.
    fn rows(&self, tokens: Range<usize>, kv_head: usize) -> impl Iterator<Item = (usize, usize)> {
        let heads = kv_head * self.group()..(kv_head + 1) * self.group();
        tokens.flat_map(move |token| heads.clone().map(move |head| (token, head)))
    }

    /// The pages of a token's sequence.
    fn table(&self, token: usize) -> &[i32] {
        let row = position(self.sequences[token]) * self.table_stride;
        &self.page_tables[row..row + self.table_stride]
    }

    /// # Safety
    /// The token and the head exist in `q`.
    unsafe fn query(&self, token: usize, head: usize) -> *const f32 {
        // SAFETY: the caller's promise.
        unsafe { self.q.add(token * self.q_stride + head * self.head_dim) }
    }

    /// # Safety
    /// The token and the head exist in `out`.
    unsafe fn result(&self, token: usize, head: usize) -> *mut f32 {
        // SAFETY: the caller's promise.
        unsafe { self.out.add(token * self.out_stride + head * self.head_dim) }
    }
}

impl Cache {
    /// The row of `position`, in the pages of `table`.
    ///
    /// # Safety
    /// The page that the table names is inside the cache.
    unsafe fn row(&self, table: &[i32], head: usize, head_dim: usize, position_: usize) -> *const u8 {
        let page = position(table[position_ / PAGE]);
        let row = head * PAGE + position_ % PAGE;
        // SAFETY: the caller's promise.
        unsafe { self.base.add(page * self.page_bytes + row * kv_row_bytes(self.dtype, head_dim)) }
    }
}

/// A number that the runtime has checked not to be negative.
fn position(number: i32) -> usize {
    usize::try_from(number).expect("positions, sequences and visible pages are not negative")
}

/// Computes the query heads that read head `kv_head` of the cache, for some tokens of the batch.
///
/// Cells that a token does not see are never part of its result, whatever they hold.
///
/// # Safety
/// `q` and `out` hold all tokens and heads, as the fields say; every page of a visible position is
/// inside `k.base` and `v.base`, written, and aligned to an element (types without blocks). Nothing writes these
/// heads of these tokens of `q`, or the cache, meanwhile, and no other call writes the same heads of the same tokens.
/// `out` is `q`, with the same stride, or does not overlap it: the queries of a head are read for the last time before its
/// first result is written. `scratch` has at least [`attention_scratch_bytes`] bytes. The CPU can run `isa`.
pub unsafe fn attention(
    isa: Isa,
    task: &Attention,
    tokens: Range<usize>,
    kv_head: usize,
    scratch: &mut [u8],
) {
    assert!(task.heads.is_multiple_of(task.heads_kv));
    assert!(kv_head < task.heads_kv);
    assert!(task.window != Some(0));
    let bytes = attention_scratch_bytes(isa, task.head_dim, task.group(), tokens.len());
    assert!(scratch.len() >= bytes);
    // SAFETY: the caller's promise; that covers the instructions.
    unsafe {
        match isa.base() {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2::attention(task, tokens, kv_head, scratch),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon if neon::takes(task.head_dim) => neon::attention(task, tokens, kv_head, scratch),
            _ => scalar::attention(task, tokens, kv_head, scratch),
        }
    }
}

/// Bytes of scratch of a call with `group` query heads a head of the cache and at most `tokens`
/// tokens. So much is also enough for [`range_scratch_bytes`] and two parts of these tokens, or of
/// [`FEW_TOKENS`] of them.
pub fn attention_scratch_bytes(isa: Isa, head_dim: usize, group: usize, tokens: usize) -> usize {
    match isa.base() {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => avx2::scratch_bytes(head_dim, group * tokens),
        #[cfg(target_arch = "aarch64")]
        Isa::Neon if neon::takes(head_dim) => neon::scratch_bytes(head_dim, group * tokens),
        _ => scalar::scratch_bytes(head_dim, group, tokens),
    }
}

/// Floats of a part of the result: what `rows` query heads have of one range, or of several.
pub fn part_len(head_dim: usize, rows: usize) -> usize {
    part::len(head_dim, rows)
}

/// Bytes of scratch of [`attention_range`] with at most so many rows.
pub fn range_scratch_bytes(isa: Isa, head_dim: usize, rows: usize) -> usize {
    match isa.base() {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => avx2::range_scratch_bytes(head_dim, rows),
        #[cfg(target_arch = "aarch64")]
        Isa::Neon if neon::takes(head_dim) => neon::range_scratch_bytes(head_dim, rows),
        _ => scalar::range_scratch_bytes(head_dim),
    }
}

/// Computes what tokens of one sequence have of one range (number `range`), for the query heads that read head
/// `kv_head` of the cache. `part` has [`part_len`] floats for these rows.
///
/// Parts that are folded from the first range to the last, and written then, give what [`attention`] gives.
///
/// # Safety
/// As [`attention`], but `out` is not written; `scratch` has at least [`range_scratch_bytes`] bytes.
pub unsafe fn attention_range(
    isa: Isa,
    task: &Attention,
    tokens: Range<usize>,
    kv_head: usize,
    range: usize,
    part: &mut [f32],
    scratch: &mut [u8],
) {
    let rows = tokens.len() * task.group();
    assert!(task.sequences[tokens.clone()].iter().all(|s| *s == task.sequences[tokens.start]));
    assert!(scratch.len() >= range_scratch_bytes(isa, task.head_dim, rows));
    let mut part = Part::new(part, task.head_dim, rows);
    // SAFETY: the caller's promise; that covers the instructions.
    unsafe {
        match isa.base() {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2::range(task, tokens, kv_head, range, &mut part, scratch),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon if neon::takes(task.head_dim) => {
                neon::range(task, tokens, kv_head, range, &mut part, scratch)
            }
            _ => scalar::range(task, tokens, kv_head, range, &mut part, scratch),
        }
    }
}

/// Joins the part of a range, for `rows` query heads, to that of the ranges before it.
///
/// # Safety
/// The CPU can run `isa`.
pub unsafe fn fold_part(isa: Isa, head_dim: usize, rows: usize, all: &mut [f32], part: &mut [f32]) {
    let [mut all, part] = [all, part].map(|floats| Part::new(floats, head_dim, rows));
    match isa.base() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the caller's promise.
        Isa::Avx2 => unsafe { avx2::fold(&mut all, &part, head_dim) },
        _ => scalar::fold(&mut all, &part, head_dim),
    }
}

/// Writes the results of the rows of a part into which all ranges are folded.
///
/// # Safety
/// As [`attention`].
pub unsafe fn write_part(isa: Isa, task: &Attention, tokens: Range<usize>, kv_head: usize, part: &mut [f32]) {
    let part = Part::new(part, task.head_dim, tokens.len() * task.group());
    // SAFETY: the caller's promise; that covers the instructions.
    unsafe {
        match isa.base() {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2::write(task, tokens, kv_head, &part),
            _ => scalar::write(task, tokens, kv_head, &part),
        }
    }
}
