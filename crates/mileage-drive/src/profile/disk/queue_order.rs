//! The order in which a disk does its commands.

use crate::profile::flash::choices::choices;

choices! {
    /// Which of the queued commands is done next.
    Scheduling {
        /// The one that came first.
        Fcfs = "fcfs",
        /// The one on the nearest cylinder.
        Sstf = "sstf",
        /// The one whose first sector passes under its head first, the way there included.
        Sptf = "sptf",
    }
}
