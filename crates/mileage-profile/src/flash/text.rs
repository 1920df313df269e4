//! The TOML form of a flash profile: every key with its type. The parent module checks how the values fit together.

use super::choices::{
    Allocation, Cell, Combining, Copies, Duplex, EndOfLife, Flush, Frontiers, Levelling, Mapping, Pace, PlaneReads,
    PlaneWork, Power, Reads, Scheduling, SlcDesign, Suspend, Trim, Victim,
};
use crate::figure::Figure;
use crate::rates::PublishedRate;
use serde::Deserialize;

/// The kind of these profiles; one that names none is of flash too.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Flash,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Text {
    pub name: String,
    pub title: String,
    #[serde(default, rename = "kind")]
    _kind: Option<Kind>,
    #[serde(default, rename = "rate")]
    pub rates: Vec<PublishedRate>,
    pub capacity_bytes: Figure<u64>,
    pub page_bytes: Figure<u64>,
    pub mapping_bytes: Option<Figure<u64>>,
    pub pages_per_block: Figure<u64>,
    pub blocks_per_plane: Figure<u64>,
    pub planes_per_die: Figure<u64>,
    pub dies_per_channel: Figure<f64>,
    pub channels: Figure<u64>,
    pub read_us: Figure<f64>,
    pub program_us: Figure<f64>,
    pub erase_us: Figure<f64>,
    pub controller_us: Figure<f64>,
    pub controller_latency_us: Option<Figure<f64>>,
    pub channel_mb_per_s: Figure<f64>,
    pub link: Option<Figure<String>>,
    pub link_mb_per_s: Option<Figure<f64>>,
    pub link_write_mb_per_s: Option<Figure<f64>>,
    pub link_duplex: Option<Figure<Duplex>>,
    pub queue_depth_max: Figure<u64>,
    pub write_buffer_pages: Figure<u64>,
    pub write_buffer_power: Option<Figure<Power>>,
    pub write_buffer_flush: Option<Figure<Flush>>,
    pub write_buffer_reads: Option<Figure<Reads>>,
    pub write_combining: Option<Figure<Combining>>,
    pub flush_us: Option<Figure<f64>>,
    pub trim: Option<Figure<Trim>>,
    pub rated_endurance_bytes: Option<Figure<u64>>,
    pub pe_cycles: Option<Figure<u64>>,
    pub cell: Option<Figure<Cell>>,
    pub mapping: Option<Figure<Mapping>>,
    pub map_cache_entries: Option<Figure<u64>>,
    pub log_blocks: Option<Figure<u64>>,
    pub gc_victim: Option<Figure<Victim>>,
    pub gc_victim_choices: Option<Figure<u64>>,
    pub gc_pace: Option<Figure<Pace>>,
    pub gc_free_blocks_min: Option<Figure<u64>>,
    pub gc_idle_free_blocks: Option<Figure<u64>>,
    pub gc_idle_after_us: Option<Figure<f64>>,
    pub frontiers: Option<Figure<Frontiers>>,
    pub allocation: Option<Figure<Allocation>>,
    pub plane_work: Option<Figure<PlaneWork>>,
    pub plane_reads: Option<Figure<PlaneReads>>,
    pub levelling: Option<Figure<Levelling>>,
    pub levelling_gap: Option<Figure<u64>>,
    pub end_of_life: Option<Figure<EndOfLife>>,
    pub replacement_blocks: Option<Figure<u64>>,
    pub pe_spread_percent: Option<Figure<f64>>,
    pub factory_bad_blocks_per_die: Option<Figure<u64>>,
    pub factory_bad_seed: Option<Figure<u64>>,
    pub compression_unit_bytes: Option<Figure<u64>>,
    pub dedupe_contents: Option<Figure<u64>>,
    pub slc_cache_bytes: Option<Figure<u64>>,
    pub slc_cache_percent: Option<Figure<f64>>,
    pub slc_design: Option<Figure<SlcDesign>>,
    pub slc_read_us: Option<Figure<f64>>,
    pub slc_program_us: Option<Figure<f64>>,
    pub slc_idle_after_us: Option<Figure<f64>>,
    pub bit_error_rate: Option<Figure<f64>>,
    pub bit_error_rate_worn: Option<Figure<f64>>,
    pub bit_error_growth_per_year: Option<Figure<f64>>,
    pub ecc_codeword_bytes: Option<Figure<u64>>,
    pub ecc_correctable_bits: Option<Figure<u64>>,
    pub read_retries_max: Option<Figure<u64>>,
    pub read_retry_leaves: Option<Figure<f64>>,
    pub scheduling: Option<Figure<Scheduling>>,
    pub suspend: Option<Figure<Suspend>>,
    pub suspend_us: Option<Figure<f64>>,
    pub gc_copies: Option<Figure<Copies>>,
    pub open_block_read_us: Option<Figure<f64>>,
    pub stall_s: Option<Figure<f64>>,
    pub stall_every_s: Option<Figure<f64>>,
    pub lost_command_every: Option<Figure<u64>>,
    pub command_timeout_s: Option<Figure<f64>>,
    pub drop_off_s: Option<Figure<f64>>,
    pub fault_seed: Option<Figure<u64>>,
}
