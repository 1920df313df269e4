//! Times and rules of the stations, from the profile.

use crate::profile::FlashProfile;
use crate::profile::flash::choices::{Copies, Duplex, Flush, Pace, PlaneWork, Power, Reads, Suspend, Trim};

/// Times and rules, which never change.
#[expect(clippy::struct_excessive_bools, reason = "rules of the profile, each independent of the others")]
#[derive(Clone, Debug)]
pub(super) struct Figures {
    pub read_ns: u64,
    pub program_ns: u64,
    pub erase_ns: u64,
    pub suspend_ns: u64,
    pub interrupts_erases: bool,
    pub interrupts_programs: bool,
    pub controller_ns: u64,
    pub controller_latency_ns: u64,
    pub channel_page_ns: u64,
    pub copy_channel_ns: u64,
    pub to_host_ns_per_byte: f64,
    pub to_drive_ns_per_byte: f64,
    pub full_duplex: bool,
    pub paced: bool,
    pub queue_depth_max: u32,
    pub buffer_pages: u32,
    pub reads_buffer: bool,
    pub flush_ns: u64,
    pub flush_honoured: bool,
    pub flush_alone: bool,
    pub honours_trim: bool,
    pub power: Option<Power>,
    pub page_bytes: u32,
    /// Channel and array of every plane.
    pub wires: Vec<(u32, u32)>,
    pub channels: u32,
    /// The channel of every array.
    pub array_channels: Vec<u32>,
}

impl Figures {
    pub(super) fn of(profile: &FlashProfile) -> Self {
        let (dies, planes) = (profile.dies, profile.planes() as u32);
        let apart = profile.policies.plane_work == PlaneWork::Independent;
        let suspend = profile.chip.suspend;
        Self {
            read_ns: profile.read_ns,
            program_ns: profile.program_ns,
            erase_ns: profile.erase_ns,
            suspend_ns: profile.chip.suspend_ns,
            interrupts_erases: suspend != Suspend::Off,
            interrupts_programs: suspend == Suspend::EraseAndProgram,
            controller_ns: profile.controller_ns,
            controller_latency_ns: profile.controller_latency_ns,
            channel_page_ns: profile.channel_page_ns,
            copy_channel_ns: if profile.chip.copies == Copies::CopyBack { 0 } else { 2 * profile.channel_page_ns },
            to_host_ns_per_byte: 1e3 / profile.link_mb_per_s,
            to_drive_ns_per_byte: 1e3 / profile.link_write_mb_per_s,
            full_duplex: profile.link_duplex == Duplex::Full,
            paced: profile.policies.pace == Pace::Paced,
            queue_depth_max: profile.queue_depth_max,
            buffer_pages: profile.write_buffer_pages,
            reads_buffer: profile.write_buffer.reads == Reads::Buffer,
            flush_ns: profile.write_buffer.flush_ns,
            flush_honoured: profile.write_buffer.flush == Flush::Honoured,
            flush_alone: profile.link.is_some_and(|link| link.flush_alone),
            honours_trim: profile.trim == Trim::Honoured,
            power: profile.write_buffer.power,
            page_bytes: profile.page_bytes,
            wires: (0..planes)
                .map(|unit| (unit % dies % profile.channels, if apart { unit } else { unit % dies }))
                .collect(),
            channels: profile.channels,
            array_channels: (0..if apart { planes } else { dies }).map(|unit| unit % dies % profile.channels).collect(),
        }
    }
}
