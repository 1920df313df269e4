//! Seeded random numbers.

use rand::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// In place of a thread's number: what all threads draw alike.
pub(crate) const SHARED: u32 = u32::MAX;

/// A seeded stream that differs between threads and between purposes.
pub(crate) fn stream(seed: u64, thread: u32, purpose: u64) -> Xoshiro256PlusPlus {
    let mixed = seed ^ (u64::from(thread) << 8 | purpose).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    Xoshiro256PlusPlus::seed_from_u64(mixed)
}

/// Uniform in `0..below`: the high half of a 64 x 64 bit product. Its bias is below `below` / 2^64.
#[inline]
pub(crate) fn below(rng: &mut Xoshiro256PlusPlus, below: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(below)) >> 64) as u64
}
