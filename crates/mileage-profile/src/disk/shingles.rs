//! The figures of a shingled disk: its conventional zone, its bands, and how it cleans.

use super::text::Text;
use crate::figure::{Figure, ProfileError, impossible, whole};

/// Properties of a drive-managed shingled disk in addition to those of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShingleProfile {
    /// Logical sectors of the media cache: a conventional zone at the outer diameter, in which writes are logged. The host
    /// cannot address it.
    pub cache_sectors: u64,
    /// Extents that the map of the media cache holds at most.
    pub cache_entries: u64,
    /// Logical sectors of the journal that are written in front of every logged write.
    pub journal_sectors: u64,
    /// Tracks of a band; the last band of a zone may have fewer.
    pub band_tracks: u32,
    /// Cleaning begins when the host has asked for nothing for so long, in ns.
    pub idle_ns: u64,
    /// Cleaning begins when the media cache or its map is full to this percentage.
    pub high_percent: u64,
    /// Logical sectors that cleaning reads or writes with one access.
    pub chunk_sectors: u64,
    /// Pause that cleaning makes for the host between two of its accesses while the host uses the disk, in ns.
    pub pause_ns: u64,
}

/// Milliseconds of a figure, in ns.
fn milliseconds(key: &'static str, figure: &Figure<f64>) -> Result<u64, ProfileError> {
    if (0.0..=1e9).contains(&figure.value) {
        Ok((figure.value * 1e6).round() as u64)
    } else {
        impossible(key, figure.value, "milliseconds from 0 to 1000000000")
    }
}

/// Convert a figure from bytes to sectors; it must be a multiple of `unit_sectors`, and `least` or more.
fn sectors(key: &'static str, figure: &Figure<u64>, unit_sectors: u64, least: u64) -> Result<u64, ProfileError> {
    let unit = 512 * unit_sectors;
    if figure.value.is_multiple_of(unit) && (least * unit..=1 << 46).contains(&figure.value) {
        Ok(figure.value / 512)
    } else {
        impossible(key, figure.value, format!("a multiple of {unit}, at least {}", least * unit))
    }
}

impl ShingleProfile {
    /// The figures of a profile of kind `smr-disk`; `None` for one of kind `disk`, which may have none of them.
    pub(super) fn read(raw: &Text, physical_sectors: u64) -> Result<Option<Self>, ProfileError> {
        if !raw.is_shingled() {
            return match raw.first_shingled_figure() {
                None => Ok(None),
                Some(key) => impossible(key, "given", "kind smr-disk; a disk has no bands"),
            };
        }
        let missing = |key: &'static str| -> Result<_, ProfileError> {
            impossible(key, "missing", "a figure, because kind is smr-disk")
        };
        macro_rules! figure {
            ($key:ident) => {
                match &raw.$key {
                    Some(figure) => (stringify!($key), figure),
                    None => return missing(stringify!($key)),
                }
            };
        }
        let ((cache_key, cache), (journal_key, journal)) =
            (figure!(media_cache_bytes), figure!(media_cache_journal_bytes));
        let ((entries_key, entries), (tracks_key, tracks)) = (figure!(media_cache_entries), figure!(band_tracks));
        let ((idle_key, idle), (high_key, high)) = (figure!(cleaning_idle_ms), figure!(cleaning_high_percent));
        let ((chunk_key, chunk), (pause_key, pause)) = (figure!(cleaning_chunk_bytes), figure!(cleaning_pause_ms));
        let journal_sectors = sectors(journal_key, journal, physical_sectors, 0)?;
        let it = Self {
            cache_sectors: sectors(cache_key, cache, physical_sectors, 16)?,
            cache_entries: u64::from(whole(entries_key, entries, 4, 1 << 31)?),
            journal_sectors,
            band_tracks: whole(tracks_key, tracks, 1, 1 << 20)?,
            idle_ns: milliseconds(idle_key, idle)?,
            high_percent: u64::from(whole(high_key, high, 1, 100)?),
            chunk_sectors: sectors(chunk_key, chunk, physical_sectors, 1)?,
            pause_ns: milliseconds(pause_key, pause)?,
        };
        if it.journal_sectors > it.cache_sectors / 16 {
            let most = it.cache_sectors / 16 * 512;
            return impossible(journal_key, journal.value, format!("at most a sixteenth of {cache_key} ({most})"));
        }
        Ok(Some(it))
    }

    /// The most sectors of a host's write that are logged as one: an eighth of the media cache, so that its space suffices for
    /// a few of them.
    #[inline]
    pub fn part_sectors(&self, physical_sectors: u64) -> u64 {
        let eighth = self.cache_sectors / 8;
        (eighth - eighth % physical_sectors).max(physical_sectors)
    }
}
