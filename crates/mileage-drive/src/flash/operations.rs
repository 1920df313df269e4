//! One block operation on the drive: its pages, the work of the mapping, and the time of its completion.

use super::errors::even;
use super::layer::{Layer, each};
use super::translation::{Run, TranslationLayer};
use super::{FlashDrive, SECTOR_BYTES};
use crate::device::{Completion, Life, Request, RequestKind, Status, check};
use crate::profile::flash::choices::Trim;

/// The part of a page that a request covers.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub page: u32,
    pub bytes: u32,
}

/// The pages of a range, the first and the last perhaps in part.
#[derive(Clone)]
pub(super) struct Parts {
    shift: u32,
    from_byte: u64,
    end_byte: u64,
}

impl Iterator for Parts {
    type Item = Part;

    #[inline]
    fn next(&mut self) -> Option<Part> {
        let from_byte = self.from_byte;
        if from_byte >= self.end_byte {
            return None;
        }
        let page = from_byte >> self.shift;
        self.from_byte = ((page + 1) << self.shift).min(self.end_byte);
        Some(Part { page: page as u32, bytes: (self.from_byte - from_byte) as u32 })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let behind = self.end_byte.div_ceil(1 << self.shift);
        let left = if self.from_byte < self.end_byte { behind - (self.from_byte >> self.shift) } else { 0 };
        (left as usize, Some(left as usize))
    }
}

impl ExactSizeIterator for Parts {}

impl FlashDrive {
    /// The pages of a range.
    #[inline]
    pub(super) fn parts(&self, offset_bytes: u64, length_bytes: u64) -> Parts {
        Parts { shift: self.page_shift, from_byte: offset_bytes, end_byte: offset_bytes + length_bytes }
    }

    /// Read a page, if it is mapped; when it is at the controller.
    #[inline]
    pub(super) fn fetch(&mut self, page: u32, ready_ns: u64) -> u64 {
        each!(&mut self.layer, layer => layer.read_page(page, ready_ns, &mut self.medium))
    }

    #[inline]
    fn read(&mut self, request: &Request, ready_ns: u64) -> u64 {
        if self.errors.is_some() {
            return self.read_checked(request, ready_ns);
        }
        if self.buffer.is_some() {
            return self.read_behind_buffer(request, ready_ns);
        }
        let mut done_ns = ready_ns;
        for part in self.parts(request.offset_bytes, request.length_bytes) {
            let there_ns = self.fetch(part.page, ready_ns);
            self.medium.counters.host_pages_read += 1;
            done_ns = done_ns.max(self.medium.clocks.deliver(part.bytes, there_ns));
        }
        done_ns
    }

    /// Take a part from the host; when it is in the controller, and when the whole page is.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "hot: a call costs a twentieth of the speed of writes")]
    fn accept<const WAITS: bool>(&mut self, part: Part, ready_ns: u64) -> (u64, u64) {
        if WAITS && self.medium.clocks.next_place_waits() {
            self.program_open(ready_ns);
        }
        let accepted_ns = self.medium.clocks.accept(part.bytes, ready_ns);
        self.medium.counters.host_pages_written += 1;
        if part.bytes == self.profile.mapping_bytes {
            return (accepted_ns, accepted_ns);
        }
        (accepted_ns, accepted_ns.max(self.fetch_rest(part.page, ready_ns)))
    }

    /// Read the page that a part of is written. Not inlined: that would have [`Self::accept`] not inlined.
    #[inline(never)]
    fn fetch_rest(&mut self, page: u32, ready_ns: u64) -> u64 {
        self.fetch(page, ready_ns)
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "hot, and called from several places: calls cost a tenth of the speed")]
    fn write(&mut self, request: &Request, ready_ns: u64) -> u64 {
        if self.writes_detour || self.waits_for_pages {
            return self.write_specially(request, ready_ns);
        }
        self.write_to_map::<false>(request, ready_ns)
    }

    /// Write where the pages of the map do not go to the flash one by one.
    #[inline(never)]
    fn write_specially(&mut self, request: &Request, ready_ns: u64) -> u64 {
        if self.writes_detour {
            self.write_by_detour(request, ready_ns)
        } else {
            self.write_to_map::<true>(request, ready_ns)
        }
    }

    /// `WAITS`: flash pages hold several pages of the map, which wait for each other.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "hot, and called from two places: calls cost a tenth of the speed")]
    fn write_to_map<const WAITS: bool>(&mut self, request: &Request, ready_ns: u64) -> u64 {
        let (mut accepted_ns, mut durable_ns) = (ready_ns, ready_ns);
        for part in self.parts(request.offset_bytes, request.length_bytes) {
            let (taken_ns, there_ns) = self.accept::<WAITS>(part, ready_ns);
            accepted_ns = accepted_ns.max(taken_ns);
            let run = Run { page: part.page, count: 1, bytes: part.bytes };
            let done_ns = match &mut self.layer {
                Layer::Page(map) => map.write_pages(run, there_ns, &mut self.medium),
                _ => self.write_to_layer(run, there_ns),
            };
            durable_ns = durable_ns.max(done_ns);
        }
        if WAITS && (request.fua || !self.medium.clocks.buffered()) {
            self.program_open(ready_ns);
            durable_ns = durable_ns.max(self.medium.clocks.durable_ns);
        }
        self.written(request, accepted_ns, durable_ns)
    }

    /// Write to another layer than a page map. Not inlined, so that less of the processor's cache is taken by what page maps
    /// never do.
    #[inline(never)]
    fn write_to_layer(&mut self, run: Run, there_ns: u64) -> u64 {
        each!(&mut self.layer, layer => {
            let known_ns = layer.find_entry(run.page, there_ns, &mut self.medium);
            layer.write_pages(run, known_ns, &mut self.medium)
        })
    }

    /// Program partly filled flash pages as they are.
    #[inline(never)]
    pub(super) fn program_open(&mut self, ready_ns: u64) {
        each!(&mut self.layer, layer => layer.program_open(ready_ns, &mut self.medium));
    }

    #[inline]
    pub(super) fn written(&mut self, request: &Request, accepted_ns: u64, durable_ns: u64) -> u64 {
        let host_bytes = &mut self.medium.counters.host_bytes_written;
        *host_bytes = host_bytes.wrapping_add(request.length_bytes);
        self.note_wear();
        if self.errors.is_some() {
            self.note_since(request);
        }
        if self.medium.clocks.buffered() && !request.fua { accepted_ns } else { durable_ns }
    }

    fn discard(&mut self, request: &Request, ready_ns: u64) {
        if self.profile.trim == Trim::Ignored {
            return;
        }
        let first = request.offset_bytes.div_ceil(1 << self.page_shift);
        let end = (request.offset_bytes + request.length_bytes) >> self.page_shift;
        self.buffer.iter_mut().for_each(|buffer| buffer.forget(first, end));
        for page in first..end {
            let page = page as u32;
            let was_mapped = each!(&mut self.layer, layer => layer.discard_page(page, ready_ns, &mut self.medium));
            self.medium.counters.trimmed_pages += u64::from(was_mapped);
        }
        self.note_wear();
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "hot, and called from several places: calls cost a tenth of the speed")]
    pub(super) fn one(&mut self, request: &Request) -> Completion {
        let mut checked = check(request, self.profile.basics.capacity_bytes, SECTOR_BYTES);
        if self.life != Life::Working || request.kind == RequestKind::Discard {
            checked = checked.and_then(|()| self.refused(request.kind).map_or(Ok(()), Err));
        }
        if let Err(refusal) = checked {
            return Completion { complete_ns: request.submit_ns, status: Status::Refused(refusal) };
        }
        self.collect_while_idle(request.submit_ns);
        let ready_ns = self.medium.clocks.begin(request.submit_ns);
        let complete_ns = match request.kind {
            RequestKind::Read => self.read(request, ready_ns),
            RequestKind::Write => self.write(request, ready_ns),
            RequestKind::Flush => self.flush(ready_ns),
            RequestKind::Discard => {
                self.discard(request, ready_ns);
                ready_ns
            }
        };
        self.medium.clocks.end(complete_ns);
        let counters = &mut self.medium.counters;
        // Wrapping is enough: only a forged state comes near the end of these numbers.
        counters.queue_wait_ns = counters.queue_wait_ns.wrapping_add(ready_ns - request.submit_ns);
        counters.service_ns = counters.service_ns.wrapping_add(complete_ns - ready_ns);
        let failed_bytes = self.errors.as_mut().and_then(|errors| errors.failed_bytes.take());
        let status = failed_bytes.map_or(Status::Done, |offset_bytes| Status::Uncorrectable { offset_bytes });
        Completion { complete_ns, status }
    }

    /// Let the planes collect between the last command, plus the time after which the drive counts as idle, and now.
    #[inline]
    pub(super) fn collect_while_idle(&mut self, now_ns: u64) {
        if self.works_when_idle && self.life == Life::Working {
            self.collect_until(now_ns);
        }
    }

    #[inline(never)]
    fn collect_until(&mut self, now_ns: u64) {
        let idle_ns = self.medium.clocks.last_ns.max(self.medium.clocks.durable_ns);
        each!(&mut self.layer, layer => layer.work_while_idle(idle_ns, now_ns, &mut self.medium));
        self.note_wear();
    }

    /// Read from cells that err.
    fn read_checked(&mut self, request: &Request, ready_ns: u64) -> u64 {
        let mut done_ns = ready_ns;
        for part in self.parts(request.offset_bytes, request.length_bytes) {
            let mut there_ns = ready_ns;
            let map = each!(&self.layer, layer => layer.page_map());
            let (Some(map), Some(errors)) = (map, &mut self.errors) else { return ready_ns };
            if let (Some(unit), Some(block)) = (map.unit_holding(part.page), map.block_holding(part.page)) {
                let mut rate = errors.rate(block, map.erases[block as usize], request.submit_ns);
                for again in 0..=errors.bits.retries_max {
                    there_ns = self.medium.fetch(unit, there_ns);
                    let fails = errors.page_fails(rate);
                    if even(self.medium.counters.flash_pages_read) >= fails {
                        break;
                    }
                    if again < errors.bits.retries_max {
                        self.medium.counters.read_retries += 1;
                    } else {
                        self.medium.counters.reads_uncorrectable += 1;
                        errors.failed_bytes.get_or_insert(u64::from(part.page) << self.page_shift);
                    }
                    rate *= errors.bits.retry_leaves;
                }
            }
            self.medium.counters.host_pages_read += 1;
            done_ns = done_ns.max(self.medium.clocks.deliver(part.bytes, there_ns));
        }
        done_ns
    }

    /// The pages of a write are in blocks that the host may not have written to since their last erase.
    fn note_since(&mut self, request: &Request) {
        let parts = self.parts(request.offset_bytes, request.length_bytes);
        let map = each!(&self.layer, layer => layer.page_map());
        let (Some(map), Some(errors)) = (map, &mut self.errors) else { return };
        for part in parts {
            let Some(block) = map.block_holding(part.page) else { continue };
            let erases = map.erases[block as usize];
            if let Some(since) = errors.since.get_mut(block as usize).filter(|since| since.0 != erases) {
                *since = (erases, request.submit_ns);
            }
        }
    }
}
