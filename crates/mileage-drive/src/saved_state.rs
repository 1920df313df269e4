//! Numbers as bytes and back, little-endian.

use super::super::map::NOWHERE;
use super::super::timing::Lane;
use super::{StateError, corrupt};

/// Instants beyond this are no drive's: 36 years.
const LATEST_NS: u64 = 1 << 60;

pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn new(capacity_bytes: usize) -> Self {
        Self(Vec::with_capacity(capacity_bytes))
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(super) fn reserve(&mut self, bytes: usize) {
        self.0.reserve(bytes);
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn word(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    pub(super) fn half(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    pub(super) fn words(&mut self, values: impl IntoIterator<Item = u64>) {
        values.into_iter().for_each(|value| self.word(value));
    }

    pub(super) fn lane(&mut self, lane: &Lane) {
        self.words([lane.busy_ns, lane.gap_from_ns, lane.gap_to_ns]);
    }

    /// A list with its length.
    pub(super) fn list(&mut self, values: impl ExactSizeIterator<Item = u32>) {
        self.half(values.len() as u32);
        values.for_each(|value| self.half(value));
    }

    /// As many numbers as the reader expects, equal neighbours together.
    pub(super) fn repeated<T: Copy + Into<u64> + PartialEq>(&mut self, values: &[T]) {
        for run in values.chunk_by(|a, b| a == b) {
            self.half(run.len() as u32);
            self.word(run[0].into());
        }
    }

    /// Pairs of (unmapped, mapped) run lengths, each followed by the places of its mapped pages.
    pub(super) fn places(&mut self, forward: &[u32]) {
        let mut rest = forward;
        while !rest.is_empty() {
            let unmapped = rest.iter().position(|page| *page != NOWHERE).unwrap_or(rest.len());
            let (_, mapped) = rest.split_at(unmapped);
            let length = mapped.iter().position(|page| *page == NOWHERE).unwrap_or(mapped.len());
            self.half(unmapped as u32);
            self.half(length as u32);
            self.0.extend(mapped[..length].iter().flat_map(|page| page.to_le_bytes()));
            rest = &mapped[length..];
        }
    }
}

pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    total: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, total: bytes.len() }
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    pub(super) fn take<const N: usize>(&mut self) -> Result<[u8; N], StateError> {
        let (taken, rest) = self.bytes.split_first_chunk::<N>().ok_or(StateError::Truncated { found: self.total })?;
        self.bytes = rest;
        Ok(*taken)
    }

    fn slice(&mut self, length: usize) -> Result<&'a [u8], StateError> {
        let (taken, rest) = self.bytes.split_at_checked(length).ok_or(StateError::Truncated { found: self.total })?;
        self.bytes = rest;
        Ok(taken)
    }

    /// Fill `values` with as many bytes.
    pub(super) fn fill(&mut self, values: &mut [u8]) -> Result<(), StateError> {
        values.copy_from_slice(self.slice(values.len())?);
        Ok(())
    }

    pub(super) fn word(&mut self) -> Result<u64, StateError> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    pub(super) fn half(&mut self) -> Result<u32, StateError> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    pub(super) fn below(&mut self, limit: u64, what: &'static str) -> Result<u64, StateError> {
        let value = self.word()?;
        if value < limit { Ok(value) } else { corrupt(what) }
    }

    pub(super) fn instant(&mut self) -> Result<u64, StateError> {
        self.below(LATEST_NS, "a time that no drive reaches")
    }

    pub(super) fn lane(&mut self) -> Result<Lane, StateError> {
        Ok(Lane { busy_ns: self.instant()?, gap_from_ns: self.instant()?, gap_to_ns: self.instant()? })
    }

    /// A list of at most `longest` numbers.
    pub(super) fn list(&mut self, longest: u32) -> Result<Vec<u32>, StateError> {
        let length = self.half()?;
        if length > longest {
            return corrupt("a list is longer than the drive has blocks");
        }
        let values = self.slice(4 * length as usize)?;
        Ok(values.as_chunks::<4>().0.iter().map(|value| u32::from_le_bytes(*value)).collect())
    }

    /// Fill `values`, each below `limit`, with what [`Writer::repeated`] wrote.
    pub(super) fn repeated<T: TryFrom<u64> + Copy>(&mut self, values: &mut [T], limit: u64) -> Result<(), StateError> {
        let mut at = 0;
        while at < values.len() {
            let (length, value) = (self.half()? as usize, self.below(limit, "a number that no block reaches")?);
            let (Some(run), Ok(value)) = (values.get_mut(at..at + length), T::try_from(value)) else {
                return corrupt("more numbers than the drive has blocks");
            };
            if length == 0 {
                return corrupt("an empty run of numbers");
            }
            run.fill(value);
            at += length;
        }
        Ok(())
    }

    /// Fill a forward map with what [`Writer::places`] wrote.
    pub(super) fn places(&mut self, forward: &mut [u32]) -> Result<(), StateError> {
        let mut at = 0;
        while at < forward.len() {
            let (unmapped, mapped) = (self.half()? as usize, self.half()? as usize);
            let places = self.slice(4 * mapped)?;
            let Some(run) = forward.get_mut(at + unmapped..at + unmapped + mapped) else {
                return corrupt("more pages mapped than the drive has");
            };
            if unmapped + mapped == 0 {
                return corrupt("an empty run of pages");
            }
            for (page, place) in run.iter_mut().zip(places.as_chunks::<4>().0) {
                *page = u32::from_le_bytes(*place);
            }
            at += unmapped + mapped;
        }
        Ok(())
    }
}
