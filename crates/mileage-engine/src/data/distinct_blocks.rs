//! Estimates the number of distinct blocks among those written, in little memory.
//!
//! Of each block a number is drawn from a few of its bytes; only blocks whose number is 0 under a mask are fingerprinted
//! and kept, each content once with the number of its copies. When there are too many the mask is widened by one bit,
//! which drops half of the contents. Equal blocks are thus kept or dropped together, wherever in the run they are.
//!
//! A block that is written again to its place with the bytes it has is no duplicate: a device that deduplicates stores it
//! no more often than one that does not. So contents in their places are counted in the same way, each once, and a
//! content has a copy more only when it is met in another place than the last time.
//!
//! The number of different contents is that of those kept, times the contents that each stands for: the error is 1 to
//! 1.6 % (more with many threads), and none as long as nothing had to be dropped. Where no content kept has more than a
//! few copies, their average number is known far better than that, and the number of blocks divided by it is taken.
//!
//! Blocks of fio's scrambled content hold their place and their writing in their first line, and the bytes around them are
//! the same in all. So equal lines are equal blocks of one place, and only contents in their places are counted.

use mileage_workload::{BLOCK_BYTES, Content};
use serde::{Deserialize, Serialize};

/// Contents that the threads of a run keep together, at most, and one of them at least.
const KEPT: usize = 8192;
const KEPT_MIN: usize = 256;
/// Copies of a content up to which the average over all is trusted.
const FEW: u64 = 8;

/// A content that was seen, or a content in its place.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct SampledContent {
    key: u64,
    print: u64,
    /// Last position at which it was seen.
    place: u64,
    copies: u64,
}

/// Sample of the distinct blocks seen so far, chosen by their hash.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Table {
    /// Hash table with open addressing: an entry is at its fingerprint's slot or after it; `copies` 0 is a free slot.
    seen: Vec<SampledContent>,
    /// Another table, to thin out into: empty until the first time, and not needed any more once the run is over.
    #[serde(skip)]
    spare: Vec<SampledContent>,
    kept: usize,
    mask: u64,
}

/// Estimator of the number of distinct blocks (a sketch in constant memory).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct DistinctBlocks {
    contents: Table,
    /// Contents in their places; empty where the places are not known.
    in_place: Table,
    blocks: u64,
    /// With the first line the contents are not counted: every place has its own.
    identity_in: IdentityPlace,
}

/// Where a block holds what distinguishes it from all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum IdentityPlace {
    /// In all of it, or nowhere.
    #[default]
    Unknown,
    /// In its first 64 bytes: its place and its writing, as those of [`Content::FioScrambled`] do.
    FirstLine,
}

impl IdentityPlace {
    pub(super) fn of(content: Content) -> Self {
        if content == Content::FioScrambled { Self::FirstLine } else { Self::Unknown }
    }
}

impl DistinctBlocks {
    /// For one of `threads` threads.
    pub(super) fn new(threads: u32, identity_in: IdentityPlace) -> Self {
        let slots = 2 * (KEPT / threads as usize).max(KEPT_MIN);
        let contents = if identity_in == IdentityPlace::Unknown { Table::new(slots) } else { Table::default() };
        Self { contents, in_place: Table::new(slots), blocks: 0, identity_in }
    }

    /// A block was written to a place, which is any number that no other place has.
    #[inline]
    pub(super) fn count(&mut self, block: &[u8; BLOCK_BYTES], place: u64) {
        self.blocks += 1;
        if self.identity_in == IdentityPlace::FirstLine {
            let key = key_of_line(block);
            if key & self.in_place.mask == 0 {
                self.keep_in_place(SampledContent { key, print: key.rotate_left(32), place, copies: 1 });
            }
            return;
        }
        let key = key(block);
        if key & self.contents.mask == 0 {
            self.keep_content(SampledContent { key, print: fingerprint(block), place, copies: 1 });
        }
        let both = fold(key, place.wrapping_add(1));
        if both & self.in_place.mask == 0 {
            self.keep_in_place(SampledContent { key: both, print: both.rotate_left(32), place, copies: 1 });
        }
    }

    /// Account for all blocks having been written `times` times, at unknown offsets.
    pub(super) fn multiply(&mut self, times: u64) {
        self.blocks *= times;
        self.contents.seen.iter_mut().for_each(|seen| seen.copies *= times);
        self.in_place = Table::new(self.in_place.seen.len());
    }

    /// As [`DistinctBlocks::blocks_and_distinct`], of all threads of a run together.
    pub(super) fn blocks_and_distinct_of(threads: &[&Self]) -> (u64, u64) {
        if let [one] = threads {
            return one.blocks_and_distinct();
        }
        // A thread that wrote nothing knows no content.
        let identity_in =
            threads.iter().find(|one| one.blocks > 0).map_or(IdentityPlace::Unknown, |one| one.identity_in);
        let mut all = Self::new(1, identity_in);
        threads.iter().for_each(|one| all.merge(one));
        all.blocks_and_distinct()
    }

    /// Count what another thread of the same run has counted.
    fn merge(&mut self, other: &Self) {
        self.blocks += other.blocks;
        for seen in self.contents.meet(&other.contents) {
            self.keep_content(seen);
        }
        for seen in self.in_place.meet(&other.in_place) {
            self.keep_in_place(seen);
        }
    }

    fn keep_content(&mut self, new: SampledContent) {
        if let Some(old) = self.contents.keep(new)
            && (old.place != new.place || new.copies > 1)
        {
            old.copies += new.copies;
            old.place = new.place;
        }
    }

    fn keep_in_place(&mut self, new: SampledContent) {
        if let Some(old) = self.in_place.keep(new) {
            old.copies += new.copies;
        }
    }

    /// Blocks that differ in content or place, and how many different contents there are among them.
    fn blocks_and_distinct(&self) -> (u64, u64) {
        let (contents, in_place) = (&self.contents, &self.in_place);
        let blocks = match in_place.most() {
            0 | 1 => self.blocks,
            FEW.. if in_place.mask > 0 => in_place.estimate(),
            _ => in_place.share_of(self.blocks),
        };
        let blocks = blocks.min(self.blocks);
        if self.identity_in == IdentityPlace::FirstLine {
            return (blocks, blocks);
        }
        let distinct = match contents.most() {
            _ if contents.mask == 0 => contents.kept as u64,
            0 | 1 => blocks,
            // A block rewritten with content of another block in between is not recognised as rewritten, so this is a
            // lower bound.
            2..=FEW if blocks == self.blocks => contents.share_of(blocks),
            _ => contents.estimate(),
        };
        (blocks, distinct.min(blocks))
    }
}

impl Table {
    fn new(slots: usize) -> Self {
        Self { seen: vec![SampledContent::default(); slots], spare: Vec::new(), kept: 0, mask: 0 }
    }

    /// Most copies of anything kept; 0 when nothing is.
    fn most(&self) -> u64 {
        self.seen.iter().map(|seen| seen.copies).max().unwrap_or(0)
    }

    /// Estimated number of distinct blocks, from the number that were kept.
    fn estimate(&self) -> u64 {
        (self.kept as u64).saturating_mul(self.mask + 1)
    }

    /// Estimated number of distinct blocks among `all`, from the copies of those that were kept; at least one must
    /// have been kept.
    fn share_of(&self, all: u64) -> u64 {
        let copies: u64 = self.seen.iter().map(|seen| seen.copies).sum();
        (u128::from(all) * self.kept as u128 / u128::from(copies.max(1))) as u64
    }

    /// Thin out to what another has kept as well; all that it has kept.
    fn meet<'a>(&mut self, other: &'a Self) -> impl Iterator<Item = SampledContent> + use<'a> {
        self.mask |= other.mask;
        self.thin_out();
        other.seen.iter().filter(|seen| seen.copies > 0).copied()
    }

    /// Keep something if the mask lets it through; the one that is there already, if there is one, as it is.
    #[inline(never)]
    fn keep(&mut self, new: SampledContent) -> Option<&mut SampledContent> {
        if new.key & self.mask != 0 {
            return None;
        }
        let slots = self.seen.len();
        let mut at = new.print as usize % slots;
        while self.seen[at].copies > 0 {
            if self.seen[at].print == new.print {
                return Some(&mut self.seen[at]);
            }
            at = (at + 1) % slots;
        }
        self.seen[at] = new;
        self.kept += 1;
        while self.kept > slots / 2 {
            self.mask = self.mask << 1 | 1;
            self.thin_out();
        }
        None
    }

    /// Drop the contents that the mask excludes.
    #[cold]
    fn thin_out(&mut self) {
        let slots = self.seen.len();
        std::mem::swap(&mut self.seen, &mut self.spare);
        self.seen.clear();
        self.seen.resize(slots, SampledContent::default());
        self.kept = 0;
        for at in 0..self.spare.len() {
            let old = self.spare[at];
            if old.copies > 0 {
                self.keep(old);
            }
        }
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

/// Drawn from the words of a block's first line that name it.
#[inline]
fn key_of_line(block: &[u8; BLOCK_BYTES]) -> u64 {
    [0, 48, 56].into_iter().fold(0x6A09_E667_F3BC_C908, |sum, at| fold(sum, word(block, at)))
}

/// Fingerprint of a block, from all its bytes in eight lanes.
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
    use super::{DistinctBlocks, IdentityPlace, KEPT};
    use mileage_workload::BLOCK_BYTES;

    fn block(number: u64) -> [u8; BLOCK_BYTES] {
        let mut block = [0x55; BLOCK_BYTES];
        // One word differs, in a place that the key looks at for some blocks and not for others.
        let at = 8 * (number % 512) as usize;
        block[at..at + 8].copy_from_slice(&number.to_le_bytes());
        block[520..528].copy_from_slice(&number.wrapping_mul(0xD6E8_FEB8_6659_FD93).to_le_bytes());
        block
    }

    fn counted(numbers: impl Iterator<Item = u64>) -> DistinctBlocks {
        let mut distinct_blocks = DistinctBlocks::new(1, IdentityPlace::Unknown);
        numbers.zip(0..).for_each(|(number, place)| distinct_blocks.count(&block(number), place));
        distinct_blocks
    }

    /// Writings of places, each of which has a content of its own, or shares one with all places of its class.
    fn written(places: impl Iterator<Item = u64>, classes: Option<u64>) -> DistinctBlocks {
        let mut distinct_blocks = DistinctBlocks::new(1, IdentityPlace::Unknown);
        for place in places {
            let shares = classes.filter(|_| place % 2 == 0);
            distinct_blocks.count(&block(shares.map_or(place, |classes| (1 << 40) + place / 2 % classes)), place);
        }
        distinct_blocks
    }

    /// Numbers of which a few are very frequent.
    fn skewed(count: u64, of: u64) -> impl Iterator<Item = u64> {
        (0..count).map(move |number| {
            let drawn = (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11) as f64 / (1_u64 << 53) as f64;
            ((of as f64).powf(drawn) as u64 - 1).min(of - 1)
        })
    }

    #[test]
    fn few_are_counted_exactly() {
        let distinct_blocks = counted((0..3 * KEPT as u64).map(|number| number % 5000));
        assert_eq!(distinct_blocks.blocks_and_distinct(), (3 * KEPT as u64, 5000));
        assert_eq!(counted(std::iter::repeat_n(7, 100_000)).blocks_and_distinct(), (100_000, 1));
    }

    #[test]
    fn many_are_estimated() {
        let (blocks, distinct) = counted(0..200_000).blocks_and_distinct();
        assert_eq!((blocks, distinct), (200_000, 200_000), "no copies at all are known to be none");
        let half = counted((0..200_000).map(|number| if number % 2 == 0 { number } else { 1 + 2 * (number % 1000) }));
        let (blocks, distinct) = half.blocks_and_distinct();
        let expected = 100_000.0 + 500.0;
        assert!((distinct as f64 / expected - 1.0).abs() < 0.05 && blocks == 200_000, "{distinct} of {expected}");
    }

    #[test]
    fn threads_count_together() {
        let mut all = counted(0..100_000);
        let mut other = DistinctBlocks::new(1, IdentityPlace::Unknown);
        (50_000..150_000).chain(0..1000).zip(1 << 32..).for_each(|(number, place)| other.count(&block(number), place));
        all.merge(&other);
        let (blocks, distinct) = all.blocks_and_distinct();
        assert!(blocks == 201_000 && (distinct as f64 / 150_000.0 - 1.0).abs() < 0.05, "{distinct}");
    }

    #[test]
    fn what_is_written_again_to_its_place_is_no_duplicate() {
        // Few enough blocks that the sketch keeps all of them: its figures are exact, not estimates.
        let different = |count, of| skewed(count, of).collect::<std::collections::HashSet<_>>().len() as u64;
        let places = different(100_000, 4000);
        assert_eq!(written(skewed(100_000, 4000), None).blocks_and_distinct(), (places, places));
        let whole = written((0..4000).chain(skewed(100_000, 4000)), Some(100));
        assert_eq!(whole.blocks_and_distinct(), (4000, 2000 + 100));
        // More blocks than the sketch keeps: its figures are estimates, hence the 5 %.
        let places = different(500_000, 300_000);
        let (blocks, distinct) = written(skewed(500_000, 300_000), None).blocks_and_distinct();
        assert_eq!(blocks, distinct, "no duplicates are known to be none");
        assert!((blocks as f64 / places as f64 - 1.0).abs() < 0.05, "{blocks} of {places}");
        let some = written((0..200_000).chain(skewed(500_000, 200_000)), Some(1000));
        let (blocks, distinct) = some.blocks_and_distinct();
        assert!((blocks as f64 / 200_000.0 - 1.0).abs() < 0.05, "{blocks}");
        assert!((distinct as f64 / 101_000.0 - 1.0).abs() < 0.05, "{distinct}");
    }

    #[test]
    fn threads_that_write_the_same_places_write_no_duplicates() {
        let mut all = written(0..3000, None);
        all.merge(&written(1000..5000, None));
        assert_eq!(all.blocks_and_distinct(), (5000, 5000));
    }
}
