//! The random numbers of the GNU C library, on which the offsets and the data of other tools depend.

/// `random` after `srandom(seed)`: an additive generator over 31 numbers (glibc, `random_r.c`, type 3).
pub(super) struct Random {
    state: [u32; 31],
    at: usize,
}

impl Random {
    pub(super) fn new(seed: u32) -> Self {
        let mut state = [0_u32; 31];
        let mut word = i64::from(if seed == 0 { 1 } else { seed }.cast_signed());
        for slot in &mut state {
            *slot = (word & 0xFFFF_FFFF) as u32;
            word = 16_807 * (word % 127_773) - 2_836 * (word / 127_773);
            if word < 0 {
                word += 2_147_483_647;
            }
        }
        let mut random = Self { state, at: 0 };
        for _ in 0..310 {
            random.next();
        }
        random
    }

    /// The next number, 0 to 2^31 - 1.
    pub(super) fn next(&mut self) -> u32 {
        let sum = self.state[self.at].wrapping_add(self.state[(self.at + 28) % 31]);
        self.state[self.at] = sum;
        self.at = (self.at + 1) % 31;
        sum >> 1
    }
}

/// The first numbers of `rand` after `srand(seed)`.
#[must_use]
pub fn library_random(seed: u32, count: usize) -> Vec<u32> {
    let mut random = Random::new(seed);
    (0..count).map(|_| random.next()).collect()
}

/// `rand_r`: a number, and the seed that follows (glibc, `rand_r.c`).
pub(super) fn rand_r(seed: &mut u32) -> u32 {
    let mut draw = || {
        *seed = seed.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        *seed / 65_536
    };
    let mut found = draw() % 2_048;
    found = (found << 10) ^ (draw() % 1_024);
    (found << 10) ^ (draw() % 1_024)
}

#[cfg(test)]
mod tests {
    #![expect(unsafe_code, reason = "asks the C library for its own numbers")]
    use super::*;

    #[test]
    fn numbers_are_those_of_the_c_library() {
        for seed in [0, 1, 7, 1_795_625_969, u32::MAX] {
            // SAFETY: this is the only test of the crate that uses the C library's generator.
            let expected: Vec<u32> = unsafe {
                libc::srand(seed);
                (0..100).map(|_| libc::rand().cast_unsigned()).collect()
            };
            let mut random = Random::new(seed);
            assert_eq!((0..100).map(|_| random.next()).collect::<Vec<_>>(), expected, "seed {seed}");
        }
    }
}
