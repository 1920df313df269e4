//! The write buffer: what becomes of its data without power, what a flush does, and what pages in it are good for.

use super::choices::{Combining, Flush, Power, Reads};
use super::policies::Policies;
use super::text::Text;
use crate::figure::{ProfileError, impossible, microseconds, or_default};

/// Behaviour of the write buffer; it has [`super::FlashProfile::write_buffer_pages`] places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteBuffer {
    /// Fate of the data when the power fails; `None`: the profile does not state it.
    pub power: Option<Power>,
    /// Meaning of a flush.
    pub flush: Flush,
    /// Duration of a flush after its waiting, in ns.
    pub flush_ns: u64,
    /// Treatment of a rewrite of a page in the buffer.
    pub combining: Combining,
    /// Source of reads of pages in the buffer.
    pub reads: Reads,
}

impl WriteBuffer {
    pub(super) fn read(text: &Text, policies: &Policies, packs: bool) -> Result<Self, ProfileError> {
        let value = Self {
            power: text.write_buffer_power.as_ref().map(|figure| figure.value),
            flush: or_default(text.write_buffer_flush.as_ref()),
            flush_ns: text.flush_us.as_ref().map_or(Ok(0), |figure| microseconds("flush_us", figure, 0.0))?,
            combining: or_default(text.write_combining.as_ref()),
            reads: or_default(text.write_buffer_reads.as_ref()),
        };
        let plain = "pages of full length, for the map of a controller that packs knows no places in the buffer";
        let places = text.write_buffer_pages.value > 0;
        let needs_places = "write_buffer_pages above 0";
        for (key, given, has_effect, needs) in [
            ("write_buffer_power", text.write_buffer_power.is_some(), places, needs_places),
            ("write_buffer_flush", text.write_buffer_flush.is_some(), places, needs_places),
            ("write_buffer_reads", text.write_buffer_reads.is_some(), places, needs_places),
            ("write_combining", text.write_combining.is_some(), places, needs_places),
            (
                "write_combining",
                text.write_combining.is_some(),
                policies.by_page(),
                "a mapping by pages, for one by blocks programs a run of pages as one",
            ),
            ("write_buffer_power", text.write_buffer_power.is_some(), !packs, plain),
            ("write_buffer_reads", text.write_buffer_reads.is_some(), !packs, plain),
            ("write_combining", text.write_combining.is_some(), !packs, plain),
            (
                "write_buffer_reads",
                value.reads == Reads::Buffer,
                text.bit_error_rate.is_none(),
                "no bit_error_rate, with which pages are always read from the flash",
            ),
            ("flush_us", text.flush_us.is_some(), value.flush == Flush::Honoured, "write_buffer_flush honoured"),
        ] {
            if given && !has_effect {
                return impossible(key, "given", format!("{needs}; without it the figure has no effect"));
            }
        }
        Ok(value)
    }

    /// Whether the drive must know which page is in which place.
    pub fn is_looked_into(&self) -> bool {
        self.power == Some(Power::Volatile) || self.combining == Combining::Rewrites || self.reads == Reads::Buffer
    }
}
