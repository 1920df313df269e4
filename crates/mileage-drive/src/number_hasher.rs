//! Hashing of tags and page numbers: they count up, and nobody attacks a simulation.

use std::hash::{BuildHasherDefault, Hasher};

/// Builds hashers of numbers.
pub(crate) type NumberHashing = BuildHasherDefault<NumberHasher>;

/// Spreads numbers that count up, in one multiplication.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    }
}
