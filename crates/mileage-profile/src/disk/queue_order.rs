//! Scheduling policy of a disk: the order in which it serves its queued commands.

use crate::flash::choices::choices;

choices! {
    /// How the next of the queued commands is chosen.
    Scheduling {
        /// The one that came first.
        Fcfs = "fcfs",
        /// The one on the nearest cylinder.
        Sstf = "sstf",
        /// The one whose first sector passes under its head first, the way there included.
        Sptf = "sptf",
    }
}
