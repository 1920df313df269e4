//! The data that IOR writes, and the comparison of what is read with it (`utilities.c` of IOR 4).

use super::glibc_random::rand_r;
use serde::Deserialize;

const WORD: usize = 8;
/// One word of this number of words carries the offset, the first one.
const STAMPED_WORDS: usize = 512;
const GOLDEN_PRIME: u64 = 0x9e37_ffff_fffc_0001;

/// Kind of data (`-l`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Timestamp,
    Offset,
    Incompressible,
    Random,
}

/// Data of one task.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Content {
    kind: Kind,
    /// The rank that wrote it.
    rank: u32,
    /// Time stamp, or the value of `-G`.
    signature: u32,
    /// Value of `-G`, 0 without it: random data follows from it, whatever the time stamp is.
    given_signature: u32,
}

impl Content {
    /// Fill the buffer as before the first transfer.
    pub(super) fn fill(&self, buffer: &mut [u8]) {
        let words = buffer.len() / WORD;
        if self.kind != Kind::Random {
            for (at, word) in buffer.chunks_exact_mut(WORD).enumerate() {
                word.copy_from_slice(&self.base(at).to_le_bytes());
            }
        }
        for (at, byte) in buffer.iter_mut().enumerate().skip(words * WORD) {
            *byte = at as u8;
        }
    }

    /// Change the buffer for a transfer at `offset`.
    pub(super) fn stamp(&self, buffer: &mut [u8], offset: u64) {
        match self.kind {
            Kind::Timestamp => {}
            Kind::Random => {
                let mut state = self.random(offset, self.given_signature);
                for word in buffer.chunks_exact_mut(WORD) {
                    word.copy_from_slice(&state.step().to_le_bytes());
                }
            }
            Kind::Offset | Kind::Incompressible => {
                for (number, block) in buffer.chunks_mut(STAMPED_WORDS * WORD).enumerate() {
                    if let Some(word) = block.get_mut(..WORD) {
                        word.copy_from_slice(&self.stamped(offset, number).to_le_bytes());
                    }
                }
            }
        }
    }

    /// Whether a buffer read at `offset` holds what was written.
    pub(super) fn holds(&self, buffer: &[u8], offset: u64) -> bool {
        let words = buffer.len() / WORD;
        let mut state = self.random(offset, self.signature);
        let stamps = matches!(self.kind, Kind::Offset | Kind::Incompressible);
        let mut equal = true;
        for (at, word) in buffer.chunks_exact(WORD).enumerate() {
            let expected = match self.kind {
                Kind::Random => state.step(),
                _ if stamps && at % STAMPED_WORDS == 0 => self.stamped(offset, at / STAMPED_WORDS),
                _ => self.base(at),
            };
            equal &= word == expected.to_le_bytes();
        }
        equal && buffer.iter().enumerate().skip(words * WORD).all(|(at, byte)| *byte == at as u8)
    }

    fn base(&self, at: usize) -> u64 {
        let rank = u64::from(self.rank);
        if self.kind == Kind::Incompressible {
            let mut seed = self.signature.wrapping_add(self.rank);
            let high = u64::from(rand_r(&mut seed)) << 32;
            return high | u64::from(rand_r(&mut seed));
        }
        // IOR adds a signed stamp: one above 2^31 is extended over the rank.
        let stamp = i64::from(self.signature.cast_signed()).cast_unsigned();
        (rank << 32) | stamp.wrapping_add(at as u64)
    }

    fn stamped(&self, offset: u64, number: usize) -> u64 {
        u64::from((offset as u32).wrapping_mul(number as u32 + 1)) | (u64::from(self.rank) << 32)
    }

    fn random(&self, offset: u64, signature: u32) -> RandomWords {
        let mut seed = signature.wrapping_add(self.rank).wrapping_add(offset as u32);
        RandomWords(u64::from(rand_r(&mut seed)))
    }
}

struct RandomWords(u64);

impl RandomWords {
    fn step(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(GOLDEN_PRIME) >> 3;
        self.0
    }
}
