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
        // The C library begins three numbers behind the first (`SEP_3`).
        let mut random = Self { state, at: 3 };
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
    use std::ffi::{c_char, c_int, c_uint};

    use super::*;

    /// At least as large as `struct random_data` of the C library, and aligned like it.
    type RandomData = [u64; 16];

    unsafe extern "C" {
        fn initstate_r(seed: c_uint, state: *mut c_char, length: usize, data: *mut RandomData) -> c_int;
        fn random_r(data: *mut RandomData, result: *mut i32) -> c_int;
    }

    /// Numbers of the generator that `rand` has, with a state of its own: other threads may call `rand` as well.
    fn numbers_of_the_library(seed: u32, count: usize) -> Vec<u32> {
        let (mut state, mut data, mut number) = ([0_u64; 16], RandomData::default(), 0);
        // SAFETY: `state` has the 128 bytes of the default generator, and both outlive the calls.
        unsafe {
            assert_eq!(initstate_r(seed, state.as_mut_ptr().cast(), 128, &raw mut data), 0);
            (0..count)
                .map(|_| {
                    assert_eq!(random_r(&raw mut data, &raw mut number), 0);
                    number.cast_unsigned()
                })
                .collect()
        }
    }

    #[test]
    fn numbers_are_those_of_the_c_library() {
        for seed in [0, 1, 7, 1_795_625_969, u32::MAX] {
            let mut random = Random::new(seed);
            let found: Vec<u32> = (0..100).map(|_| random.next()).collect();
            assert_eq!(found, numbers_of_the_library(seed, 100), "seed {seed}");
        }
    }
}
