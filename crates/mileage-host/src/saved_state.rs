//! The state of a host as bytes: a header, the host's own state, and the drive's.

use crate::host::{Host, State};

const MAGIC: &[u8; 8] = b"MILEHOSV";
const VERSION: u64 = 3;
const HEADER_BYTES: usize = 40;

/// Why bytes are not a state of this host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostStateError {
    /// They begin otherwise, or are too short.
    #[error("not a state of a modelled host: expected it to begin with {:?}", String::from_utf8_lossy(MAGIC))]
    NotAState,
    /// Another version of the format.
    #[error("state of a host of version {found}: this program reads version {VERSION}; begin the study anew")]
    OtherVersion {
        /// The version found.
        found: u64,
    },
    /// A host with other figures.
    #[error(
        "the state belongs to a host with other figures than {expected:?}: restore it with the profile that made it"
    )]
    OtherProfile {
        /// The host that was to be restored.
        expected: String,
    },
    /// Changed since it was saved.
    #[error("state of a host corrupt: {0}")]
    Corrupt(&'static str),
    /// The drive below.
    #[error(transparent)]
    Drive(#[from] mileage_drive::StateError),
}

/// A 64-bit hash; for accidents, not for attackers.
fn checksum(bytes: &[u8]) -> u64 {
    let mix = |state: u64, word: u64| (state.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let (words, rest) = bytes.as_chunks::<8>();
    let state = words.iter().fold(bytes.len() as u64, |state, word| mix(state, u64::from_le_bytes(*word)));
    rest.iter().fold(state, |state, byte| mix(state, u64::from(*byte)))
}

impl Host {
    /// The whole state: cache, files, journal, queues and the drive.
    ///
    /// # Panics
    /// Never: the state has no value that cannot be written.
    pub fn save(&self) -> Vec<u8> {
        let own = postcard::to_allocvec(&self.state).unwrap_or_default();
        let drive = self.device.save();
        let mut body = own;
        let own_bytes = body.len() as u64;
        body.extend_from_slice(&drive);
        let mut out = Vec::with_capacity(HEADER_BYTES + body.len());
        out.extend_from_slice(MAGIC);
        for word in [VERSION, self.profile.fingerprint(), checksum(&body), own_bytes] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&body);
        out
    }

    /// Continue from a saved state of the same host and drive.
    ///
    /// # Errors
    /// What is wrong with the state; the host is as it was.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), HostStateError> {
        let (header, body) = bytes.split_at_checked(HEADER_BYTES).ok_or(HostStateError::NotAState)?;
        let (words, _) = header.as_chunks::<8>();
        if &words[0] != MAGIC {
            return Err(HostStateError::NotAState);
        }
        let [version, fingerprint, sum, own_bytes] = [1, 2, 3, 4].map(|at| u64::from_le_bytes(words[at]));
        if version != VERSION {
            return Err(HostStateError::OtherVersion { found: version });
        }
        if fingerprint != self.profile.fingerprint() {
            return Err(HostStateError::OtherProfile { expected: self.profile.name.clone() });
        }
        if checksum(body) != sum {
            return Err(HostStateError::Corrupt("its checksum does not match its contents"));
        }
        let (own, drive) =
            body.split_at_checked(own_bytes as usize).ok_or(HostStateError::Corrupt("it ends too early"))?;
        let state: State = postcard::from_bytes(own).map_err(|_| HostStateError::Corrupt("its contents contradict"))?;
        if state.cache.check().is_err() || state.files.check().is_err() {
            return Err(HostStateError::Corrupt("its counters contradict its contents"));
        }
        self.device.restore(drive)?;
        let trace = self.state.block.trace.take();
        self.state = state;
        self.state.block.trace = trace;
        self.set_content(self.state.content.clone());
        Ok(())
    }
}
