//! The stream of hot blocks and that of cold ones: which of both is collected.
//!
//! # Model
//! Separate streams alone gain little: a policy that looks only for stale pages gives both streams the same share
//! of stale pages, and with it the amplification of uniform writes. A stream of V valid and s stale pages has an
//! amplification of about (V + s) / 2s; with the share r of the writes in it, the sum of r (V + s) / 2s over both is
//! least for s in proportion to the root of r V. The stream with more than that is collected; within it the policy
//! of the profile chooses. A block without a valid page goes first.

use super::Map;
use super::heat::{COLD, HOT};

/// Contents of a unit's full blocks of one stream.
#[derive(Clone, Copy, Debug)]
struct Held {
    blocks: u32,
    stale: u32,
    /// Stale pages of the emptiest block.
    most: i16,
}

impl Map {
    /// Mark which of the valid pages (`live`) from `first` on hold hot data.
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
