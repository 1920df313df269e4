//! State of the thread that writes dirty pages.

use serde::{Deserialize, Serialize};

/// The thread that writes old pages, and those above the background threshold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flusher {
    /// It has work.
    pub is_running: bool,
    /// It continues when the queue has room.
    pub is_blocked: bool,
    /// Since when metadata are dirty.
    pub metadata_dirtied_ns: Option<u64>,
    /// Where it stopped in the metadata.
    pub metadata_page: u32,
}
