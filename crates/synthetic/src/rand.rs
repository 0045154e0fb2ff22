//! The random stream of a tensor: the SFC64 generator, seeded from the seed and the tensor's name.
//!
//! Generator and seeding are those of NumPy (`SFC64(SeedSequence([seed, crc32(name)]))`), so that a
//! script can make the same file.

/// A stream of random words. Each call takes whole words and drops what it does not need, so that
/// the bytes depend on how much each call asks for.
pub struct Rand {
    state: [u64; 3],
    counter: u64,
}

impl Rand {
    /// The stream of one tensor.
    pub fn new(seed: u64, name: &str) -> Self {
        let mut entropy = vec![seed as u32];
        if seed >> 32 != 0 {
            entropy.push((seed >> 32) as u32);
        }
        entropy.push(crc32(name.as_bytes()));
        let mut rand = Rand { state: seed_words(&entropy), counter: 1 };
        for _ in 0..12 {
            rand.word();
        }
        rand
    }

    fn word(&mut self) -> u64 {
        let [a, b, c] = self.state;
        let out = a.wrapping_add(b).wrapping_add(self.counter);
        self.counter = self.counter.wrapping_add(1);
        self.state = [b ^ (b >> 11), c.wrapping_add(c << 3), c.rotate_left(24).wrapping_add(out)];
        out
    }

    /// `n` random bytes.
    pub fn bytes(&mut self, n: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(n.next_multiple_of(8));
        while out.len() < n {
            out.extend(self.word().to_le_bytes());
        }
        out.truncate(n);
        out
    }

    /// `n` numbers in [0, 1), 16 bits of randomness each.
    pub fn units(&mut self, n: usize) -> Vec<f32> {
        let mut out = Vec::with_capacity(n.next_multiple_of(4));
        while out.len() < n {
            let word = self.word();
            out.extend([0, 16, 32, 48].map(|shift| f32::from((word >> shift) as u16) / 65536.0));
        }
        out.truncate(n);
        out
    }
}

/// The hash that turns a few words of entropy into the three words of a generator's state: the
/// words are mixed into a pool of four, then the pool is read out through another hash.
fn seed_words(entropy: &[u32]) -> [u64; 3] {
    const POOL: usize = 4;
    let mut hash = Hash { constant: 0x43b0_d7e5, multiplier: 0x931e_8875 };
    let mut pool = [0u32; POOL];
    for (i, slot) in pool.iter_mut().enumerate() {
        *slot = hash.next(entropy.get(i).copied().unwrap_or(0));
    }
    for from in 0..POOL {
        for to in (0..POOL).filter(|&to| to != from) {
            pool[to] = mix(pool[to], hash.next(pool[from]));
        }
    }
    // Two words of seed and one of name: never more than the pool has.
    debug_assert!(entropy.len() <= POOL);
    let mut hash = Hash { constant: 0x8b51_f9dd, multiplier: 0x58f3_8ded };
    let mut halves = (0..6).map(|i| hash.next(pool[i % POOL]));
    std::array::from_fn(|_| {
        let mut half = || u64::from(halves.next().expect("two halves for each of three words"));
        half() | half() << 32
    })
}

/// A hash whose constant moves with each word.
struct Hash {
    constant: u32,
    multiplier: u32,
}

impl Hash {
    fn next(&mut self, word: u32) -> u32 {
        let word = word ^ self.constant;
        self.constant = self.constant.wrapping_mul(self.multiplier);
        let word = word.wrapping_mul(self.constant);
        word ^ (word >> 16)
    }
}

fn mix(a: u32, b: u32) -> u32 {
    let word = a.wrapping_mul(0xca01_f9dd).wrapping_sub(b.wrapping_mul(0x4973_f715));
    word ^ (word >> 16)
}

/// The checksum of zip files.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_has_the_published_check_value() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn seeding_and_generator_give_the_words_numpy_gives() {
        // np.random.SFC64(np.random.SeedSequence([1, 12345])).random_raw(4), NumPy 2.4.6.
        let mut rand = Rand { state: seed_words(&[1, 12345]), counter: 1 };
        assert_eq!(rand.state[0], 15072291958873074152);
        for _ in 0..12 {
            rand.word();
        }
        let words: [u64; 4] = std::array::from_fn(|_| rand.word());
        let expected = [0x5e4e4acf8efc7d06, 0xfbe602014a8c14ee, 0x7466f852b0a3bd15, 0x4bfb9c8976d1c286];
        assert_eq!(words, expected);
    }
}
