//! Searches with restarts: first at the bound, then between the bound and the best packing known.

use crate::pack::search::{Answer, Taste, search};
use crate::pack::sections::Board;

/// A packing that was found by searching.
pub(super) struct Improved {
    /// By life; `None` when nothing better was found.
    pub offsets: Option<Vec<u64>>,
    /// No packing of the board needs less, by exhausted searches; 0 when there was none.
    pub bytes_min: u64,
}

/// Nodes of a run. Most runs that succeed do so in few more nodes than there are lives; one that does not has gone wrong
/// early, and another order does better than more patience.
const RUN_NODES: u64 = 1000;
/// Runs of a block: four orders, each without and with regard to neighbours.
const RUNS: u64 = 8;
/// The first blocks take the orders as they are, with this many times the nodes of a run.
const PURE: [u64; 2] = [1, 4];
/// In later blocks a life counts up to this much more than its due, in 64ths.
const NOISE: [u64; 2] = [32, 64];
/// After so many blocks, and again after so many more, runs have twice the nodes, so that in the end one is exhaustive.
const PATIENCE: u64 = 64;
/// The share of the budget that is spent at the bound before more is asked for: one in so many nodes,
/// and the first block at any rate.
const AT_BOUND: u64 = 4;
/// A step down is the distance to the bound, halved once more after each block in vain up to this often.
const HALVINGS: u64 = 4;

/// Searches a packing of at most `target` bytes, or failing that one of less than `known`, with at most `budget` nodes,
/// which are added to `nodes`.
pub(super) fn climb(board: &Board, target: u64, known: u64, budget: u64, nodes: &mut u64) -> Improved {
    let unit = board.size.iter().fold(0, |unit, &size| gcd(unit, size));
    // Whole units: less than a unit more is no more, and `found` may only be too large.
    let (low, found) = (target / unit * unit, known.next_multiple_of(unit));
    let mut state = Climb { board, unit, low, found, improved: Improved { offsets: None, bytes_min: 0 } };
    let until = nodes.saturating_add(budget);
    let until_at_bound = *nodes + (budget / AT_BOUND).max(budget.min(RUNS * RUN_NODES));
    for block in 0.. {
        if *nodes >= until_at_bound || state.found <= low || state.low > low {
            break;
        }
        state.ask(low, block, until_at_bound, nodes);
    }
    // Then down from what is known: in large steps as long as they succeed, else in smaller ones with other orders.
    let mut block = 0;
    while *nodes < until && state.found > state.low {
        let distance = (state.found - state.low) / unit;
        let step = (distance >> (1 + block.min(HALVINGS - 1))).max(1);
        if !state.ask(state.found - step * unit, block, until, nodes) {
            block += 1;
        }
    }
    state.improved
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

struct Climb<'a> {
    board: &'a Board,
    /// Every offset is a sum of sizes, so only multiples of their common unit are worth asking for.
    unit: u64,
    /// Nothing lower is wanted, or possible.
    low: u64,
    /// The bytes of the best packing known.
    found: u64,
    improved: Improved,
}

impl Climb<'_> {
    /// Runs one block of searches at a capacity, each with another order; whether one finds a packing.
    fn ask(&mut self, capacity: u64, block: u64, until: u64, nodes: &mut u64) -> bool {
        let times = PURE.get(block as usize).copied().unwrap_or(1 << (block / PATIENCE).min(40));
        let mut noise = Noise(block);
        for run in 0..RUNS {
            let rank = rank(self.board, block, run, &mut noise);
            let taste = Taste { rank: &rank, snug: run >= RUNS / 2 };
            let run_nodes = (RUN_NODES * times).min(until - *nodes);
            match search(self.board, &taste, capacity, run_nodes, nodes) {
                Answer::Fits(offsets) => {
                    let ends = offsets.iter().zip(&self.board.size).map(|(offset, size)| offset + size);
                    self.found = ends.max().unwrap_or(0);
                    self.improved.offsets = Some(offsets);
                    return true;
                }
                Answer::Never => {
                    self.low = capacity + self.unit;
                    self.improved.bytes_min = self.low;
                    return false;
                }
                Answer::OutOfNodes => {}
            }
        }
        false
    }
}

/// The place of each life in the order of a run: by one of four keys, and in later blocks with noise.
fn rank(board: &Board, block: u64, run: u64, noise: &mut Noise) -> Vec<u32> {
    let load_max = u128::from(board.load.iter().copied().max().unwrap_or(1));
    let crowd = |i: usize| {
        let (first, last) = board.span[i];
        let load = board.load[first as usize..=last as usize].iter().copied().max().unwrap_or(0);
        u128::from(load) * 256 / load_max
    };
    let mut key = |i: usize| {
        let (size, steps) = (u128::from(board.size[i]), u128::from(board.steps[i]));
        let sections = u128::from(board.span[i].1 - board.span[i].0) + 1;
        let key = match run % 4 {
            0 => crowd(i).pow(8) * steps,
            1 => size * sections,
            2 => size * steps,
            _ => steps,
        };
        let most = if block < PURE.len() as u64 { 0 } else { NOISE[(block % 2) as usize] };
        key * u128::from(64 + noise.up_to(most))
    };
    let keys: Vec<u128> = (0..board.size.len()).map(&mut key).collect();
    let mut order: Vec<u32> = (0..board.size.len() as u32).collect();
    order.sort_by_key(|&i| std::cmp::Reverse((keys[i as usize], board.size[i as usize])));
    let mut rank = vec![0; order.len()];
    for (r, &i) in order.iter().enumerate() {
        rank[i as usize] = r as u32;
    }
    rank
}

/// Numbers without a pattern that matters, the same in every run of the program.
struct Noise(u64);

impl Noise {
    fn up_to(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % (most + 1)
    }
}
