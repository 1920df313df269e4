//! One block operation on the drive: which pages, what the mapping does, when it is complete.

use super::cells::Unwatched;
use super::{Completion, FlashDrive, Layer, Life, Request, RequestKind, SECTOR_BYTES, Status, check};

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
        let (unit, known_ns) = match &mut self.layer {
            Layer::Page(map) => (map.unit_holding(page), ready_ns),
            Layer::Cached(cached) => return cached.fetch(page, ready_ns, &mut self.medium),
            Layer::Demand(demand) => {
                let known_ns = demand.resolve(page, false, ready_ns, &mut self.medium, &mut Unwatched);
                (demand.map.unit_holding(page), known_ns)
            }
            Layer::Blocks(blocks) => (blocks.unit_holding(page), ready_ns),
            Layer::Packed(_) => unreachable!("handled by the drive's own parts"),
        };
        unit.map_or(known_ns, |unit| self.medium.fetch(unit, known_ns))
    }

    #[inline]
    fn read(&mut self, request: &Request, ready_ns: u64) -> u64 {
        if let Layer::Packed(_) = self.layer {
            return self.read_packed(request, ready_ns);
        }
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
    #[inline]
    fn accept(&mut self, part: Part, ready_ns: u64) -> (u64, u64) {
        let accepted_ns = self.medium.clocks.accept(part.bytes, ready_ns);
        self.medium.counters.host_pages_written += 1;
        if part.bytes == self.profile.page_bytes {
            return (accepted_ns, accepted_ns);
        }
        let rest_ns = self.fetch(part.page, ready_ns);
        (accepted_ns, accepted_ns.max(rest_ns))
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "hot, and called from several places: calls cost a tenth of the speed")]
    fn write(&mut self, request: &Request, ready_ns: u64) -> u64 {
        if self.writes_detour {
            return self.write_by_detour(request, ready_ns);
        }
        let (mut accepted_ns, mut durable_ns) = (ready_ns, ready_ns);
        for part in self.parts(request.offset_bytes, request.length_bytes) {
            let (taken_ns, mut there_ns) = self.accept(part, ready_ns);
            accepted_ns = accepted_ns.max(taken_ns);
            let placement = match &mut self.layer {
                Layer::Page(map) => map.write(part.page, &mut Unwatched),
                Layer::Cached(cached) => {
                    durable_ns = durable_ns.max(cached.write(part.page, there_ns, &mut self.medium, &mut Unwatched));
                    continue;
                }
                Layer::Demand(demand) => {
                    there_ns = demand.resolve(part.page, true, there_ns, &mut self.medium, &mut Unwatched);
                    demand.map.write(part.page, &mut Unwatched)
                }
                Layer::Blocks(_) | Layer::Packed(_) => unreachable!("by the detour"),
            };
            durable_ns = durable_ns.max(self.medium.place(&placement, there_ns));
        }
        self.written(request, accepted_ns, durable_ns)
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
        let first = request.offset_bytes.div_ceil(1 << self.page_shift);
        let end = (request.offset_bytes + request.length_bytes) >> self.page_shift;
        self.buffer.iter_mut().for_each(|buffer| buffer.forget(first, end));
        for page in first..end {
            let page = page as u32;
            let was_mapped = match &mut self.layer {
                Layer::Page(map) => map.discard(page),
                Layer::Cached(cached) => cached.discard(page),
                Layer::Demand(demand) => {
                    demand.map.unit_holding(page).is_some() && {
                        demand.resolve(page, true, ready_ns, &mut self.medium, &mut Unwatched);
                        demand.map.discard(page)
                    }
                }
                Layer::Blocks(blocks) => blocks.discard(page, ready_ns, &mut self.medium, &mut Unwatched),
                Layer::Packed(packed) => packed.forget(page),
            };
            self.medium.counters.trimmed_pages += u64::from(was_mapped);
        }
        self.note_wear();
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "hot, and called from several places: calls cost a tenth of the speed")]
    pub(super) fn one(&mut self, request: &Request) -> Completion {
        let mut checked = check(request, self.profile.capacity_bytes, SECTOR_BYTES);
        if self.life != Life::Working {
            checked = checked.and_then(|()| self.refused_by_age(request.kind).map_or(Ok(()), Err));
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
        // Nothing but a forged state comes near the end of these numbers.
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
        let clocks = &self.medium.clocks;
        if let Layer::Cached(cached) = &mut self.layer {
            let idle_ns = clocks.last_ns.max(clocks.durable_ns);
            cached.drain(idle_ns, now_ns, &mut self.medium, &mut Unwatched);
            return self.note_wear();
        }
        let idle_ns = clocks.last_ns.max(clocks.durable_ns) + self.profile.policies.idle_after_ns;
        if idle_ns >= now_ns {
            return;
        }
        let Some(map) = self.layer.map_mut() else { return };
        // The earliest first, so that it does not matter in how many steps the time passes.
        loop {
            let wanting = (0..map.geometry.units).filter(|unit| map.wants_idle(*unit));
            let next = wanting.map(|unit| (self.medium.clocks.idle_from(unit).max(idle_ns), unit)).min();
            let Some((from_ns, unit)) = next.filter(|(from_ns, _)| *from_ns < now_ns) else { break };
            let Some(opening) = map.collect_idle(unit, &mut Unwatched) else { break };
            self.medium.open(unit, &opening, from_ns);
            self.medium.counters.idle_collections += 1;
        }
        self.note_wear();
    }
}
