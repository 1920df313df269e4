//! Build small flash drives for the checks, each with the few figures that a check is about.

use mileage_drive::profile::FlashProfile;
use mileage_drive::{Completion, FlashDrive, Immediate, Request, RequestKind};

pub(super) const PAGE_BYTES: u64 = 4096;

/// A drive profile for a check: figures that the check does not set have values without effect on the result.
#[derive(Clone, Debug)]
pub(super) struct Sketch {
    pub channels: u32,
    pub dies_per_channel: u32,
    pub blocks: u32,
    pub pages: u32,
    pub logical: u64,
    pub timing: Timing,
    /// Further figures, as they stand in a profile.
    pub more: Vec<(&'static str, String)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    pub read_us: f64,
    pub program_us: f64,
    pub erase_us: f64,
    pub controller_us: f64,
    pub channel_mb_per_s: f64,
    pub link_mb_per_s: Option<f64>,
    pub queue: u32,
}

impl Default for Timing {
    /// Cells as of two bits; controller, channels, link and queue do not limit.
    fn default() -> Self {
        Self {
            read_us: 50.0,
            program_us: 200.0,
            erase_us: 1000.0,
            controller_us: 0.0,
            channel_mb_per_s: 1e6,
            link_mb_per_s: Some(1e6),
            queue: 65536,
        }
    }
}

impl Sketch {
    /// One plane of `blocks` blocks.
    pub(super) fn plane(blocks: u32, pages: u32, logical: u64) -> Self {
        Self { channels: 1, dies_per_channel: 1, blocks, pages, logical, timing: Timing::default(), more: Vec::new() }
    }

    pub(super) fn with(mut self, key: &'static str, value: impl std::fmt::Display) -> Self {
        self.more.push((key, value.to_string()));
        self
    }

    pub(super) fn drive(&self) -> FlashDrive {
        FlashDrive::new(self.profile())
    }

    pub(super) fn profile(&self) -> FlashProfile {
        let Timing { read_us, program_us, erase_us, controller_us, channel_mb_per_s, link_mb_per_s, queue } =
            self.timing;
        let mut text = String::from("name = \"check\"\ntitle = \"Check\"\nkind = \"flash\"\n");
        let mut figure = |key: &str, value: &str| {
            text += &[key, " = { value = ", value, ", source = \"the check\", confidence = \"defined\" }\n"].concat();
        };
        for (key, value) in [
            ("capacity_bytes", self.logical * PAGE_BYTES),
            ("page_bytes", PAGE_BYTES),
            ("pages_per_block", u64::from(self.pages)),
            ("blocks_per_plane", u64::from(self.blocks)),
            ("planes_per_die", 1),
            ("dies_per_channel", u64::from(self.dies_per_channel)),
            ("channels", u64::from(self.channels)),
            ("queue_depth_max", u64::from(queue)),
            ("write_buffer_pages", 0),
        ] {
            if self.more.iter().all(|(given, _)| *given != key) {
                figure(key, &value.to_string());
            }
        }
        for (key, value) in [
            ("read_us", read_us),
            ("program_us", program_us),
            ("erase_us", erase_us),
            ("controller_us", controller_us),
            ("channel_mb_per_s", channel_mb_per_s),
        ] {
            figure(key, &format!("{value:?}"));
        }
        if let Some(rate) = link_mb_per_s {
            figure("link_mb_per_s", &format!("{rate:?}"));
        }
        self.more.iter().for_each(|(key, value)| figure(key, value));
        match FlashProfile::parse(&text) {
            Ok(profile) => profile,
            Err(error) => unreachable!("a check's own profile: {error}"),
        }
    }
}

/// A drive and a reproducible stream of random operations on it (`SplitMix64`).
pub(super) struct Work {
    pub drive: FlashDrive,
    state: u64,
    out: Vec<Completion>,
}

impl Work {
    pub(super) fn new(sketch: &Sketch, seed: u64) -> Self {
        Self { drive: sketch.drive(), state: seed, out: Vec::with_capacity(1) }
    }

    /// An even draw below `limit`.
    pub(super) fn draw(&mut self, limit: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((u128::from(mixed ^ (mixed >> 31)) * u128::from(limit)) >> 64) as u64
    }

    /// Submit one operation on whole pages and return its completion time in ns, or `None` if it was refused.
    pub(super) fn submit(&mut self, kind: RequestKind, page: u64, pages: u64, submit_ns: u64) -> Option<u64> {
        self.out.clear();
        let (offset_bytes, length_bytes) = (page * PAGE_BYTES, pages * PAGE_BYTES);
        self.drive.submit(&[Request { kind, fua: false, offset_bytes, length_bytes, submit_ns }], &mut self.out);
        (self.out[0].status == mileage_drive::Status::Done).then_some(self.out[0].complete_ns)
    }

    /// Write one page when the one before is complete; whether it was done.
    pub(super) fn write(&mut self, page: u64) -> bool {
        let done_ns = self.submit(RequestKind::Write, page, 1, self.drive.now_ns());
        done_ns.into_iter().for_each(|ns| self.drive.advance_to(ns));
        done_ns.is_some()
    }

    /// Write these pages, one after the other.
    pub(super) fn write_all(&mut self, pages: impl Iterator<Item = u64>) {
        pages.for_each(|page| {
            self.write(page);
        });
    }

    pub(super) fn counter(&self, name: &str) -> f64 {
        let named = self.drive.named_counters();
        named.iter().find(|(known, _)| *known == name).map_or(f64::NAN, |(_, value)| *value as f64)
    }

    /// Flash programs per page of the host, over what `work` does.
    pub(super) fn amplification_of(&mut self, work: impl FnOnce(&mut Self)) -> f64 {
        let before = [self.counter("flash_pages_programmed"), self.counter("host_pages_written")];
        work(self);
        (self.counter("flash_pages_programmed") - before[0]) / (self.counter("host_pages_written") - before[1])
    }
}
