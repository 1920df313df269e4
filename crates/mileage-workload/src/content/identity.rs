//! Identity of a block, and the keyed permutation that hides it in the block's bytes.
//!
//! An [`Identity`] is 128 bits: file and block number, generation, lap. A permutation of 128 bits, keyed by the seed,
//! turns it into the two words from which every byte of the block follows. It can be undone: any sixteen bytes of a
//! block, at a known place in it, give back the identity, and the identity gives all the other bytes to compare.

/// Contents that recur in a writing: a duplicate's is that of its block number modulo this (4 MiB of blocks).
pub(crate) const CLASSES: u64 = 1024;

const BLOCK_BITS: u32 = 48;
const LAP_BITS: u32 = 20;
/// Identities beyond these are not believed, so that bytes of other seeds are not taken for ours: 4 PiB of a file, and
/// the most threads a workload has.
const BLOCKS_BELIEVED: u64 = 1 << 40;
const FILES_BELIEVED: u16 = 1024;

/// The write to which a block belongs: its file and its lap over the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct WriteIdentity {
    /// Number of the file, from 0; one file for each thread, or 0 for the one that all share.
    pub file: u16,
    /// Number of the writing, as the workload gives it.
    pub generation: u32,
    /// Number of earlier passes of the writing thread over its share, 0 to [`WriteIdentity::LAP_MAX`].
    pub lap: u32,
}

impl WriteIdentity {
    /// The last lap that has contents of its own; all later ones have this number.
    pub const LAP_MAX: u32 = (1 << LAP_BITS) - 1;
}

/// Identity of a block's content: file, block, generation and lap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Number of the block in its file, in units of 4 KiB, below 2^48; of a shared content, its class.
    pub block: u64,
    /// The writing.
    pub writing: WriteIdentity,
    /// Whether this is one of the contents that recur in other blocks of the writing.
    pub shared: bool,
}

/// The two 64-bit words from which the bytes of a block are generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockKey {
    pub(crate) even: u64,
    pub(crate) odd: u64,
}

/// The permutation of identities that a seed picks, and its choice of the blocks that are duplicates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cipher {
    first: u64,
    second: u64,
    choice: u64,
}

impl Cipher {
    pub(crate) fn new(seed: u64) -> Self {
        let key =
            |number: u64| avalanche(avalanche(seed ^ 0x6A09_E667_F3BC_C908).wrapping_add(number.wrapping_mul(STEP)));
        Self { first: key(1), second: key(2), choice: key(3) }
    }

    /// Identity of the content of block `block` of a writing, when `duplicate_percent` of the blocks are duplicates.
    #[inline(always)]
    pub(crate) fn identity(&self, writing: WriteIdentity, block: u64, duplicate_percent: u8) -> Identity {
        let own = Identity { block, writing, shared: false };
        if duplicate_percent == 0 {
            return own;
        }
        let drawn = avalanche(block ^ self.choice) >> 32;
        let shared = drawn * 100 < u64::from(duplicate_percent) << 32;
        if shared { Identity { block: block % CLASSES, writing, shared } } else { own }
    }

    #[inline(always)]
    pub(crate) fn key(&self, identity: Identity) -> BlockKey {
        let WriteIdentity { file, generation, lap } = identity.writing;
        let place = u64::from(file) << BLOCK_BITS | identity.block & ((1 << BLOCK_BITS) - 1);
        let time =
            u64::from(generation) << 32 | u64::from(lap.min(WriteIdentity::LAP_MAX)) << 1 | u64::from(identity.shared);
        let odd = time ^ avalanche(place ^ self.first);
        BlockKey { even: place ^ avalanche(odd ^ self.second), odd }
    }

    /// The identity of a key; `None` for what no key of this seed gives (one in 30 million of other words passes).
    #[inline(always)]
    pub(crate) fn identity_of(&self, key: BlockKey) -> Option<Identity> {
        let place = key.even ^ avalanche(key.odd ^ self.second);
        let time = key.odd ^ avalanche(place ^ self.first);
        let (file, block) = ((place >> BLOCK_BITS) as u16, place & ((1 << BLOCK_BITS) - 1));
        let (shared, lap) = (time & 1 == 1, time as u32 >> 1);
        let believed = block < (if shared { CLASSES } else { BLOCKS_BELIEVED }) && file < FILES_BELIEVED;
        let writing = WriteIdentity { file, generation: (time >> 32) as u32, lap };
        (believed && lap <= WriteIdentity::LAP_MAX).then_some(Identity { block, writing, shared })
    }
}

/// An odd number without pattern: distance of the counters of neighbouring words.
pub(crate) const STEP: u64 = 0xA076_1D64_78BD_642F;

/// Mix a 64-bit value: different values give different results, and similar values give unrelated ones. Two rounds of
/// multiplication and exclusive or with the shifted value; no information is lost.
#[inline(always)]
pub(crate) fn avalanche(x: u64) -> u64 {
    let x = (x ^ (x >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let x = (x ^ (x >> 29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x ^ (x >> 32)
}

/// A permutation of 64 bits made of three shifts: what turns a counter into bytes that no compressor shortens, at the
/// speed of memory.
#[inline(always)]
pub(crate) fn mix(x: u64) -> u64 {
    let x = x ^ (x >> 20);
    let x = x.wrapping_add(x << 22);
    x ^ (x >> 24)
}

/// Undoes [`mix`].
pub(crate) fn unmix(y: u64) -> u64 {
    let unfold = |y: u64, shift: u32| (1..=64 / shift).fold(y, |x, _| y ^ (x >> shift));
    let y = unfold(y, 24);
    // The inverse of 1 + 2^22 modulo 2^64: 1 - 2^22 + 2^44.
    let x = y.wrapping_sub(y << 22).wrapping_add(y << 44);
    unfold(x, 20)
}
