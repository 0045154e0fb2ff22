use std::ops::Range;

use cpu::attention::{
    Attention, Cache, PAGE, attention, attention_range, attention_scratch_bytes, fold_part, part_len,
    range_scratch_bytes, write_part,
};
use cpu::isa::Isa;
use cpu::kv::{KV_TYPES, kv_row_bytes, load_row, store_row};
use graph::DType;

use crate::support::{Random, assert_near, assert_same, vector_tiers};

/// A cache of several sequences whose pages are scattered; every cell that was not written is NaN.
struct World {
    /// Of keys and of values.
    types: Types,
    dim: usize,
    group: usize,
    heads_kv: usize,
    window: Option<usize>,
    tables: Vec<i32>,
    pages_a_sequence: usize,
    // Words, so that rows are aligned.
    k: Vec<u64>,
    v: Vec<u64>,
}

/// The types of keys and of values.
type Types = (DType, DType);

/// A token of a batch: sequence and position.
type Token = (i32, i32);

impl World {
    /// Sequences of these lengths, all written with random rows.
    fn new(
        random: &mut Random,
        types: Types,
        dim: usize,
        heads: (usize, usize),
        window: Option<usize>,
        lengths: &[usize],
    ) -> World {
        let (group, heads_kv) = heads;
        let longest = lengths.iter().max().unwrap();
        let pages_a_sequence = longest.div_ceil(PAGE) + 1;
        let pages = lengths.len() * pages_a_sequence;
        let mut order: Vec<i32> = (0..pages as i32).collect();
        for i in (1..pages).rev() {
            order.swap(i, random.below(i + 1));
        }
        let words = |dtype| (pages * heads_kv * PAGE * kv_row_bytes(dtype, dim)).div_ceil(8);
        let mut world = World {
            types,
            dim,
            group,
            heads_kv,
            window,
            tables: order,
            pages_a_sequence,
            // All ones is NaN in types without blocks, and a NaN scale in those of blocks.
            k: vec![u64::MAX; words(types.0)],
            v: vec![u64::MAX; words(types.1)],
        };
        for (sequence, length) in lengths.iter().enumerate() {
            for position in 0..*length {
                for head in 0..heads_kv {
                    let rows = [random.floats(dim, 2.0), random.floats(dim, 2.0)];
                    world.write(sequence, position, head, &rows);
                }
            }
            // Pages beyond the end do not exist.
            let table = &mut world.tables[sequence * pages_a_sequence..][..pages_a_sequence];
            table[length.div_ceil(PAGE)..].fill(-1);
        }
        world
    }

    fn cache(&self, dtype: DType, data: &[u64]) -> Cache {
        let page_bytes = self.heads_kv * PAGE * kv_row_bytes(dtype, self.dim);
        Cache { dtype, base: data.as_ptr().cast(), page_bytes }
    }

    fn offset(&self, dtype: DType, sequence: usize, position: usize, head: usize) -> usize {
        let page = self.tables[sequence * self.pages_a_sequence + position / PAGE];
        let row = (page as usize * self.heads_kv + head) * PAGE + position % PAGE;
        row * kv_row_bytes(dtype, self.dim)
    }

    /// Writes a key and a value.
    fn write(&mut self, sequence: usize, position: usize, head: usize, rows: &[Vec<f32>; 2]) {
        let (type_k, type_v) = self.types;
        let at = |dtype| self.offset(dtype, sequence, position, head);
        let at = [at(type_k), at(type_v)];
        let data = [(type_k, &mut self.k), (type_v, &mut self.v)];
        for (((dtype, data), row), at) in data.into_iter().zip(rows).zip(at) {
            // SAFETY: the row lies in the cache.
            unsafe {
                let dst = data.as_mut_ptr().cast::<u8>().add(at);
                store_row(Isa::Scalar, dtype, row.as_ptr(), self.dim, dst);
            }
        }
    }

    /// The rows of keys or values that a range of positions has.
    fn rows(
        &self,
        dtype: DType,
        data: &[u64],
        sequence: usize,
        head: usize,
        range: Range<usize>,
    ) -> Vec<f32> {
        let mut rows = vec![0.0; range.len() * self.dim];
        for (row, position) in rows.chunks_mut(self.dim).zip(range) {
            // SAFETY: the row lies in the cache.
            unsafe {
                let src = data.as_ptr().cast::<u8>();
                let src = src.add(self.offset(dtype, sequence, position, head));
                load_row(Isa::Scalar, dtype, src, self.dim, row.as_mut_ptr());
            }
        }
        rows
    }

    /// Some shapes have capped scores.
    fn soft_cap(&self) -> Option<f32> {
        self.dim.is_multiple_of(3).then_some(4.0)
    }

    fn width(&self) -> usize {
        self.group * self.heads_kv * self.dim
    }

    /// Calls `f` with the attention of a batch. Queries and results are where the pointers say.
    fn with_task(&self, tokens: &[Token], (q, out): (*const f32, *mut f32), f: impl FnOnce(&Attention)) {
        let (sequences, positions): (Vec<i32>, Vec<i32>) = tokens.iter().copied().unzip();
        f(&Attention {
            heads: self.group * self.heads_kv,
            heads_kv: self.heads_kv,
            head_dim: self.dim,
            scale: 0.3,
            q,
            q_stride: self.width(),
            out,
            out_stride: self.width(),
            positions: &positions,
            sequences: &sequences,
            page_tables: &self.tables,
            table_stride: self.pages_a_sequence,
            k: self.cache(self.types.0, &self.k),
            v: self.cache(self.types.1, &self.v),
            window: self.window,
            soft_cap: self.soft_cap(),
        });
    }

    /// Attention of a batch, computed in calls of the given numbers of tokens.
    fn run(&self, isa: Isa, tokens: &[Token], q: &[f32], calls: &[usize]) -> Vec<f32> {
        let mut out = vec![f32::NAN; q.len()];
        self.run_at(isa, tokens, (q.as_ptr(), out.as_mut_ptr()), calls);
        out
    }

    /// The same with the results over the queries.
    fn run_in_place(&self, isa: Isa, tokens: &[Token], q: &[f32], calls: &[usize]) -> Vec<f32> {
        let mut out = q.to_vec();
        let all = out.as_mut_ptr();
        self.run_at(isa, tokens, (all, all), calls);
        out
    }

    /// Queries and results are where the pointers say, as long as the batch.
    fn run_at(&self, isa: Isa, tokens: &[Token], at: (*const f32, *mut f32), calls: &[usize]) {
        let most = calls.iter().copied().max().unwrap_or(0);
        let mut scratch = vec![0xffu8; attention_scratch_bytes(isa, self.dim, self.group, most)];
        self.with_task(tokens, at, |task| {
            let mut start = 0;
            for call in calls {
                for kv_head in 0..self.heads_kv {
                    let tokens = start..start + call;
                    // SAFETY: all visible pages are written, and `out` is as large as `q`, and `q` or apart from it.
                    unsafe { attention(isa, task, tokens, kv_head, &mut scratch) };
                }
                start += call;
            }
            assert_eq!(start, tokens.len());
        });
    }

    /// The same over the queries and range by range, the last one first, for up to `most` tokens of a sequence at
    /// a time.
    fn run_ranges(&self, isa: Isa, tokens: &[Token], q: &[f32], most: usize) -> Vec<f32> {
        let mut scratch = vec![0xffu8; range_scratch_bytes(isa, self.dim, self.group * most)];
        let mut out = q.to_vec();
        let all = out.as_mut_ptr();
        self.with_task(tokens, (all, all), |task| {
            let mut start = 0;
            while start < tokens.len() {
                let same = tokens[start..].iter().take(most).take_while(|t| t.0 == tokens[start].0);
                let part = start..start + same.count();
                start = part.end;
                for kv_head in 0..self.heads_kv {
                    // SAFETY: as above.
                    unsafe { self.by_ranges(isa, task, part.clone(), kv_head, &mut scratch) };
                }
            }
        });
        out
    }

    /// # Safety
    /// As [`attention`].
    unsafe fn by_ranges(
        &self,
        isa: Isa,
        task: &Attention,
        tokens: Range<usize>,
        kv_head: usize,
        scratch: &mut [u8],
    ) {
        let rows = tokens.len() * self.group;
        let ranges = task.ranges(tokens.clone());
        let mut parts = vec![vec![f32::NAN; part_len(self.dim, rows)]; ranges.len()];
        for (range, part) in ranges.zip(&mut parts).rev() {
            // SAFETY: the caller's promise.
            unsafe { attention_range(isa, task, tokens.clone(), kv_head, range, part, scratch) };
        }
        let (all, rest) = parts.split_first_mut().unwrap();
        // SAFETY: the caller's promise.
        unsafe {
            for part in rest {
                fold_part(isa, self.dim, rows, all, part);
            }
            write_part(isa, task, tokens, kv_head, all);
        }
    }

    fn expected(&self, tokens: &[Token], q: &[f32]) -> Vec<f32> {
        let mut out = Vec::new();
        for ((sequence, position), q) in tokens.iter().zip(q.chunks(self.width())) {
            for (head, q) in q.chunks(self.dim).enumerate() {
                let end = *position as usize + 1;
                let start = self.window.map_or(0, |w| end.saturating_sub(w));
                let rows =
                    |dtype, data| self.rows(dtype, data, *sequence as usize, head / self.group, start..end);
                out.extend(reference::attention::attention(
                    q,
                    &rows(self.types.0, &self.k),
                    &rows(self.types.1, &self.v),
                    0.3,
                    self.soft_cap(),
                ));
            }
        }
        out
    }
}

fn tokens_of(sequence: i32, positions: Range<i32>) -> Vec<Token> {
    positions.map(|position| (sequence, position)).collect()
}

/// Shapes: (types, head_dim, (group, heads_kv), window).
type Shape = (Types, usize, (usize, usize), Option<usize>);

const fn both(dtype: DType) -> Types {
    (dtype, dtype)
}

const SHAPES: [Shape; 15] = [
    (both(DType::F16), 64, (3, 2), None),
    (both(DType::F32), 64, (1, 2), Some(40)),
    (both(DType::Q8_0), 64, (2, 1), None),
    (both(DType::F16), 20, (4, 1), None),
    (both(DType::F32), 3, (2, 1), Some(300)),
    (both(DType::F16), 72, (1, 1), Some(1)),
    (both(DType::F16), 80, (8, 1), None),
    (both(DType::F32), 16, (9, 1), None),
    (both(DType::Q8_0), 96, (3, 1), Some(65)),
    (both(DType::F16), 128, (5, 1), None),
    (both(DType::BF16), 64, (3, 1), None),
    (both(DType::BF16), 13, (2, 2), Some(290)),
    (both(DType::Q4_0), 64, (3, 2), None),
    (both(DType::Q4_0), 96, (9, 1), Some(65)),
    ((DType::BF16, DType::F16), 72, (1, 1), Some(33)),
];

/// Every pair of types, on heads of one block; some pairs with a window.
fn pairs() -> impl Iterator<Item = Shape> {
    let pairs = KV_TYPES.into_iter().flat_map(|k| KV_TYPES.map(|v| (k, v)));
    pairs.enumerate().map(|(i, types)| (types, 32, (1 + i % 4, 1), [None, Some(70), Some(300)][i % 3]))
}

/// Few tokens of one long sequence, on both sides of where a range begins.
fn short(random: &mut Random, shape: Shape) -> (World, Vec<Token>, Vec<f32>) {
    let (types, dim, heads, window) = shape;
    let world = World::new(random, types, dim, heads, window, &[300]);
    let tokens = tokens_of(0, 250..260);
    let q = random.floats(tokens.len() * world.width(), 2.0);
    (world, tokens, q)
}

/// A batch of a long sequence, some tokens of others, and a jump back.
fn mixed(random: &mut Random, shape: Shape) -> (World, Vec<Token>, Vec<f32>) {
    let (types, dim, heads, window) = shape;
    let world = World::new(random, types, dim, heads, window, &[600, 37, 256]);
    let mut tokens = tokens_of(0, 235..275);
    tokens.extend(tokens_of(1, 30..37));
    tokens.extend([(0, 599), (2, 255), (2, 254), (1, 0), (0, 511), (0, 512)]);
    let q = random.floats(tokens.len() * world.width(), 2.0);
    (world, tokens, q)
}

#[test]
fn scalar_attention_is_near_the_reference() {
    let mut random = Random::new(11);
    for shape in SHAPES {
        let (world, tokens, q) = mixed(&mut random, shape);
        let ours = world.run(Isa::Scalar, &tokens, &q, &[tokens.len()]);
        assert_near(&ours, &world.expected(&tokens, &q), 1e-5, "attention");
    }
}

#[test]
fn results_over_the_queries_are_the_same() {
    let mut random = Random::new(14);
    for shape in SHAPES {
        for (world, tokens, q) in [mixed(&mut random, shape), short(&mut random, shape)] {
            let calls = [3, tokens.len() - 4, 1];
            for isa in vector_tiers().chain([Isa::Scalar]) {
                let apart = world.run(isa, &tokens, &q, &calls);
                assert_same(&apart, &world.run_in_place(isa, &tokens, &q, &calls), "attention in place");
            }
        }
    }
}

#[test]
fn attention_has_the_same_bits_in_every_tier_and_however_it_is_cut() {
    let mut random = Random::new(12);
    for shape in SHAPES {
        let (world, tokens, q) = mixed(&mut random, shape);
        let scalar = world.run(Isa::Scalar, &tokens, &q, &[tokens.len()]);
        for isa in vector_tiers().chain([Isa::Scalar]) {
            let mut cuts = vec![vec![tokens.len()], vec![1; tokens.len()]];
            for largest in [4, 20] {
                let mut cut = Vec::new();
                let mut left = tokens.len();
                while left > 0 {
                    cut.push(left.min(1 + random.below(largest)));
                    left -= cut.last().unwrap();
                }
                cuts.push(cut);
            }
            for cut in cuts {
                let out = world.run(isa, &tokens, &q, &cut);
                assert_same(&scalar, &out, &format!("{isa:?} {shape:?} {cut:?}"));
            }
            for most in [1, 3, 8] {
                let out = world.run_ranges(isa, &tokens, &q, most);
                assert_same(&scalar, &out, &format!("{isa:?} {shape:?}, ranges of {most}"));
            }
        }
    }
}

#[test]
fn every_pair_of_types_is_near_the_reference_and_has_the_same_bits_in_every_tier_and_cut() {
    let mut random = Random::new(18);
    for shape in pairs() {
        let (world, tokens, q) = short(&mut random, shape);
        let scalar = world.run(Isa::Scalar, &tokens, &q, &[tokens.len()]);
        assert_near(&scalar, &world.expected(&tokens, &q), 1e-5, &format!("{shape:?}"));
        for isa in vector_tiers() {
            for cut in [vec![10], vec![1; 10]] {
                assert_same(&scalar, &world.run(isa, &tokens, &q, &cut), &format!("{shape:?} {cut:?}"));
            }
        }
    }
}

#[test]
fn a_prompt_has_the_same_bits_as_its_tokens_alone() {
    let mut random = Random::new(13);
    for isa in vector_tiers() {
        let world = World::new(&mut random, both(DType::F16), 64, (3, 1), None, &[300]);
        let tokens = tokens_of(0, 0..300);
        let q = random.floats(tokens.len() * world.width(), 1.0);
        let whole = world.run(isa, &tokens, &q, &[300]);
        assert_same(&whole, &world.run(isa, &tokens, &q, &[1; 300]), "alone");
        assert_same(&whole, &world.run(isa, &tokens, &q, &[32, 64, 3, 201]), "cut");
    }
}

#[test]
fn sequences_side_by_side_equal_each_alone() {
    let mut random = Random::new(14);
    for isa in vector_tiers().chain([Isa::Scalar]) {
        let world = World::new(&mut random, both(DType::F16), 32, (2, 2), None, &[70, 300, 5]);
        let tokens = [(1, 299), (0, 69), (2, 4), (0, 3), (1, 120)];
        let q = random.floats(tokens.len() * world.width(), 1.0);
        let together = world.run(isa, &tokens, &q, &[5]);
        for (i, token) in tokens.iter().enumerate() {
            let part = i * world.width()..(i + 1) * world.width();
            let alone = world.run(isa, &[*token], &q[part.clone()], &[1]);
            assert_same(&alone, &together[part], "sequence");
        }
    }
}

#[test]
fn cells_that_a_token_does_not_see_do_not_show() {
    let mut random = Random::new(15);
    for window in [None, Some(50)] {
        for dtype in KV_TYPES {
            let mut world = World::new(&mut random, both(dtype), 32, (3, 1), window, &[290]);
            let tokens = tokens_of(0, 270..280);
            let q = random.floats(tokens.len() * world.width(), 1.0);
            let run = |world: &World| world.run(Isa::Scalar, &tokens, &q, &[10]);
            let before = run(&world);
            assert!(before.iter().all(|x| x.is_finite()));
            let poison = [vec![f32::NAN; 32], vec![f32::NAN; 32]];
            let hidden = (280..290).chain(0..window.map_or(0, |w| 270 + 1 - w));
            for position in hidden {
                world.write(0, position, 0, &poison);
            }
            if window.is_some() {
                // Pages before the window have been given back.
                world.tables[..(270 + 1 - 50) / PAGE].fill(-1);
            }
            assert_same(&before, &run(&world), "scalar");
            for isa in vector_tiers() {
                for cut in [vec![10], vec![1; 10]] {
                    let after = world.run(isa, &tokens, &q, &cut);
                    assert_same(&before, &after, "vector");
                }
                assert_same(&before, &world.run_ranges(isa, &tokens, &q, 8), "ranges");
            }
        }
    }
}

#[test]
fn a_huge_key_keeps_a_row_of_f16_finite() {
    let mut random = Random::new(16);
    for isa in vector_tiers().chain([Isa::Scalar]) {
        let mut world = World::new(&mut random, both(DType::F16), 32, (1, 1), None, &[40]);
        let mut rows = [random.floats(32, 1.0), random.floats(32, 1.0)];
        rows[0][5] = 7e4;
        world.write(0, 20, 0, &rows);
        let tokens = tokens_of(0, 0..40);
        let q = random.floats(40 * 32, 1.0);
        let out = world.run(isa, &tokens, &q, &[40]);
        assert!(out.iter().all(|x| x.is_finite()));
    }
}

#[test]
fn a_query_of_nan_is_nan_and_harms_no_other() {
    let mut random = Random::new(17);
    for isa in vector_tiers().chain([Isa::Scalar]) {
        let world = World::new(&mut random, both(DType::F16), 32, (1, 1), None, &[300]);
        let tokens = tokens_of(0, 280..300);
        let mut q = random.floats(20 * 32, 1.0);
        let before = world.run(isa, &tokens, &q, &[20]);
        q[7 * 32] = f32::NAN;
        let after = world.run(isa, &tokens, &q, &[20]);
        assert!(after[7 * 32..8 * 32].iter().all(|x| x.is_nan()));
        assert_same(&before[..7 * 32], &after[..7 * 32], "before");
        assert_same(&before[8 * 32..], &after[8 * 32..], "after");
    }
}
