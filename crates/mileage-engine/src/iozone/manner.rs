//! How the records of IOzone's tests are moved, and what is done around them: the flags that leave the tests' offsets as
//! they are.

use mileage_workload::Error;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What moves the records of the tests that use no stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// `read`, `write` and their like.
    #[default]
    Calls,
    /// A mapping of the whole file (`-B`).
    Mapping {
        /// What follows each record that was written.
        flush: MappedFlush,
    },
    /// POSIX asynchronous I/O, reads ahead and writes behind (`-H`, `-k`).
    Posix {
        /// Records in flight in addition to the current one.
        depth: u32,
        /// What was read is copied to one buffer (`-H`; not `-k`).
        copied: bool,
    },
}

/// What follows each record that is written to a mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MappedFlush {
    /// Nothing.
    #[default]
    None,
    /// `msync(MS_ASYNC)` (`-D`).
    Begin,
    /// `msync(MS_SYNC)` (`-G`).
    Wait,
}

/// Processor's cache that is walked over before each record (`-p`, with `-S` and `-L`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheSize {
    /// Size in bytes.
    pub bytes: u32,
    /// Length of a line in bytes.
    pub line_bytes: u32,
}

/// Longest compute cycle: a day.
const COMPUTE_NS_MAX: u64 = 86_400_000_000_000;

/// The manner of a suite's tests; by default that of IOzone without flags.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Manner {
    /// What moves the records.
    pub transport: Transport,
    /// Every hundredth read is preceded by two short reads elsewhere (`-K`): of read, reread, and with workers also of
    /// pread, backward and stride read.
    pub jitter: bool,
    /// As many lines of another buffer as a record has, at most a cache's, are read before each record (`-p`).
    pub purge: Option<CacheSize>,
    /// Directory of the files with a line of offset and latency for each record (`-Q`); none are written without.
    pub logs: Option<PathBuf>,
    /// Processor of the first worker, the others' follow in turn (`-P`).
    pub first_cpu: Option<u32>,
    /// Compute cycle: time for which the processor is kept busy before each record (`-J`), at most a day.
    pub compute_ns: u64,
    /// The compute cycles count in the rates (`-+J`).
    pub compute_timed: bool,
    /// Mount point that is unmounted and mounted again before each test of a single stream (`-U`).
    pub remount: Option<PathBuf>,
}

impl Manner {
    /// Check that this manner is possible; `fidelity` is the suite's mode.
    pub(super) fn check(&self, fidelity: bool) -> Result<(), Error> {
        let refused = |what, found: &str, expected| Err(Error::Refused { what, found: found.to_owned(), expected });
        if !fidelity && *self != Self::default() {
            return refused("manner", "given", "the mode fidelity");
        }
        if let Some(cache) = self.purge
            && (cache.line_bytes == 0 || cache.bytes < cache.line_bytes)
        {
            return refused("purge", "a line that the cache cannot hold", "lines of 1 byte or more in a larger cache");
        }
        if self.compute_ns > COMPUTE_NS_MAX {
            return refused("compute_ns", "more than a day", "a day or less");
        }
        if self.compute_timed && self.compute_ns == 0 {
            return refused("compute_timed", "no compute_ns", "both, or no compute_timed");
        }
        Ok(())
    }
}
