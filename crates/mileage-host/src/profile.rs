//! A host's profile: memory, processors, kernel, block layer, file system and mount options, each figure with its source.
//!
//! A profile is a TOML text. `name` and `title` are plain; every other key is a figure as in a drive's profile:
//!
//! ```toml
//! memory_bytes = { value = 8589934592, source = "where it is written", confidence = "source" }
//! ```
//!
//! Every figure is required and has an effect; an unknown key is refused.

use crate::block_layer::{QueueLimits, Scheduler};
use crate::file_system::Family;
use crate::kernel_set::KernelSet;
use crate::page_cache::PAGE_BYTES;
use crate::read_ahead::Limits;
use mileage_drive::profile::{Confidence, Figure};
use serde::Deserialize;

/// Why a text is not a host's profile: one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostProfileError {
    /// Not TOML, an unknown or missing key, or a value of the wrong type.
    #[error("host profile, line {line}: {what}")]
    Text {
        /// Line, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// A value that no host can have.
    #[error("host profile: {key} is {found}: expected {expected}")]
    Impossible {
        /// The key.
        key: &'static str,
        /// What was found.
        found: String,
        /// What is expected.
        expected: &'static str,
    },
}

/// One figure as a line of a table: key, value, source, confidence.
pub type FigureLine = (&'static str, String, String, Confidence);

macro_rules! text {
    ($($key:ident: $type:ty),+) => {
        #[derive(Clone, Debug, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Text {
            name: String,
            title: String,
            $($key: Figure<$type>,)+
        }

        /// The keys of all figures of a host's profile.
        pub fn figure_names() -> &'static [&'static str] {
            &[$(stringify!($key)),+]
        }

        impl Text {
            fn figures(&self) -> Vec<FigureLine> {
                vec![$((
                    stringify!($key),
                    self.$key.value.to_string(),
                    self.$key.source.clone(),
                    self.$key.confidence,
                )),+]
            }
        }
    };
}

text! {
    memory_bytes: u64, cache_bytes: u64, processors: u64, copy_mb_per_s: f64, call_us: f64, page_us: f64,
    request_us: f64, name_us: f64, tick_us: f64,
    kernel: KernelSet, read_ahead_bytes: u64, dirty_background_percent: u64, dirty_percent: u64, flusher_period_s: u64,
    dirty_age_s: u64,
    scheduler: String, request_bytes_max: u64, segments_max: u64, discard_bytes_max: u64, requests_waiting_max: u64,
    device_queue_depth: u64, native_fua: bool,
    file_system: String, journal_bytes: u64, commit_s: u64, stripe_bytes: u64, barrier: bool, discard: bool, atime: String
}

/// A host, checked. Times are in nanoseconds, sizes in bytes unless the name says pages.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a figure of the profile")]
pub struct HostProfile {
    /// Short name.
    pub name: String,
    /// What it is.
    pub title: String,
    /// All figures with their sources.
    pub figures: Vec<FigureLine>,
    /// Memory.
    pub memory_bytes: u64,
    /// Pages that the page cache may take.
    pub cache_pages: u64,
    /// Processors.
    pub processors: u32,
    /// Processor time of copying a byte between a caller and the cache.
    pub copy_ns_per_byte: f64,
    /// Processor time of a call that does nothing.
    pub call_ns: f64,
    /// Processor time of finding or making a cached page.
    pub page_ns: f64,
    /// Processor time of a request to the device, its interrupt included.
    pub request_ns: u64,
    /// Processor time of a change or look-up of a name, on top of the call.
    pub name_ns: f64,
    /// Times of files have this resolution.
    pub tick_ns: u64,
    /// How the kernel behaves.
    pub kernel: KernelSet,
    /// Largest read-ahead window.
    pub read_ahead_bytes: u64,
    /// Dirty share of the cache from which on the flusher works.
    pub dirty_background_percent: u64,
    /// Dirty share of the cache at which writers wait.
    pub dirty_percent: u64,
    /// How often the flusher looks for old pages.
    pub flusher_period_ns: u64,
    /// Pages that were dirty for so long are written.
    pub dirty_age_ns: u64,
    /// The device's queue.
    pub queue: QueueLimits,
    /// The device is given FUA writes; else a flush follows the write.
    pub native_fua: bool,
    /// The file system.
    pub family: Family,
    /// Blocks of its journal.
    pub journal_blocks: u64,
    /// The oldest change is committed after so long.
    pub commit_ns: u64,
    /// Blocks of a stripe that allocations are aligned to; 1 for none.
    pub stripe_blocks: u64,
    /// Commits and syncs flush the device's cache.
    pub barrier: bool,
    /// Blocks that become free are discarded.
    pub discard: bool,
    /// Access times are written as `relatime` does.
    pub relatime: bool,
}

fn within<T: PartialOrd + ToString + Copy>(
    key: &'static str,
    value: T,
    least: T,
    most: T,
    expected: &'static str,
) -> Result<T, HostProfileError> {
    if value >= least && value <= most { Ok(value) } else { impossible(key, value, expected) }
}

#[expect(clippy::needless_pass_by_value, reason = "values of figures are small")]
fn impossible<T>(key: &'static str, found: impl ToString, expected: &'static str) -> Result<T, HostProfileError> {
    Err(HostProfileError::Impossible { key, found: found.to_string(), expected })
}

fn microseconds(key: &'static str, value: f64) -> Result<f64, HostProfileError> {
    Ok(within(key, value, 0.0, 1e6, "microseconds from 0 to 1000000")? * 1e3)
}

fn pages(key: &'static str, bytes: u64, most: u64) -> Result<u64, HostProfileError> {
    if !bytes.is_multiple_of(PAGE_BYTES) || bytes > most {
        return impossible(key, bytes, "a multiple of 4096 bytes that is not too large");
    }
    Ok(bytes / PAGE_BYTES)
}

impl Text {
    fn queue(&self) -> Result<QueueLimits, HostProfileError> {
        let scheduler = match self.scheduler.value.as_str() {
            "none" | "noop" => Scheduler::None,
            "deadline" | "mq-deadline" => Scheduler::Deadline,
            other => {
                return impossible("scheduler", other, "none, noop, deadline or mq-deadline; others are not built");
            }
        };
        let request_bytes = self.request_bytes_max.value;
        if !request_bytes.is_multiple_of(PAGE_BYTES) || request_bytes == 0 {
            return impossible("request_bytes_max", request_bytes, "a multiple of 4096, 4096 or more");
        }
        let discard_bytes =
            within("discard_bytes_max", self.discard_bytes_max.value, 4096, 1 << 42, "4096 to 4398046511104")?;
        let depth = within("device_queue_depth", self.device_queue_depth.value, 1, 65536, "1 to 65536")? as u32;
        let waiting = within("requests_waiting_max", self.requests_waiting_max.value, 4, 1 << 20, "4 to 1048576")?;
        let segments = within("segments_max", self.segments_max.value, 1, 1 << 20, "1 to 1048576")?;
        let separate_bytes = request_bytes.min(segments * PAGE_BYTES);
        // Before there were folios of several pages, pages of the cache were separate too.
        let request_bytes = if self.kernel.value.has_large_folios() { request_bytes } else { separate_bytes };
        Ok(QueueLimits { request_bytes, separate_bytes, discard_bytes, depth, waiting: waiting as u32, scheduler })
    }

    fn family(&self) -> Result<Family, HostProfileError> {
        match self.file_system.value.as_str() {
            "ext4" => Ok(Family::Ext4),
            "xfs" => Ok(Family::Xfs),
            other => impossible("file_system", other, "ext4 or xfs"),
        }
    }

    fn relatime(&self) -> Result<bool, HostProfileError> {
        match self.atime.value.as_str() {
            "relatime" => Ok(true),
            "noatime" => Ok(false),
            other => impossible("atime", other, "relatime or noatime"),
        }
    }
}

impl HostProfile {
    /// The profile that a TOML text describes.
    ///
    /// # Errors
    /// One line: which key, what was found, what is expected.
    pub fn parse(text: &str) -> Result<Self, HostProfileError> {
        let raw: Text = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start).min(text.len());
            let line = text[..at].matches('\n').count() + 1;
            HostProfileError::Text { line, what: error.message().lines().collect::<Vec<_>>().join(", ") }
        })?;
        let seconds = |value: u64| value.saturating_mul(1_000_000_000);
        let memory_bytes = within("memory_bytes", raw.memory_bytes.value, 1 << 26, 1 << 46, "64 MiB to 64 TiB")?;
        let cache_pages = pages("cache_bytes", raw.cache_bytes.value, memory_bytes)?;
        let background = within("dirty_background_percent", raw.dirty_background_percent.value, 1, 100, "1 to 100")?;
        let dirty_percent =
            within("dirty_percent", raw.dirty_percent.value, background, 100, "dirty_background_percent to 100")?;
        let journal_blocks = pages("journal_bytes", raw.journal_bytes.value, 1 << 40)?;
        let kernel = raw.kernel.value;
        let trims = !raw.discard.value || kernel.discards();
        if !trims {
            return impossible("discard", true, "false: this kernel sends no TRIM to a SATA drive");
        }
        Ok(Self {
            memory_bytes,
            cache_pages: within("cache_bytes", cache_pages, 1024, u64::MAX, "4 MiB or more")?,
            processors: within("processors", raw.processors.value, 1, 4096, "1 to 4096")? as u32,
            copy_ns_per_byte: 1e3
                / within("copy_mb_per_s", raw.copy_mb_per_s.value, 1.0, 1e6, "MB/s from 1 to 1000000")?,
            call_ns: microseconds("call_us", raw.call_us.value)?,
            page_ns: microseconds("page_us", raw.page_us.value)?,
            request_ns: microseconds("request_us", raw.request_us.value)? as u64,
            name_ns: microseconds("name_us", raw.name_us.value)?,
            tick_ns: within("tick_us", raw.tick_us.value, 0.001, 1e6, "0.001 to 1000000")?.mul_add(1e3, 0.5) as u64,
            read_ahead_bytes: pages("read_ahead_bytes", raw.read_ahead_bytes.value, 1 << 30)? * PAGE_BYTES,
            dirty_background_percent: background,
            dirty_percent,
            flusher_period_ns: seconds(within("flusher_period_s", raw.flusher_period_s.value, 1, 3600, "1 to 3600")?),
            dirty_age_ns: seconds(within("dirty_age_s", raw.dirty_age_s.value, 1, 86_400, "1 to 86400")?),
            queue: raw.queue()?,
            native_fua: raw.native_fua.value,
            family: raw.family()?,
            journal_blocks: within("journal_bytes", journal_blocks, 1024, 1 << 28, "4 MiB or more")?,
            commit_ns: seconds(within("commit_s", raw.commit_s.value, 1, 3600, "1 to 3600")?),
            stripe_blocks: pages("stripe_bytes", raw.stripe_bytes.value, 1 << 30)?.max(1),
            barrier: raw.barrier.value,
            discard: raw.discard.value,
            relatime: raw.relatime()?,
            kernel,
            figures: raw.figures(),
            name: raw.name,
            title: raw.title,
        })
    }

    /// What the kernel reads ahead at most.
    pub fn read_ahead_limits(&self) -> Limits {
        Limits {
            form: self.kernel.read_ahead(),
            max: (self.read_ahead_bytes / PAGE_BYTES) as u32,
            request: (self.queue.request_bytes / PAGE_BYTES) as u32,
        }
    }

    /// Which figures decide what a host does: a state fits only a host with the same.
    pub fn fingerprint(&self) -> u64 {
        let values = self.figures.iter().flat_map(|(key, value, _, _)| key.bytes().chain(value.bytes()).chain([0]));
        values.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }
}
