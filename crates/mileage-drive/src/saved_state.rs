//! A device's state as bytes: the header that every kind of device writes, values as postcard writes them, large tables in
//! little-endian order, and why bytes are not the state of a device.
//!
//! Header: a magic of eight bytes, the version of what follows, a fingerprint of the figures that decide what the device
//! does, and a checksum of the rest.

use crate::profile::FigureText;
use serde::{Deserialize, Serialize};

/// Reason why bytes are not a saved state of this device: what was found, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The bytes do not begin as a state of such a device does.
    #[error("not a drive state: it begins with {found:?}, expected it to begin with {expected}")]
    NotAState {
        /// Its first bytes.
        found: String,
        /// The first bytes of such a state.
        expected: &'static str,
    },
    /// Written by another version of the format.
    #[error("drive state of version {found}: this program reads version {expected}; age the drive again")]
    OtherVersion {
        /// The version in the header.
        found: u64,
        /// The version that this program writes.
        expected: u64,
    },
    /// The state of a drive with other figures.
    #[error(
        "the state belongs to a drive with other figures than {expected:?}: restore it with the profile that made it"
    )]
    OtherProfile {
        /// The drive that was to be restored.
        expected: String,
    },
    /// Fewer bytes than there must be.
    #[error("drive state truncated: it ends after {found} bytes, expected at least {expected}")]
    Truncated {
        /// Length of the given state in bytes.
        found: usize,
        /// Bytes that there must be, as far as it was read.
        expected: usize,
    },
    /// The bytes were changed since they were saved.
    #[error("drive state corrupt: its checksum does not match its contents; it was cut short or changed")]
    Checksum {
        /// The checksum of the bytes.
        found: u64,
        /// The checksum that the header has.
        expected: u64,
    },
    /// A number that such a device cannot have.
    #[error("drive state corrupt: {what}: found {found}, expected less than {limit}")]
    OutOfRange {
        /// Description of the contradiction.
        what: &'static str,
        /// The number.
        found: u64,
        /// The least that is too much.
        limit: u64,
    },
    /// The contents contradict each other.
    #[error("drive state corrupt: {what}")]
    Corrupt {
        /// Description of the contradiction.
        what: &'static str,
    },
}

/// Contents that contradict each other.
pub(crate) fn corrupt<T>(what: &'static str) -> Result<T, StateError> {
    Err(StateError::Corrupt { what })
}

/// A 64-bit hash of bytes, eight at a time; for accidents, not for attackers.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let mix = |state: u64, word: u64| (state.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let (words, rest) = bytes.as_chunks::<8>();
    let state = words.iter().fold(bytes.len() as u64, |state, word| mix(state, u64::from_le_bytes(*word)));
    let state = rest.iter().fold(state, |state, byte| mix(state, u64::from(*byte)));
    mix(state, state >> 29)
}

/// A hash of figures: of all those that decide what a device does.
pub(crate) fn fingerprint<'a>(figures: impl IntoIterator<Item = &'a FigureText>) -> u64 {
    let text: Vec<String> = figures.into_iter().map(|figure| format!("{}={}", figure.name, figure.value)).collect();
    checksum(text.join("\n").as_bytes())
}

/// The header of a device's states.
pub(crate) struct Format {
    /// Eight letters at the start of a saved state, which identify its kind.
    pub magic: &'static str,
    pub version: u64,
}

impl Format {
    const HEADER_BYTES: usize = 32;

    /// A state that is empty yet.
    pub(crate) fn begin(&self, fingerprint: u64) -> Writer {
        let mut out = Writer(Vec::with_capacity(Self::HEADER_BYTES + 4096));
        out.bytes(self.magic.as_bytes());
        out.words([self.version, fingerprint, 0]);
        out
    }

    /// The bytes of a state that [`Self::begin`] began.
    pub(crate) fn end(out: Writer) -> Vec<u8> {
        let mut bytes = out.0;
        let checksum = checksum(&bytes[Self::HEADER_BYTES..]);
        bytes[Self::HEADER_BYTES - 8..Self::HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Check the header of a state of the drive `name` with this fingerprint, and return a reader of the rest.
    pub(crate) fn open<'a>(&self, state: &'a [u8], fingerprint: u64, name: &str) -> Result<Reader<'a>, StateError> {
        let mut reader = Reader { bytes: state, total: state.len() };
        starts_with(state, self.magic)?;
        reader.take::<8>()?;
        let version = reader.word()?;
        if version != self.version {
            return Err(StateError::OtherVersion { found: version, expected: self.version });
        }
        if reader.word()? != fingerprint {
            return Err(StateError::OtherProfile { expected: name.to_owned() });
        }
        let expected = reader.word()?;
        match checksum(reader.bytes) {
            found if found == expected => Ok(reader),
            found => Err(StateError::Checksum { found, expected }),
        }
    }
}

/// Refuse bytes that do not begin so.
fn starts_with(state: &[u8], magic: &'static str) -> Result<(), StateError> {
    if state.starts_with(magic.as_bytes()) {
        return Ok(());
    }
    let found = String::from_utf8_lossy(&state[..state.len().min(magic.len())]).into_owned();
    Err(StateError::NotAState { found, expected: magic })
}

/// Instants beyond this are no drive's: 36 years.
const LATEST_NS: u64 = 1 << 60;

/// Writes the numbers of a state.
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.0.reserve(bytes);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn word(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    /// Any value.
    pub(crate) fn value(&mut self, value: &(impl Serialize + ?Sized)) {
        match postcard::to_extend(value, std::mem::take(&mut self.0)) {
            Ok(bytes) => self.0 = bytes,
            Err(error) => unreachable!("a state has nothing that cannot be written: {error}"),
        }
    }

    /// The state of a device inside, of which there are several.
    pub(crate) fn inner(&mut self, state: &[u8]) {
        self.word(state.len() as u64);
        self.bytes(state);
    }

    pub(crate) fn half(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    pub(crate) fn words(&mut self, values: impl IntoIterator<Item = u64>) {
        values.into_iter().for_each(|value| self.word(value));
    }

    /// A list with its length.
    pub(crate) fn list(&mut self, values: impl ExactSizeIterator<Item = u32>) {
        self.half(values.len() as u32);
        values.for_each(|value| self.half(value));
    }

    /// Write as many numbers as the reader expects, with runs of equal numbers shortened.
    pub(crate) fn repeated<T: Copy + Into<u64> + PartialEq>(&mut self, values: &[T]) {
        for run in values.chunk_by(|a, b| a == b) {
            self.half(run.len() as u32);
            self.word(run[0].into());
        }
    }

    /// Write as many numbers as the reader expects, four bytes each.
    pub(crate) fn halves(&mut self, values: &[u32]) {
        self.0.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }
}

/// Reads what [`Writer`] wrote.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    total: usize,
}

impl<'a> Reader<'a> {
    /// Refuse bytes behind the last that was read.
    pub(crate) fn end(self) -> Result<(), StateError> {
        if self.bytes.is_empty() { Ok(()) } else { corrupt("bytes after its end") }
    }

    /// Fewer bytes are left than these.
    fn too_short(&self, wanted: usize) -> StateError {
        StateError::Truncated { found: self.total, expected: self.total - self.bytes.len() + wanted }
    }

    /// The unread rest: the state of an inner device.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N], StateError> {
        let (taken, rest) = self.bytes.split_first_chunk::<N>().ok_or_else(|| self.too_short(N))?;
        self.bytes = rest;
        Ok(*taken)
    }

    pub(crate) fn slice(&mut self, length: usize) -> Result<&'a [u8], StateError> {
        let (taken, rest) = self.bytes.split_at_checked(length).ok_or_else(|| self.too_short(length))?;
        self.bytes = rest;
        Ok(taken)
    }

    /// Fill `values` with as many bytes.
    pub(crate) fn fill(&mut self, values: &mut [u8]) -> Result<(), StateError> {
        values.copy_from_slice(self.slice(values.len())?);
        Ok(())
    }

    pub(crate) fn word(&mut self) -> Result<u64, StateError> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    pub(crate) fn half(&mut self) -> Result<u32, StateError> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    /// What [`Writer::value`] wrote.
    pub(crate) fn value<T: Deserialize<'a>>(&mut self) -> Result<T, StateError> {
        match postcard::take_from_bytes(self.bytes) {
            Ok((value, rest)) => {
                self.bytes = rest;
                Ok(value)
            }
            Err(postcard::Error::DeserializeUnexpectedEnd) => Err(self.too_short(self.bytes.len() + 1)),
            Err(_) => corrupt("a value that no device has"),
        }
    }

    /// What [`Writer::inner`] wrote.
    pub(crate) fn inner(&mut self) -> Result<&'a [u8], StateError> {
        let length = self.word()?;
        self.slice(length as usize)
    }

    /// Fill `values` with what [`Writer::words`] wrote.
    pub(crate) fn words(&mut self, values: &mut [u64]) -> Result<(), StateError> {
        values.iter_mut().try_for_each(|value| {
            *value = self.word()?;
            Ok(())
        })
    }

    pub(crate) fn below(&mut self, limit: u64, what: &'static str) -> Result<u64, StateError> {
        let value = self.word()?;
        if value < limit { Ok(value) } else { Err(StateError::OutOfRange { what, found: value, limit }) }
    }

    pub(crate) fn instant(&mut self) -> Result<u64, StateError> {
        self.below(LATEST_NS, "a time that no drive reaches")
    }

    /// A list of at most `longest` numbers.
    pub(crate) fn list(&mut self, longest: u32) -> Result<Vec<u32>, StateError> {
        let length = self.half()?;
        if length > longest {
            return corrupt("a list is longer than the drive has blocks");
        }
        let values = self.slice(4 * length as usize)?;
        Ok(values.as_chunks::<4>().0.iter().map(|value| u32::from_le_bytes(*value)).collect())
    }

    /// Fill `values`, each below `limit`, with what [`Writer::repeated`] wrote.
    pub(crate) fn repeated<T: TryFrom<u64> + Copy>(&mut self, values: &mut [T], limit: u64) -> Result<(), StateError> {
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
}

/// Saves and restores these fields of a type, one after the other.
macro_rules! saved_fields {
    ($($field:ident),+ $(,)?) => {
        fn save_fields(&self, out: &mut $crate::saved_state::Writer) {
            $(out.value(&self.$field);)+
        }

        fn restore_fields(
            &mut self,
            reader: &mut $crate::saved_state::Reader,
        ) -> Result<(), $crate::saved_state::StateError> {
            $(self.$field = reader.value()?;)+
            Ok(())
        }
    };
}

pub(crate) use saved_fields;

/// A heap or a hash map in one order, so that equal states give equal bytes.
pub(crate) fn sorted<T: Ord>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.into_iter().collect();
    items.sort_unstable();
    items
}

/// Refuse instants that no device reaches: the sums of others would overflow.
pub(crate) fn reachable(instants_ns: impl IntoIterator<Item = u64>) -> Result<(), StateError> {
    match instants_ns.into_iter().find(|at_ns| *at_ns >= LATEST_NS) {
        Some(found) => Err(StateError::OutOfRange { what: "a time that no drive reaches", found, limit: LATEST_NS }),
        None => Ok(()),
    }
}
