//! `route_experts`: which experts a token goes through, and how much each counts.

use graph::op::RouteExperts;

use super::Run;
use crate::math::{LANES, exp, tree};

/// The chosen probabilities are divided by their sum, but by no less than this.
const SUM_MIN: f32 = 6.1e-5;

pub(super) fn run(run: &Run, op: &RouteExperts) {
    let (logits, ids, weights) = (run.input(0), run.output(0), run.output(1));
    // Choosing costs about as much as moving each logit once a choice.
    run.by_rows(logits.count, logits.row_bytes * op.used, &|first, end, _| {
        for row in first..end {
            // SAFETY: rows of the outputs, each written by this thread alone.
            let (ids, weights) = unsafe {
                let ids = std::slice::from_raw_parts_mut(ids.row(row).cast::<i32>(), op.used);
                (ids, std::slice::from_raw_parts_mut(weights.floats(row), op.used))
            };
            choose(logits.float_row(row), ids, weights);
        }
    });
}

/// The largest logits, best first, of equal ones the lower number; their softmax among all, divided by its sum.
fn choose(logits: &[f32], ids: &mut [i32], weights: &mut [f32]) {
    for k in 0..ids.len() {
        let (before, rest) = ids.split_at_mut(k);
        let free = (0..logits.len() as i32).filter(|id| !before.contains(id));
        // A NaN is never larger: it is chosen only when nothing else is left.
        let best =
            free.reduce(|best, id| if logits[id as usize] > logits[best as usize] { id } else { best });
        rest[0] = best.expect("there are at least as many experts as choices");
    }
    let max = logits[ids[0] as usize];
    let mut sums = [0.0; LANES];
    for (i, logit) in logits.iter().enumerate() {
        sums[i % LANES] += exp(logit - max);
    }
    let sum = tree(sums);
    let mut chosen = 0.0;
    for (weight, id) in weights.iter_mut().zip(&*ids) {
        *weight = exp(logits[*id as usize] - max) / sum;
        chosen += *weight;
    }
    let divisor = if chosen < SUM_MIN { SUM_MIN } else { chosen };
    weights.iter_mut().for_each(|weight| *weight /= divisor);
}

#[cfg(test)]
mod tests {
    use super::choose;

    #[test]
    fn the_best_experts_come_first_and_their_weights_are_a_softmax_among_them() {
        let logits = [0.5, 2.0, -1.0, 2.0, 1.0];
        let (mut ids, mut weights) = ([0; 3], [0.0; 3]);
        choose(&logits, &mut ids, &mut weights);
        assert_eq!(ids, [1, 3, 4]);
        let e: Vec<f64> = ids.iter().map(|i| libm::exp(f64::from(logits[*i as usize]))).collect();
        for (weight, e_i) in weights.iter().zip(&e) {
            assert!((f64::from(*weight) - e_i / e.iter().sum::<f64>()).abs() < 1e-6);
        }
    }

    #[test]
    fn experts_without_a_chance_do_not_divide_by_zero() {
        let logits = [f32::NEG_INFINITY, 0.0];
        let (mut ids, mut weights) = ([0; 2], [0.0; 2]);
        choose(&logits, &mut ids, &mut weights);
        assert_eq!((ids, weights), ([1, 0], [1.0, 0.0]));
    }
}
