//! The TOML form of a flash profile: every key with its type. The parent module checks how the values fit together.

use super::choices::{
    Allocation, Cell, Combining, Copies, Duplex, EndOfLife, Flush, Frontiers, Levelling, Mapping, Pace, PlaneReads,
    PlaneWork, Power, Reads, Scheduling, SlcDesign, Suspend, Trim, Victim,
};
use crate::figure::profile_text;
use crate::rates::PublishedRate;
use serde::Deserialize;

/// The kind of these profiles; one that names none is of flash too.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Flash,
}

profile_text! {
    plain {
        name: String,
        title: String,
        #[serde(default, rename = "kind")]
        _kind: Option<Kind>,
        #[serde(default, rename = "rate")]
        rates: Vec<PublishedRate>,
    }
    required {
        capacity_bytes: u64, page_bytes: u64, pages_per_block: u64, blocks_per_plane: u64, planes_per_die: u64,
        dies_per_channel: f64, channels: u64, read_us: f64, program_us: f64, erase_us: f64, controller_us: f64,
        channel_mb_per_s: f64, queue_depth_max: u64, write_buffer_pages: u64,
    }
    optional {
        controller_latency_us: f64, mapping_bytes: u64, link: String, link_mb_per_s: f64, rated_endurance_bytes: u64,
        pe_cycles: u64, cell: Cell, mapping: Mapping, map_cache_entries: u64, log_blocks: u64, gc_victim: Victim,
        gc_victim_choices: u64, gc_pace: Pace, gc_free_blocks_min: u64, gc_idle_free_blocks: u64,
        gc_idle_after_us: f64, frontiers: Frontiers, allocation: Allocation, plane_work: PlaneWork,
        plane_reads: PlaneReads, levelling: Levelling, levelling_gap: u64, end_of_life: EndOfLife,
        replacement_blocks: u64, pe_spread_percent: f64, factory_bad_blocks_per_die: u64, factory_bad_seed: u64,
        compression_unit_bytes: u64, dedupe_contents: u64, slc_cache_bytes: u64, slc_cache_percent: f64,
        slc_design: SlcDesign, slc_read_us: f64, slc_program_us: f64, slc_idle_after_us: f64, bit_error_rate: f64,
        bit_error_rate_worn: f64, bit_error_growth_per_year: f64, ecc_codeword_bytes: u64, ecc_correctable_bits: u64,
        read_retries_max: u64, read_retry_leaves: f64, write_buffer_power: Power, write_buffer_flush: Flush,
        write_buffer_reads: Reads, write_combining: Combining, flush_us: f64, trim: Trim, scheduling: Scheduling,
        suspend: Suspend, suspend_us: f64, gc_copies: Copies, open_block_read_us: f64, link_write_mb_per_s: f64,
        link_duplex: Duplex, stall_s: f64, stall_every_s: f64, lost_command_every: u64, command_timeout_s: f64,
        drop_off_s: f64, fault_seed: u64,
    }
}
