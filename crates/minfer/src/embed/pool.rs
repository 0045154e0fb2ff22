//! Rows to one vector, and its length. Sums are in f64, in the order of tokens and of numbers, and rounded once.

/// What an embedding is divided by, so that lengths do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalize {
    /// Nothing: as the model gives it.
    Off,
    /// Its largest number becomes 32,760, for who stores 16-bit integers.
    MaxAbs,
    /// The sum of its magnitudes.
    Taxicab,
    /// Its length: a dot product of two embeddings is the cosine of their angle.
    Euclidean,
    /// The norm of this exponent, from 3 on.
    P(u32),
}

/// The largest number after [`Normalize::MaxAbs`].
const MAX_ABS: f64 = 32760.0;

impl Normalize {
    /// By llama.cpp's number: -1 off, 0 largest magnitude, 1 taxicab, 2 Euclidean, and exponents beyond.
    pub fn from_number(number: i64) -> Option<Normalize> {
        Some(match number {
            -1 => Normalize::Off,
            0 => Normalize::MaxAbs,
            1 => Normalize::Taxicab,
            2 => Normalize::Euclidean,
            p => Normalize::P(u32::try_from(p).ok()?),
        })
    }

    /// What the numbers are divided by; 0 where all are 0.
    fn divisor(self, values: &[f64]) -> f64 {
        let magnitudes = || values.iter().map(|x| x.abs());
        let largest = magnitudes().fold(0.0, f64::max);
        match self {
            Normalize::Off => 1.0,
            Normalize::MaxAbs => largest / MAX_ABS,
            Normalize::Taxicab => magnitudes().sum(),
            Normalize::Euclidean => values.iter().map(|x| x * x).sum::<f64>().sqrt(),
            // Relative to the largest, so that no power is beyond f64.
            Normalize::P(p) if largest > 0.0 => {
                let powers: f64 = magnitudes().map(|x| libm::pow(x / largest, f64::from(p))).sum();
                largest * libm::pow(powers, 1.0 / f64::from(p))
            }
            Normalize::P(_) => 0.0,
        }
    }
}

/// The rows of a text, added.
pub(super) struct Pool {
    sums: Vec<f64>,
    rows: usize,
}

impl Pool {
    /// Of so many of the first numbers of each row.
    pub fn new(dimensions: usize) -> Pool {
        Pool { sums: vec![0.0; dimensions], rows: 0 }
    }

    pub fn add(&mut self, row: &[f32]) {
        self.sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
        self.rows += 1;
    }

    /// The mean of the rows, normalized; numbers that are all 0 stay so.
    pub fn finish(self, normalize: Normalize) -> Vec<f32> {
        assert!(self.rows > 0, "every text has a row");
        let means: Vec<f64> = self.sums.iter().map(|sum| sum / self.rows as f64).collect();
        let divisor = normalize.divisor(&means);
        means.iter().map(|x| if divisor > 0.0 { (x / divisor) as f32 } else { 0.0 }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &[&[f32]], normalize: Normalize) -> Vec<f32> {
        let mut pool = Pool::new(2);
        rows.iter().for_each(|row| pool.add(row));
        pool.finish(normalize)
    }

    #[test]
    fn rows_are_cut_then_averaged_then_normalized() {
        let rows: [&[f32]; 2] = [&[2.0, -5.0, 100.0], &[4.0, -3.0, 7.0]];
        assert_eq!(of(&rows, Normalize::Off), [3.0, -4.0]);
        assert_eq!(of(&rows, Normalize::Euclidean), [0.6, -0.8]);
        assert_eq!(of(&rows, Normalize::Taxicab), [3.0 / 7.0, -4.0 / 7.0]);
        assert_eq!(of(&rows, Normalize::MaxAbs), [24570.0, -32760.0]);
        let p3 = of(&rows, Normalize::P(3));
        assert!((p3[0].powi(3).abs() + p3[1].powi(3).abs() - 1.0).abs() < 1e-6, "{p3:?}");
    }

    #[test]
    fn a_row_of_zeros_and_huge_numbers_stay_finite() {
        let all = [-1, 0, 1, 2, 3, 1000].map(|n| Normalize::from_number(n).unwrap());
        for normalize in all {
            assert_eq!(of(&[&[0.0, 0.0]], normalize), [0.0, 0.0]);
            let huge = of(&[&[f32::MAX, -f32::MAX]], normalize);
            assert!(huge.iter().all(|x| x.is_finite()), "{normalize:?}: {huge:?}");
        }
    }

    #[test]
    fn numbers_of_another_program_name_the_norms() {
        assert_eq!(Normalize::from_number(2), Some(Normalize::Euclidean));
        assert_eq!(Normalize::from_number(6), Some(Normalize::P(6)));
        assert_eq!((Normalize::from_number(-2), Normalize::from_number(1 << 40)), (None, None));
    }
}
