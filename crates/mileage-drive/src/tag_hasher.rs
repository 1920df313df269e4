//! Hashing of tags: a host counts them up, and nobody attacks a simulation.

use std::hash::{BuildHasherDefault, Hasher};

/// Builds hashers of tags.
pub(crate) type TagHashing = BuildHasherDefault<TagHasher>;

/// Spreads numbers that count up, in one multiplication.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TagHasher(u64);

impl Hasher for TagHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, tag: u64) {
        self.0 = (self.0 ^ tag).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    }
}
