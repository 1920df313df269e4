//! The states of 64 pages of a file.

use crate::lru::Run;
use serde::{Deserialize, Serialize};

/// 64 pages of a file; each word has a bit for each page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Chunk {
    pub present: u64,
    pub dirty: u64,
    pub writeback: u64,
    /// Being read.
    pub locked: u64,
    pub referenced: u64,
    pub active: u64,
    /// Touching it starts the next read-ahead.
    pub marker: u64,
    /// Pages that belong to the folio of the page before them.
    pub tails: u64,
    /// Low and high bit of the number of the page's last entry in a list, so that older entries are known to be stale.
    pub turn: [u64; 2],
    /// Whose pages these are, and which 64 of them.
    pub file: u32,
    pub number: u32,
    /// How often the place was given to other pages: entries of older ones are stale.
    pub generation: u32,
}

impl Chunk {
    /// The pages of an entry of a list that came to it last with this entry.
    pub(crate) fn pages_of(slab: &[Chunk], run: Run, active: bool) -> u64 {
        let Some(it) = slab.get(run.place as usize).filter(|it| run.is_of(it.generation)) else { return 0 };
        let turn = run.turn();
        let [low, high] = [0, 1].map(|bit| if turn >> bit & 1 == 1 { it.turn[bit] } else { !it.turn[bit] });
        run.pages() & it.present & low & high & if active { it.active } else { !it.active }
    }
}
