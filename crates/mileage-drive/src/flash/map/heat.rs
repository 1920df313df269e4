//! Hot and cold pages: how often each is written, and which stream it belongs to.
//!
//! # Model
//! Every page has a mark: [`WRITE`] more for each write of the host, halved whenever the host has written [`WINDOW`]
//! times as many pages as there are (direct-addressed counters with decay, after Hsieh, Kuo and Chang, 2006); a byte,
//! so that 256 KiB of marks serve 1 GiB in pages of 4 KiB. A page is hot while its mark is above the mean mark: for two
//! classes with space f and 1 - f and writes 1 - f and f that is the geometric mean of their rates. A shorter window
//! makes the marks of equal pages differ more by chance, and the streams mix: with one overwrite in place of eight the
//! drive check finds up to a sixth more writes than the optimum. A page that was not mapped counts as cold, whatever was
//! there before. The host's pages and the survivors of collections
//! alike go to the frontier of their own mark, so that a page that was misjudged once leaves its stream with the next
//! collection.

/// Amount that a write adds to a page's mark.
const WRITE: u8 = 1;
/// Overwrites of all pages after which the marks are halved.
pub(super) const WINDOW: u64 = 8;

/// The frontier, and the blocks, of hot pages.
pub(super) const HOT: u8 = 0;
/// The frontier, and the blocks, of cold pages.
pub(super) const COLD: u8 = 1;

/// Recent write frequency of pages; empty where no policy needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heat {
    /// The mark of every logical page.
    pub marks: Vec<u8>,
    /// The sum of all marks.
    sum: u64,
    /// Pages written by the host since the marks were last halved.
    pub since: u64,
    /// Pages that the host wrote to each stream, halved with the marks.
    pub writes: [u64; 2],
    /// The stream of every block that was opened.
    pub streams: Vec<u8>,
}

impl Heat {
    /// For this number of logical pages, and of blocks.
    pub(super) fn new(logical: u32, blocks: usize) -> Self {
        Self { marks: vec![0; logical as usize], streams: vec![COLD; blocks], ..Self::default() }
    }

    /// The host writes a page; its stream. `known`: it was mapped.
    #[inline]
    pub(super) fn note(&mut self, logical: u32, known: bool) -> u8 {
        let mark = &mut self.marks[logical as usize];
        let added = WRITE.min(u8::MAX - *mark);
        *mark += added;
        self.sum += u64::from(added);
        self.since += 1;
        let stream = if known { self.stream_of(logical) } else { COLD };
        self.writes[stream as usize] += 1;
        if self.since >= WINDOW * self.marks.len() as u64 {
            self.halve();
        }
        stream
    }

    fn halve(&mut self) {
        self.since = 0;
        self.marks.iter_mut().for_each(|mark| *mark /= 2);
        self.writes = self.writes.map(|writes| writes / 2);
        self.sum_up();
    }

    /// Add the marks up again, after they were restored.
    pub(crate) fn sum_up(&mut self) {
        self.sum = self.marks.iter().map(|mark| u64::from(*mark)).sum();
    }

    /// The stream that a page belongs to now.
    #[inline]
    pub(super) fn stream_of(&self, logical: u32) -> u8 {
        let mark = u64::from(self.marks[logical as usize]);
        // Arithmetic instead of a branch, which cannot be predicted: HOT is 0, COLD is 1.
        u8::from(mark * self.marks.len() as u64 <= self.sum)
    }
}
