//! The part of a state that says what is in the write buffer.

use super::{Buffer, PageWrite, Place};
use crate::flash::map::NOWHERE;
use crate::profile::FlashProfile;
use crate::saved_state::{Reader, StateError, Writer, corrupt};

pub(crate) fn save(out: &mut Writer, buffer: &Buffer) {
    out.word(buffer.writes);
    for Place { page, there_ns, until_ns, done_ns, kept_ns } in &buffer.places {
        out.words([u64::from(*page), *there_ns, *until_ns, *done_ns, *kept_ns]);
    }
    out.word(buffer.unkept.len() as u64);
    for PageWrite { write, offset_bytes, bytes, acknowledged_ns, kept_ns } in &buffer.unkept {
        out.words([*write, *offset_bytes, u64::from(*bytes), *acknowledged_ns, *kept_ns]);
    }
}

/// Read the data that [`save`] wrote into an empty buffer.
pub(crate) fn restore(reader: &mut Reader, buffer: &mut Buffer, profile: &FlashProfile) -> Result<(), StateError> {
    buffer.writes = reader.below(u64::MAX / 2, "more writes than a drive ever does")?;
    for index in 0..buffer.places.len() {
        let page = match reader.word()? {
            page if page == u64::from(NOWHERE) => NOWHERE,
            page if page < profile.logical_pages() => page as u32,
            _ => return corrupt("a page in the write buffer that the drive does not have"),
        };
        let (there_ns, until_ns) = (reader.instant()?, reader.instant()?);
        let place = Place { page, there_ns, until_ns, done_ns: reader.instant()?, kept_ns: reader.instant()? };
        buffer.put(index as u32, place);
    }
    for _ in 0..reader.word()? {
        let write = reader.below(buffer.writes.max(1), "a write that was never done")?;
        let offset_bytes = reader.below(profile.basics.capacity_bytes, "a write behind the drive")?;
        let bytes = reader.below(u64::from(profile.mapping_bytes) + 1, "more than a page in a page")? as u32;
        let (acknowledged_ns, kept_ns) = (reader.instant()?, reader.instant()?);
        buffer.unkept.push_back(PageWrite { write, offset_bytes, bytes, acknowledged_ns, kept_ns });
    }
    Ok(())
}
