//! Maps from logical to physical pages as bytes: runs of unmapped and of mapped pages.

use super::map::NOWHERE;
use crate::saved_state::{Reader, StateError, Writer, corrupt};

/// Pairs of (unmapped, mapped) run lengths, each followed by the physical pages of its mapped pages.
pub(crate) fn write_runs(out: &mut Writer, forward: &[u32]) {
    let mut rest = forward;
    while !rest.is_empty() {
        let unmapped = rest.iter().position(|page| *page != NOWHERE).unwrap_or(rest.len());
        let (_, mapped) = rest.split_at(unmapped);
        let length = mapped.iter().position(|page| *page == NOWHERE).unwrap_or(mapped.len());
        out.half(unmapped as u32);
        out.half(length as u32);
        out.halves(&mapped[..length]);
        rest = &mapped[length..];
    }
}

/// Fill a forward map with what [`write_runs`] wrote.
pub(crate) fn read_runs(reader: &mut Reader, forward: &mut [u32]) -> Result<(), StateError> {
    let mut at = 0;
    while at < forward.len() {
        let (unmapped, mapped) = (reader.half()? as usize, reader.half()? as usize);
        let pages = reader.slice(4 * mapped)?;
        let Some(run) = forward.get_mut(at + unmapped..at + unmapped + mapped) else {
            return corrupt("more pages mapped than the drive has");
        };
        if unmapped + mapped == 0 {
            return corrupt("an empty run of pages");
        }
        for (page, physical) in run.iter_mut().zip(pages.as_chunks::<4>().0) {
            *page = u32::from_le_bytes(*physical);
        }
        at += unmapped + mapped;
    }
    Ok(())
}
