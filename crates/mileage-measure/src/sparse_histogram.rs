//! Compact histograms of many intervals in one buffer: only non-empty buckets are stored.
//!
//! A bucket is its distance from the one before and its count, each in groups of seven bits, low group first, the top
//! bit of a byte saying that another follows. An interval of ten milliseconds takes some hundred bytes.

use crate::histogram::BUCKETS;
use std::iter::Peekable;

/// Bytes for all intervals of a series. Memory is taken as it is used.
const CAPACITY_BYTES: usize = 512 << 10;
/// Bytes that a bucket takes at most: two for the distance, ten for the count.
const ENTRY_BYTES_MAX: usize = 12;

/// Position of an interval's buckets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    start: u32,
    end: u32,
}

/// The packed buckets of a series' intervals, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Sparse {
    bytes: Vec<u8>,
    /// Copies of what is being replaced.
    left: Vec<u8>,
    right: Vec<u8>,
}

/// Buckets and their counts, ascending, as they are unpacked.
#[derive(Clone, Debug)]
pub(crate) struct Entries<'a> {
    bytes: std::slice::Iter<'a, u8>,
    index: u64,
}

impl Entries<'_> {
    fn number(&mut self) -> Option<u64> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = *self.bytes.next()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(value);
            }
            shift += 7;
        }
    }
}

impl Iterator for Entries<'_> {
    type Item = (usize, u64);

    fn next(&mut self) -> Option<Self::Item> {
        self.index += self.number()?;
        Some((self.index as usize, self.number()?))
    }
}

/// The union of two ascending lists of buckets, the counts of equal ones added.
struct BucketUnion<A: Iterator, B: Iterator> {
    a: Peekable<A>,
    b: Peekable<B>,
}

pub(crate) fn joined(
    a: impl Iterator<Item = (usize, u64)>,
    b: impl Iterator<Item = (usize, u64)>,
) -> impl Iterator<Item = (usize, u64)> {
    BucketUnion { a: a.peekable(), b: b.peekable() }
}

impl<A: Iterator<Item = (usize, u64)>, B: Iterator<Item = (usize, u64)>> Iterator for BucketUnion<A, B> {
    type Item = (usize, u64);

    fn next(&mut self) -> Option<Self::Item> {
        match (self.a.peek(), self.b.peek()) {
            (Some((a, _)), Some((b, _))) if a == b => {
                let (index, count) = self.a.next()?;
                Some((index, count + self.b.next()?.1))
            }
            (Some((a, _)), Some((b, _))) if a > b => self.b.next(),
            (None, _) => self.b.next(),
            _ => self.a.next(),
        }
    }
}

fn pack(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Append a list of buckets; false, and nothing appended, when `bytes` would grow beyond the capacity.
fn pack_all(bytes: &mut Vec<u8>, entries: impl Iterator<Item = (usize, u64)>) -> bool {
    let (start, mut last) = (bytes.len(), 0);
    for (index, count) in entries {
        if bytes.len() + ENTRY_BYTES_MAX > CAPACITY_BYTES {
            bytes.truncate(start);
            return false;
        }
        pack(bytes, (index - last) as u64);
        pack(bytes, count);
        last = index;
    }
    true
}

impl Sparse {
    pub(crate) fn new() -> Self {
        let interval = || Vec::with_capacity(BUCKETS * ENTRY_BYTES_MAX);
        Self { bytes: Vec::with_capacity(CAPACITY_BYTES), left: interval(), right: interval() }
    }

    /// The buckets of an interval.
    pub(crate) fn entries(&self, place: Place) -> Entries<'_> {
        Entries { bytes: self.bytes[place.start as usize..place.end as usize].iter(), index: 0 }
    }

    /// Append an interval; `None` when there is no room.
    pub(crate) fn append(&mut self, entries: impl Iterator<Item = (usize, u64)>) -> Option<Place> {
        let start = self.bytes.len() as u32;
        pack_all(&mut self.bytes, entries).then_some(Place { start, end: self.bytes.len() as u32 })
    }

    /// Begin to write all intervals anew, from the first: each call of [`RewriteState::join`] reads at or behind where
    /// it writes.
    pub(crate) fn rewrite(&mut self) -> RewriteState<'_> {
        RewriteState { sparse: self, written: 0 }
    }

    /// Count one more value in `bucket` of the interval at `place`, which becomes longer by what is returned; `None`
    /// when there is no room.
    pub(crate) fn insert(&mut self, place: Place, bucket: usize) -> Option<(Place, u32)> {
        self.copy_left(place);
        self.right.clear();
        let held = Entries { bytes: self.left.iter(), index: 0 };
        pack_all(&mut self.right, joined(held, std::iter::once((bucket, 1))));
        let longer = self.right.len() - self.left.len();
        if self.bytes.len() + longer > CAPACITY_BYTES {
            return None;
        }
        self.bytes.splice(place.start as usize..place.end as usize, self.right.iter().copied());
        Some((Place { start: place.start, end: place.end + longer as u32 }, longer as u32))
    }

    fn copy_left(&mut self, place: Place) {
        self.left.clear();
        self.left.extend_from_slice(&self.bytes[place.start as usize..place.end as usize]);
    }
}

/// State while all intervals are rewritten in place.
pub(crate) struct RewriteState<'a> {
    sparse: &'a mut Sparse,
    written: usize,
}

impl RewriteState<'_> {
    /// Write the union of two intervals. It never takes more bytes than the two did.
    pub(crate) fn join(&mut self, a: Place, b: Place) -> Place {
        let Sparse { bytes, left, right } = &mut *self.sparse;
        left.clear();
        left.extend_from_slice(&bytes[a.start as usize..a.end as usize]);
        right.clear();
        right.extend_from_slice(&bytes[b.start as usize..b.end as usize]);
        let (start, mut last) = (self.written, 0);
        let entries = |bytes| Entries { bytes, index: 0 };
        for (index, count) in joined(entries(left.iter()), entries(right.iter())) {
            for number in [(index - last) as u64, count] {
                self.written = overwrite(bytes, self.written, number);
            }
            last = index;
        }
        Place { start: start as u32, end: self.written as u32 }
    }

    /// Drop the bytes that were not written again.
    pub(crate) fn finish(self) {
        self.sparse.bytes.truncate(self.written);
    }
}

/// As [`pack`], over existing bytes; returns the position of the next number.
fn overwrite(bytes: &mut [u8], mut at: usize, mut value: u64) -> usize {
    while value >= 0x80 {
        bytes[at] = value as u8 | 0x80;
        value >>= 7;
        at += 1;
    }
    bytes[at] = value as u8;
    at + 1
}

impl Place {
    /// The same position moved by `bytes` bytes.
    pub(crate) fn moved(self, bytes: u32) -> Self {
        Self { start: self.start + bytes, end: self.end + bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::{BUCKETS, CAPACITY_BYTES, Sparse, joined};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Held = BTreeMap<usize, u64>;

    fn held() -> impl Strategy<Value = Held> {
        prop::collection::btree_map(0..BUCKETS, prop_oneof![1_u64..200, 1_u64..u64::MAX / 4], 0..60)
    }

    fn plus(a: &Held, b: &Held) -> Held {
        let mut all = a.clone();
        b.iter().for_each(|(index, count)| *all.entry(*index).or_default() += count);
        all
    }

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked_and_joined(intervals in prop::collection::vec(held(), 0..20)) {
            let mut sparse = Sparse::new();
            let places: Vec<_> = intervals.iter().map(|held| sparse.append(held.clone().into_iter()).unwrap()).collect();
            for (place, held) in places.iter().zip(&intervals) {
                prop_assert_eq!(&sparse.entries(*place).collect::<Held>(), held);
            }
            let mut rewriting = sparse.rewrite();
            let pairs: Vec<_> = places.chunks_exact(2).map(|pair| rewriting.join(pair[0], pair[1])).collect();
            rewriting.finish();
            for (place, pair) in pairs.iter().zip(intervals.chunks_exact(2)) {
                prop_assert_eq!(sparse.entries(*place).collect::<Held>(), plus(&pair[0], &pair[1]));
            }
        }

        #[test]
        fn a_late_value_is_inserted_where_it_belongs(a in held(), b in held(), bucket in 0..BUCKETS) {
            let mut sparse = Sparse::new();
            let (first, second) = (sparse.append(a.clone().into_iter()).unwrap(), sparse.append(b.clone().into_iter()).unwrap());
            let (first, longer) = sparse.insert(first, bucket).unwrap();
            prop_assert_eq!(sparse.entries(first).collect::<Held>(), plus(&a, &Held::from([(bucket, 1)])));
            prop_assert_eq!(sparse.entries(second.moved(longer)).collect::<Held>(), b);
        }
    }

    #[test]
    fn what_does_not_fit_leaves_nothing_behind() {
        let mut sparse = Sparse::new();
        let full = || (0..BUCKETS).map(|index| (index, u64::MAX));
        let mut places = Vec::new();
        while let Some(place) = sparse.append(full()) {
            places.push(place);
        }
        assert!(places.len() >= 5 && sparse.bytes.len() <= CAPACITY_BYTES, "{}", places.len());
        assert!(places.iter().all(|place| sparse.entries(*place).eq(full())));
        assert!(sparse.append(std::iter::once((3, 1))).is_some(), "the rest of the room is still there");
    }

    #[test]
    fn joining_with_nothing_changes_nothing() {
        let some = [(1, 2), (300, 4)];
        assert!(joined(some.into_iter(), std::iter::empty()).eq(some));
        assert!(joined(std::iter::empty(), some.into_iter()).eq(some));
    }
}
