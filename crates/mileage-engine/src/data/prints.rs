//! Counts how many different blocks there are among many, in a little memory.
//!
//! Of each block a number is drawn from a few of its bytes; only blocks whose number is 0 under a mask are fingerprinted
//! and kept, each content once with the number of its copies. When there are too many the mask is widened by one bit,
//! which drops half of the contents. Equal blocks are thus kept or dropped together, wherever in the run they are.
//!
//! The number of different blocks is that of the contents kept, times the contents that each stands for: the error is
//! 1 to 1.6 % (more with many threads), and none as long as nothing had to be dropped. Where no content kept has more than a few copies, their
//! average number is known far better than that, and the number of blocks divided by it is taken.

use mileage_workload::BLOCK_BYTES;
use serde::{Deserialize, Serialize};

/// Contents that the threads of a run keep together, at most, and one of them at least.
const KEPT: usize = 8192;
const KEPT_MIN: usize = 256;
/// Copies of a content up to which the average over all is trusted.
const FEW: u64 = 8;

/// A content that was seen.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Seen {
    key: u64,
    print: u64,
    copies: u64,
}

/// The contents seen so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Prints {
    /// A table in which a content stands at its fingerprint's place or after it; `copies` 0 is a free slot.
    seen: Vec<Seen>,
    /// Another table, to thin out into; not needed any more once the run is over.
    #[serde(skip)]
    spare: Vec<Seen>,
    kept: usize,
    mask: u64,
    blocks: u64,
}

impl Prints {
    /// For one of so many threads.
    pub(super) fn new(threads: u32) -> Self {
        let slots = 2 * (KEPT / threads as usize).max(KEPT_MIN);
        Self { seen: vec![Seen::default(); slots], spare: vec![Seen::default(); slots], ..Self::default() }
    }

    /// A block was written.
    #[inline]
    pub(super) fn count(&mut self, block: &[u8; BLOCK_BYTES]) {
        self.blocks += 1;
        let key = key(block);
        if key & self.mask == 0 {
            self.keep(Seen { key, print: fingerprint(block), copies: 1 });
        }
    }

    /// All blocks were written so many times.
    pub(super) fn multiply(&mut self, times: u64) {
        self.blocks *= times;
        self.seen.iter_mut().for_each(|seen| seen.copies *= times);
    }

    /// Count what another thread has counted.
    pub(super) fn merge(&mut self, other: &Self) {
        self.blocks += other.blocks;
        self.mask |= other.mask;
        self.thin_out();
        for seen in other.seen.iter().filter(|seen| seen.copies > 0) {
            if seen.key & self.mask == 0 {
                self.keep(*seen);
            }
        }
    }

    #[inline(never)]
    fn keep(&mut self, new: Seen) {
        let slots = self.seen.len();
        let mut at = new.print as usize % slots;
        while self.seen[at].copies > 0 {
            if self.seen[at].print == new.print {
                self.seen[at].copies += new.copies;
                return;
            }
            at = (at + 1) % slots;
        }
        self.seen[at] = new;
        self.kept += 1;
        while self.kept > slots / 2 {
            self.mask = self.mask << 1 | 1;
            self.thin_out();
        }
    }

    /// Drop what the mask leaves out.
    #[cold]
    fn thin_out(&mut self) {
        std::mem::swap(&mut self.seen, &mut self.spare);
        self.seen.fill(Seen::default());
        self.kept = 0;
        for at in 0..self.spare.len() {
            let old = self.spare[at];
            if old.copies > 0 && old.key & self.mask == 0 {
                self.keep(old);
            }
        }
    }

    /// Blocks counted, and how many different ones there are among them.
    pub(super) fn blocks_and_distinct(&self) -> (u64, u64) {
        let kept: u64 = self.kept as u64;
        let copies: u64 = self.seen.iter().map(|seen| seen.copies).sum();
        let most = self.seen.iter().map(|seen| seen.copies).max().unwrap_or(0);
        let distinct = if self.mask > 0 && most <= FEW && copies > 0 {
            (u128::from(self.blocks) * u128::from(kept) / u128::from(copies)) as u64
        } else {
            kept.saturating_mul(self.mask + 1)
        };
        (self.blocks, distinct.min(self.blocks))
    }
}

fn word(block: &[u8; BLOCK_BYTES], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| block[at + byte]))
}

/// A product of 128 bits, folded.
fn fold(sum: u64, word: u64) -> u64 {
    let product = u128::from(sum ^ word) * 0x9E37_79B9_7F4A_7C15;
    (product >> 64) as u64 ^ product as u64
}

/// Drawn from one word of each sector, each time another one.
#[inline]
fn key(block: &[u8; BLOCK_BYTES]) -> u64 {
    (0..8).fold(0x6A09_E667_F3BC_C908, |sum, sector| fold(sum, word(block, sector * 520)))
}

/// Of all bytes, in eight lanes.
fn fingerprint(block: &[u8; BLOCK_BYTES]) -> u64 {
    let mut lanes: [u64; 8] = std::array::from_fn(|lane| lane as u64 + 1);
    for stripe in block.as_chunks::<64>().0 {
        for (sum, word) in lanes.iter_mut().zip(stripe.as_chunks::<8>().0) {
            *sum = (*sum ^ u64::from_le_bytes(*word)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        }
    }
    lanes.into_iter().fold(0x6A09_E667_F3BC_C908, fold)
}

#[cfg(test)]
mod tests {
    use super::{KEPT, Prints};
    use mileage_workload::BLOCK_BYTES;

    fn block(number: u64) -> [u8; BLOCK_BYTES] {
        let mut block = [0x55; BLOCK_BYTES];
        // One word differs, in a place that the key looks at for some blocks and not for others.
        let at = 8 * (number % 512) as usize;
        block[at..at + 8].copy_from_slice(&number.to_le_bytes());
        block[520..528].copy_from_slice(&number.wrapping_mul(0xD6E8_FEB8_6659_FD93).to_le_bytes());
        block
    }

    fn counted(numbers: impl Iterator<Item = u64>) -> Prints {
        let mut prints = Prints::new(1);
        numbers.for_each(|number| prints.count(&block(number)));
        prints
    }

    #[test]
    fn few_are_counted_exactly() {
        let prints = counted((0..3 * KEPT as u64).map(|number| number % 5000));
        assert_eq!(prints.blocks_and_distinct(), (3 * KEPT as u64, 5000));
        assert_eq!(counted(std::iter::repeat_n(7, 100_000)).blocks_and_distinct(), (100_000, 1));
    }

    #[test]
    fn many_are_estimated() {
        let (blocks, distinct) = counted(0..200_000).blocks_and_distinct();
        assert_eq!((blocks, distinct), (200_000, 200_000), "no copies at all are known to be none");
        // Half are unique; the others are a thousand contents.
        let half = counted((0..200_000).map(|number| if number % 2 == 0 { number } else { 1 + 2 * (number % 1000) }));
        let (blocks, distinct) = half.blocks_and_distinct();
        let expected = 100_000.0 + 500.0;
        assert!((distinct as f64 / expected - 1.0).abs() < 0.05 && blocks == 200_000, "{distinct} of {expected}");
    }

    #[test]
    fn threads_count_together() {
        let mut all = counted(0..100_000);
        all.merge(&counted((50_000..150_000).chain(0..1000)));
        let (blocks, distinct) = all.blocks_and_distinct();
        assert!(blocks == 201_000 && (distinct as f64 / 150_000.0 - 1.0).abs() < 0.05, "{distinct}");
    }
}
