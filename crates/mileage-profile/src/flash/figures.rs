//! The figures of a profile as lines of a data sheet, with the defaults of the policies that the profile does not state.

use super::array_order::scheduling;
use super::buffer::WriteBuffer;
use super::chip::Chip;
use super::choices::Duplex;
use super::factory::FactoryBad;
use super::packing::Packing;
use super::policies::{FREE_BLOCKS_MIN, Policies};
use super::slc::SlcCache;
use super::text::Text;
use crate::figure::{Confidence, Figure, FigureText, ProfileError, row};
use crate::link::Link;

/// Source of a policy that a profile does not state.
const NOT_STATED: &str = "the profile does not state it";

/// Declares every figure once, in the order of the data sheet: those that every profile has, and those that it may have.
macro_rules! figures {
    (required $($required:ident),+; optional $($optional:ident),+;) => {
        /// The keys of all figures that a profile may have.
        pub fn figure_names() -> &'static [&'static str] {
            &[$(stringify!($required),)+ $(stringify!($optional),)+]
        }

        impl Text {
            pub(super) fn figures(&self) -> Vec<FigureText> {
                let mut rows = vec![$(row(stringify!($required), &self.$required)),+];
                $(rows.extend(self.$optional.iter().map(|figure| row(stringify!($optional), figure)));)+
                rows
            }
        }
    };
}

figures! {
    required
    capacity_bytes, page_bytes, pages_per_block, blocks_per_plane, planes_per_die, dies_per_channel, channels,
    read_us, program_us, erase_us, controller_us, channel_mb_per_s, queue_depth_max, write_buffer_pages;
    optional
    controller_latency_us, mapping_bytes, link, link_mb_per_s, rated_endurance_bytes, pe_cycles, cell, mapping,
    map_cache_entries, log_blocks,
    gc_victim, gc_victim_choices, gc_pace, gc_free_blocks_min, gc_idle_free_blocks, gc_idle_after_us,
    frontiers, allocation, plane_work, plane_reads, levelling, levelling_gap, end_of_life, replacement_blocks,
    pe_spread_percent, factory_bad_blocks_per_die, factory_bad_seed,
    compression_unit_bytes, dedupe_contents,
    slc_cache_bytes, slc_cache_percent, slc_design, slc_read_us, slc_program_us, slc_idle_after_us,
    bit_error_rate, bit_error_rate_worn, bit_error_growth_per_year, ecc_codeword_bytes,
    ecc_correctable_bits, read_retries_max, read_retry_leaves,
    write_buffer_power, write_buffer_flush, write_buffer_reads, write_combining, flush_us, trim,
    scheduling, suspend, suspend_us, gc_copies, open_block_read_us, link_write_mb_per_s, link_duplex,
    stall_s, stall_every_s, lost_command_every, command_timeout_s, drop_off_s, fault_seed;
}

fn by_default<T>(value: T) -> Figure<T> {
    Figure { value, source: NOT_STATED.to_owned(), confidence: Confidence::Default, alternatives: Vec::new() }
}

/// Default of a figure: the first choice of a policy, or zero.
fn first<T: Default>() -> T {
    T::default()
}

/// Both ways at a time where the link's standard carries data so.
fn duplex(text: &Text) -> Duplex {
    let link = text.link.as_ref().and_then(|figure| Link::parse(figure).ok());
    if link.is_some_and(|link| link.full_duplex) { Duplex::Full } else { Duplex::Half }
}

impl Text {
    /// The same figures with the default of every policy that is not stated. A default that would be refused together
    /// with stated policies has no effect and is omitted. Where choices exclude each other, those that are only
    /// assumed yield to the others, so that any of these can be varied.
    pub(super) fn with_defaults(self) -> Self {
        let mut text = self;
        macro_rules! fill {
            ($($key:ident: $default:expr),+,) => {
                let mut known = text.clone();
                $(known.$key.take_if(|figure| figure.confidence == Confidence::Assumed);)+
                if text.choices_hold().is_err() && known.choices_hold().is_ok() {
                    std::mem::swap(&mut text, &mut known);
                }
                $(
                    if text.$key.is_none() {
                        text.$key = Some(known.$key.unwrap_or_else(|| by_default($default)));
                        if text.choices_hold().is_err() {
                            text.$key = None;
                        }
                    }
                )+
            };
        }
        fill! {
            mapping: first(),
            gc_victim: first(),
            gc_pace: first(),
            gc_free_blocks_min: FREE_BLOCKS_MIN,
            gc_idle_free_blocks: first(),
            frontiers: first(),
            allocation: first(),
            plane_work: first(),
            plane_reads: first(),
            levelling: first(),
            end_of_life: first(),
            replacement_blocks: first(),
            pe_spread_percent: first(),
            factory_bad_blocks_per_die: first(),
            write_buffer_flush: first(),
            write_buffer_reads: first(),
            write_combining: first(),
            flush_us: first(),
            trim: first(),
            scheduling: first(),
            suspend: first(),
            link_duplex: duplex(&text),
            gc_copies: first(),
        }
        text
    }

    /// Check that the stated choices can be combined.
    fn choices_hold(&self) -> Result<(), ProfileError> {
        let policies = Policies::read(self)?;
        let packs = Packing::read(self, &policies)?.packs();
        SlcCache::read(self, &policies)?;
        WriteBuffer::read(self, &policies, packs)?;
        Chip::read(self, &policies, packs)?;
        scheduling(self, &policies, packs)?;
        FactoryBad::read(self)?;
        Ok(())
    }
}
