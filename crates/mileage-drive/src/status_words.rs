//! Encode the kind of a request and its outcome as numbers in a saved state.

use crate::device::{Refusal, RequestKind, Status, WornOut};
use crate::saved_state::{Reader, StateError, Writer, corrupt};

fn worn_out(why: WornOut) -> [u64; 2] {
    match why {
        WornOut::RatingUsedUp => [0, 0],
        WornOut::NoReplacement { used_percent } => [1, used_percent],
    }
}

/// Write a status.
pub(crate) fn save(out: &mut Writer, status: Status) {
    out.words(match status {
        Status::Done => [0, 0, 0, 0],
        Status::Uncorrectable { offset_bytes } => [1, offset_bytes, 0, 0],
        Status::TimedOut { timeout_ns } => [2, timeout_ns, 0, 0],
        Status::DroppedOff { at_ns } => [3, at_ns, 0, 0],
        Status::Refused(refusal) => match refusal {
            Refusal::OutOfRange { offset_bytes, length_bytes, capacity_bytes } => {
                [4, offset_bytes, length_bytes, capacity_bytes]
            }
            Refusal::Misaligned { offset_bytes, length_bytes, sector_bytes } => {
                [5, offset_bytes, length_bytes, u64::from(sector_bytes)]
            }
            Refusal::Empty { offset_bytes } => [6, offset_bytes, 0, 0],
            Refusal::NeedlessFua => [7, 0, 0, 0],
            Refusal::FlushWithRange => [8, 0, 0, 0],
            Refusal::DroppedOff { at_ns } => [9, at_ns, 0, 0],
            Refusal::ReadOnly(why) => {
                let [a, b] = worn_out(why);
                [10, a, b, 0]
            }
            Refusal::Dead(why) => {
                let [a, b] = worn_out(why);
                [11, a, b, 0]
            }
            Refusal::NoDiscard => [12, 0, 0, 0],
        },
    });
}

/// Read what [`save`] wrote.
pub(crate) fn restore(reader: &mut Reader) -> Result<Status, StateError> {
    let (code, a, b, c) = (reader.word()?, reader.word()?, reader.word()?, reader.word()?);
    let why = match a {
        0 => WornOut::RatingUsedUp,
        _ => WornOut::NoReplacement { used_percent: b },
    };
    Ok(match code {
        0 => Status::Done,
        1 => Status::Uncorrectable { offset_bytes: a },
        2 => Status::TimedOut { timeout_ns: a },
        3 => Status::DroppedOff { at_ns: a },
        4 => Status::Refused(Refusal::OutOfRange { offset_bytes: a, length_bytes: b, capacity_bytes: c }),
        5 => Status::Refused(Refusal::Misaligned { offset_bytes: a, length_bytes: b, sector_bytes: c as u32 }),
        6 => Status::Refused(Refusal::Empty { offset_bytes: a }),
        7 => Status::Refused(Refusal::NeedlessFua),
        8 => Status::Refused(Refusal::FlushWithRange),
        9 => Status::Refused(Refusal::DroppedOff { at_ns: a }),
        10 => Status::Refused(Refusal::ReadOnly(why)),
        11 => Status::Refused(Refusal::Dead(why)),
        12 => Status::Refused(Refusal::NoDiscard),
        _ => return corrupt("a request ended in a way that does not exist"),
    })
}

/// The kind of request with this number.
pub(crate) fn kind_of(number: u64) -> Result<RequestKind, StateError> {
    let kinds = [RequestKind::Read, RequestKind::Write, RequestKind::Discard, RequestKind::Flush];
    match kinds.get(number as usize) {
        Some(kind) => Ok(*kind),
        None => corrupt("a kind of request that does not exist"),
    }
}
