//! MT19937-64, the 64-bit Mersenne Twister (Nishimura, "Tables of 64-bit Mersenne Twisters", ACM TOMACS 10(4), 2000).
//! Only IOzone's shuffle needs it.

const SIZE: usize = 312;
const MIDDLE: usize = 156;
const TWIST: u64 = 0xB502_6F5A_A966_19E9;
const UPPER: u64 = 0xFFFF_FFFF_8000_0000;
const LOWER: u64 = 0x7FFF_FFFF;

/// State of the generator.
pub(crate) struct Mersenne {
    state: [u64; SIZE],
    index: usize,
}

impl Mersenne {
    fn from_seed(seed: u64) -> Self {
        let mut state = [seed; SIZE];
        for index in 1..SIZE {
            let before = state[index - 1];
            state[index] = (before ^ before >> 62).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(index as u64);
        }
        Self { state, index: SIZE }
    }

    /// Seeded by several numbers (at least one), as its authors do.
    pub(crate) fn from_key(key: &[u64]) -> Self {
        let mut twister = Self::from_seed(19_650_218);
        let state = &mut twister.state;
        let mut at = 1;
        let advance = |state: &mut [u64; SIZE], at: usize| {
            if at + 1 < SIZE {
                return at + 1;
            }
            state[0] = state[SIZE - 1];
            1
        };
        for step in 0..SIZE.max(key.len()) {
            let place = step % key.len();
            let mixed = (state[at - 1] ^ state[at - 1] >> 62).wrapping_mul(3_935_559_000_370_003_845);
            state[at] = (state[at] ^ mixed).wrapping_add(key[place]).wrapping_add(place as u64);
            at = advance(state, at);
        }
        for _ in 1..SIZE {
            let mixed = (state[at - 1] ^ state[at - 1] >> 62).wrapping_mul(2_862_933_555_777_941_757);
            state[at] = (state[at] ^ mixed).wrapping_sub(at as u64);
            at = advance(state, at);
        }
        state[0] = 1 << 63;
        twister
    }

    fn twist(&mut self) {
        for index in 0..SIZE {
            let joined = (self.state[index] & UPPER) | (self.state[(index + 1) % SIZE] & LOWER);
            let odd = if joined & 1 == 1 { TWIST } else { 0 };
            self.state[index] = self.state[(index + MIDDLE) % SIZE] ^ (joined >> 1) ^ odd;
        }
        self.index = 0;
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        if self.index == SIZE {
            self.twist();
        }
        let mut number = self.state[self.index];
        self.index += 1;
        number ^= (number >> 29) & 0x5555_5555_5555_5555;
        number ^= (number << 17) & 0x71D6_7FFF_EDA6_0000;
        number ^= (number << 37) & 0xFFF7_EEE0_0000_0000;
        number ^ number >> 43
    }
}

#[cfg(test)]
mod tests {
    use super::Mersenne;

    #[test]
    fn the_first_numbers_are_those_its_authors_publish() {
        let mut twister = Mersenne::from_key(&[0x12345, 0x23456, 0x34567, 0x45678]);
        let first: [u64; 5] = std::array::from_fn(|_| twister.next());
        let published = [
            7_266_447_313_870_364_031,
            4_946_485_549_665_804_864,
            16_945_909_448_695_747_420,
            16_394_063_075_524_226_720,
            4_873_882_236_456_199_058,
        ];
        assert_eq!(first, published);
        // The reference implementation prints a thousand numbers: compare the last one too.
        let last = (5..1000).map(|_| twister.next()).last();
        assert_eq!(last, Some(994_412_663_058_993_407));
    }
}
