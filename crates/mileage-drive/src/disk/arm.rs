//! Arm, spindle and heads: where they are, when they are free, and how far they have read ahead.
//!
//! The angle is never stored: it follows from the clock. What the arm does next is decided when it is free, so that its
//! times are known then; reading ahead is computed when somebody asks how far it came.

use super::geometry::Geometry;
use serde::{Deserialize, Serialize};

/// Durations within one access to the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "a name carries its unit")]
pub(super) struct Access {
    /// The first sector begins to pass.
    pub begin_ns: u64,
    /// The last sector has passed.
    pub end_ns: u64,
    /// Moving the arm and switching heads before the first sector.
    pub move_ns: u64,
    /// Waiting for the first sector.
    pub wait_ns: u64,
}

/// Read-ahead in progress: the sectors that pass the head after the end of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stream {
    /// The first sector that has not passed yet.
    pub lba: u64,
    /// Time at which the first sector begins to pass the head.
    pub at_ns: u64,
    /// Time at which the heads reach its track.
    pub arrived_ns: u64,
    /// Whether the heads are on its track, or move to it.
    pub on_track: bool,
    /// Sector at which reading ahead stops.
    pub limit: u64,
}

/// Position of the arm, and the time at which it is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Arm {
    /// Cylinder and head.
    pub track: (u32, u32),
    /// Simulated time at which the latest access ends and the arm is free.
    pub free_ns: u64,
    pub stream: Option<Stream>,
    /// Behind the last sector of the last access.
    pub end_lba: u64,
}

impl Arm {
    /// Whether a command begins at the position of the arm.
    #[inline]
    pub(super) fn is_at(&self, lba: u64) -> bool {
        lba == self.stream.map_or(self.end_lba, |stream| stream.lba)
    }

    /// Earliest start of a movement for an access that is decided now: a movement for reading ahead is completed
    /// first.
    #[inline]
    pub(super) fn begin_ns(&self, now_ns: u64) -> u64 {
        self.stream.map_or(now_ns, |stream| stream.arrived_ns.max(now_ns))
    }

    /// The sector from which a read may continue the current reading ahead.
    #[inline]
    pub(super) fn streaming(&self) -> Option<u64> {
        self.stream.map(|stream| stream.lba)
    }

    /// Whether a read from this sector on continues the current reading ahead.
    #[inline]
    pub(super) fn streams(&self, lba: u64) -> Option<u64> {
        let reads = |stream: &Stream| stream.lba == lba && stream.on_track && stream.lba < stream.limit;
        self.stream.filter(reads).map(|stream| stream.at_ns)
    }

    /// Read on from `lba` to `limit` behind the access that was just begun.
    pub(super) fn begin_stream(&mut self, lba: u64, limit: u64) {
        let at_ns = self.free_ns;
        self.stream = Some(Stream { lba, at_ns, arrived_ns: at_ns, on_track: false, limit });
    }

    /// Let reading ahead come as far as it does until `now_ns`; sectors that it has read.
    pub(super) fn read_ahead(&mut self, geometry: &Geometry, now_ns: u64) -> u64 {
        let Some(stream) = &mut self.stream else { return 0 };
        let before = stream.lba;
        while now_ns > stream.at_ns && stream.lba < stream.limit {
            let place = geometry.place(stream.lba);
            if !stream.on_track {
                (stream.at_ns, stream.arrived_ns) = onto(geometry, &mut self.track, stream.lba, stream.at_ns);
                stream.on_track = true;
                continue;
            }
            let passed = geometry.passed(&place, now_ns - stream.at_ns);
            let count = u64::from(passed).min(stream.limit - stream.lba);
            stream.lba += count;
            stream.at_ns += geometry.pass_ns(&place, count as u32);
            if count < u64::from(place.left) {
                break;
            }
            stream.on_track = false;
        }
        stream.lba - before
    }

    /// Let reading ahead stop later; where it has stopped already, it begins again now.
    pub(super) fn extend(&mut self, geometry: &Geometry, limit: u64, now_ns: u64) {
        let Some(stream) = &mut self.stream else { return };
        let stopped = stream.lba == stream.limit && stream.at_ns < now_ns;
        stream.limit = stream.limit.max(limit);
        if stopped && stream.lba < stream.limit {
            (stream.at_ns, stream.arrived_ns) = onto(geometry, &mut self.track, stream.lba, now_ns);
            stream.on_track = true;
        }
    }

    /// Time until the first sector at a place passes under the head, if the access is decided at `now_ns`; if that is more
    /// than `most_ns`, any number above `most_ns`.
    #[inline]
    pub(super) fn reach_ns(
        &self,
        geometry: &Geometry,
        to: (u32, u32, u64),
        writes: bool,
        (now_ns, most_ns): (u64, u64),
    ) -> u64 {
        let moved_ns = self.begin_ns(now_ns) + geometry.move_ns(self.track, (to.0, to.1), writes);
        let least_ns = moved_ns - now_ns;
        // Most commands of a long queue are too far away; the angle of the platter costs a division.
        if least_ns > most_ns { least_ns } else { least_ns + geometry.wait_ns(to.2, moved_ns) }
    }

    /// Read or write `sectors` from `lba` on, as decided at `now_ns`.
    pub(super) fn access(&mut self, geometry: &Geometry, lba: u64, sectors: u64, writes: bool, now_ns: u64) -> Access {
        let streams = if writes { None } else { self.streams(lba) };
        let (begin_ns, move_ns, wait_ns) = if let Some(at_ns) = streams {
            (at_ns, 0, at_ns.saturating_sub(now_ns))
        } else {
            let place = geometry.place(lba);
            let from_ns = self.begin_ns(now_ns);
            let to = (place.cylinder, place.head);
            let moved_ns = from_ns + geometry.move_ns(self.track, to, writes);
            self.track = to;
            let wait_ns = geometry.wait_ns(place.angle_ns, moved_ns);
            (moved_ns + wait_ns, moved_ns - now_ns, wait_ns)
        };
        self.stream = None;
        self.end_lba = lba + sectors;
        self.free_ns = self.transfer(geometry, lba, sectors, writes, begin_ns);
        Access { begin_ns, end_ns: self.free_ns, move_ns, wait_ns }
    }

    /// Time at which the last of `sectors` has passed, if the first begins to pass at `begin_ns`.
    fn transfer(&mut self, geometry: &Geometry, lba: u64, sectors: u64, writes: bool, begin_ns: u64) -> u64 {
        let (mut lba, mut left, mut at_ns) = (lba, sectors, begin_ns);
        loop {
            let place = geometry.place(lba);
            let count = left.min(u64::from(place.left));
            at_ns += geometry.pass_ns(&place, count as u32);
            (lba, left) = (lba + count, left - count);
            if left == 0 {
                return at_ns;
            }
            let next = geometry.place(lba);
            let moved_ns = at_ns + geometry.move_ns(self.track, (next.cylinder, next.head), writes);
            self.track = (next.cylinder, next.head);
            at_ns = moved_ns + geometry.wait_ns(next.angle_ns, moved_ns);
        }
    }
}

/// Move the heads to the track of a sector for reading; when it begins to pass, and when the heads are there.
fn onto(geometry: &Geometry, track: &mut (u32, u32), lba: u64, at_ns: u64) -> (u64, u64) {
    let place = geometry.place(lba);
    let to = (place.cylinder, place.head);
    let arrived_ns = at_ns + geometry.move_ns(*track, to, false);
    *track = to;
    (arrived_ns + geometry.wait_ns(place.angle_ns, arrived_ns), arrived_ns)
}
