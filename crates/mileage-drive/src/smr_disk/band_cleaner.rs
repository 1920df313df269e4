//! Cleaning: the band of the oldest write in the log is read, merged with what the media cache has of it, and written again,
//! one band after the other until the log is empty.
//!
//! First a flush makes everything durable that was logged until then; only that is merged, so that a newer write of the
//! same band stays in the log. Accesses follow each other at once; while the host uses the disk it has a pause in between.
//! Behind the last write of a band there is none.

use super::media_cache::Extent;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Next step of cleaning a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Step {
    /// Wait until the log is durable.
    Flush,
    /// Find the band of the oldest write.
    Choose,
    /// Read the band from here on.
    ReadBand(u64),
    /// Read what the media cache has of it.
    ReadCache,
    /// Write the band from here on.
    Write(u64),
    /// The band is written.
    End,
}

/// Cleaning in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CleaningJob {
    /// Purpose of the next access.
    pub step: Step,
    /// The band that is being cleaned, as a range of the host's sectors.
    pub band: (u64, u64),
    /// Writes from this position of the log on are not merged.
    pub head: u64,
    /// Extents still to be read from the media cache.
    pub extents: VecDeque<Extent>,
    /// Start of the next access; `None` while one is in progress.
    pub due_ns: Option<u64>,
    /// Whether the host has used the disk since the last access began.
    pub host_was_active: bool,
    /// Whether the host has had its pause since then.
    pub has_paused: bool,
}

impl CleaningJob {
    /// Cleaning that begins at `at_ns`.
    pub(super) fn new(at_ns: u64) -> Self {
        Self {
            step: Step::Flush,
            band: (0, 0),
            head: 0,
            extents: VecDeque::new(),
            due_ns: Some(at_ns),
            host_was_active: false,
            has_paused: false,
        }
    }
}
