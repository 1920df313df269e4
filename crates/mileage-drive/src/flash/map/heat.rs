//! Hot and cold: how often pages are written, which blocks hold the hot ones, and which of both streams is collected.
//!
//! # Model
//! Every page has a mark: 4 more for each write of the host, halved whenever the host has written as many pages as
//! there are (direct-addressed counters with decay, after Hsieh, Kuo and Chang, 2006); a byte, so that 256 KiB of
//! marks serve 1 GiB in pages of 4 KiB. A page is hot while its mark is above [`HOT_TIMES`] times the mean mark. A page
//! that was not mapped counts as cold, whatever was there before. The host's pages and the survivors of collections
//! alike go to the frontier of their own mark, so that a page that was misjudged once leaves its stream with the next
//! collection.
//!
//! # Which stream is collected
//! Separate streams alone gain little: a policy that looks only for stale pages gives both streams the same share
//! of stale pages, and with it the amplification of uniform writes. A stream of V valid and s stale pages has an
//! amplification of about (V + s) / 2s; with the share r of the writes in it, the sum of r (V + s) / 2s over both is
//! least for s in proportion to the root of r V. The stream with more than that is collected; within it the policy
//! of the profile chooses. A block without a valid page goes first.

use super::{Geometry, Map};

/// What a write adds to a page's mark.
const WRITE: u8 = 4;
/// A page is hot when its mark is above so many times the mean.
const HOT_TIMES: u64 = 2;

/// The frontier, and the blocks, of hot pages.
pub(super) const HOT: u8 = 0;
/// The same of cold ones.
pub(super) const COLD: u8 = 1;

/// How often pages were written lately; empty where no policy asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heat {
    /// The mark of every logical page.
    pub marks: Vec<u8>,
    /// The sum of all marks.
    sum: u64,
    /// Pages written by the host since the marks were last halved.
    pub since: u32,
    /// Pages that the host wrote to each stream, halved with the marks.
    pub writes: [u64; 2],
    /// The stream of every block that was opened.
    pub streams: Vec<u8>,
}

impl Heat {
    pub(super) fn new(geometry: &Geometry) -> Self {
        Self {
            marks: vec![0; geometry.logical as usize],
            streams: vec![COLD; (geometry.units * geometry.stride()) as usize],
            ..Self::default()
        }
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
        if self.since as usize >= self.marks.len() {
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
        // No branch: HOT is 0, COLD is 1.
        u8::from(mark * self.marks.len() as u64 <= HOT_TIMES * self.sum)
    }
}

/// What a unit's full blocks of one stream hold.
#[derive(Clone, Copy, Debug)]
struct Held {
    blocks: u32,
    stale: u32,
    /// Stale pages of the emptiest block.
    most: i16,
}

impl Map {
    /// Which of the pages from `first` on, of those that `live` names, hold hot data.
    pub(super) fn hot_of(&self, first: u32, live: u64) -> u64 {
        let (mut rest, mut hot) = (live, 0);
        while rest != 0 {
            let bit = rest.trailing_zeros();
            rest &= rest - 1;
            let logical = self.reverse[(first + bit) as usize];
            hot |= u64::from(self.heat.stream_of(logical) == HOT) << bit;
        }
        hot
    }

    fn counts_and_streams(&self, unit: u32) -> (&[i16], &[u8]) {
        let stride = self.geometry.stride() as usize;
        let blocks = unit as usize * stride..(unit as usize + 1) * stride;
        (&self.stale_count[blocks.clone()], &self.heat.streams[blocks])
    }

    fn held(&self, unit: u32, stream: u8) -> Held {
        let (counts, streams) = self.counts_and_streams(unit);
        let mut held = Held { blocks: 0, stale: 0, most: 0 };
        for (count, of) in counts.iter().zip(streams) {
            let counted = *count >= 0 && *of == stream;
            let count = if counted { *count } else { 0 };
            held.blocks += u32::from(counted);
            held.stale += count as u32;
            held.most = held.most.max(count);
        }
        held
    }

    /// The unit's full block of a stream with the most stale pages, the lowest-numbered of equals.
    pub(super) fn emptiest_of(&self, unit: u32, stream: u8) -> u32 {
        let (counts, streams) = self.counts_and_streams(unit);
        let most = self.held(unit, stream).most;
        let index = counts.iter().zip(streams).position(|(count, of)| *count == most && *of == stream);
        unit * self.geometry.stride() + index.unwrap_or(0) as u32
    }

    /// The stream of a unit that has more than its share of stale pages.
    pub(super) fn stream_to_collect(&self, unit: u32) -> u8 {
        let [hot, cold] = [HOT, COLD].map(|stream| self.held(unit, stream));
        let pages = self.geometry.pages;
        if hot.most.max(cold.most) as u32 == pages {
            return if hot.most > cold.most { HOT } else { COLD };
        }
        // The square of s / sqrt(r V): it needs no root. A stream without a write in memory, or without a valid page,
        // is as one with one of them.
        let excess = |held: Held, stream: u8| {
            let writes = self.heat.writes[stream as usize].max(1) as f64;
            let valid = f64::from((held.blocks * pages - held.stale).max(1));
            f64::from(held.stale).powi(2) / (writes * valid)
        };
        if excess(hot, HOT) > excess(cold, COLD) { HOT } else { COLD }
    }
}
