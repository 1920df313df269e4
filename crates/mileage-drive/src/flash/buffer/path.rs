//! The way of an operation through a drive whose write buffer is looked into, or whose mapping is by blocks.

use super::Place;
use crate::device::Request;
use crate::flash::FlashDrive;
use crate::flash::layer::each;
use crate::flash::operations::Part;
use crate::flash::translation::{Run, TranslationLayer};
use crate::profile::flash::choices::Flush;

/// Until when the parts of a write are in the controller, and on the flash.
struct Times {
    accepted_ns: u64,
    durable_ns: u64,
}

impl FlashDrive {
    pub(in crate::flash) fn read_behind_buffer(&mut self, request: &Request, ready_ns: u64) -> u64 {
        let mut done_ns = ready_ns;
        for part in self.parts(request.offset_bytes, request.length_bytes) {
            let whole_ns = self.whole_page(part.page, ready_ns);
            self.medium.counters.host_pages_read += 1;
            done_ns = done_ns.max(self.medium.clocks.deliver(part.bytes, whole_ns));
        }
        done_ns
    }

    /// Time at which the controller has the whole page in its old version, from the buffer or from the flash.
    fn whole_page(&mut self, page: u32, ready_ns: u64) -> u64 {
        if let Some(there_ns) = self.buffer.as_ref().and_then(|buffer| buffer.holding(page, ready_ns)) {
            self.medium.counters.buffer_pages_read += 1;
            return there_ns.max(ready_ns);
        }
        self.fetch(page, ready_ns)
    }

    /// The rest of a page of which the host wrote a part by `accepted_ns`: when the controller has all of it.
    fn complete(&mut self, part: Part, ready_ns: u64, accepted_ns: u64) -> u64 {
        if part.bytes == self.profile.mapping_bytes {
            return accepted_ns;
        }
        accepted_ns.max(self.whole_page(part.page, ready_ns))
    }

    pub(in crate::flash) fn write_by_detour(&mut self, request: &Request, ready_ns: u64) -> u64 {
        if let Some(contents) = each!(&mut self.layer, layer => layer.contents()) {
            contents.begin(request.offset_bytes, request.length_bytes);
        }
        let mut times = Times { accepted_ns: ready_ns, durable_ns: ready_ns };
        if self.profile.policies.by_page() {
            let mut offset_bytes = request.offset_bytes;
            for part in self.parts(request.offset_bytes, request.length_bytes) {
                let kept_ns = self.write_part(request.fua, part, ready_ns, &mut times);
                self.note(&mut offset_bytes, part, kept_ns);
            }
        } else {
            self.write_runs(request, ready_ns, &mut times);
        }
        let complete_ns = self.written(request, times.accepted_ns, times.durable_ns);
        if let Some(buffer) = &mut self.buffer {
            buffer.end_write(complete_ns, self.medium.clocks.now_ns);
        }
        complete_ns
    }

    fn note(&mut self, offset_bytes: &mut u64, part: Part, kept_ns: u64) {
        if let Some(buffer) = &mut self.buffer {
            buffer.note(*offset_bytes, part.bytes, kept_ns);
        }
        *offset_bytes += u64::from(part.bytes);
    }

    /// A part of a write to a mapping by pages; from when on it survives a power cut.
    fn write_part(&mut self, fua: bool, part: Part, ready_ns: u64, times: &mut Times) -> u64 {
        self.medium.counters.host_pages_written += 1;
        let replaceable = self.buffer.as_ref().filter(|_| !fua).and_then(|it| it.replaceable(part.page, ready_ns));
        let accepted_ns = if let Some((index, until_ns)) = replaceable {
            let arrived_ns = self.medium.clocks.replace(part.bytes, ready_ns);
            if let Some(buffer) = self.buffer.as_mut().filter(|_| arrived_ns <= until_ns) {
                self.medium.counters.buffer_pages_combined += 1;
                times.accepted_ns = times.accepted_ns.max(arrived_ns);
                let place = &mut buffer.places[index as usize];
                place.there_ns = place.there_ns.max(arrived_ns);
                return place.kept_ns;
            }
            self.medium.clocks.take_place(arrived_ns)
        } else {
            self.medium.clocks.accept(part.bytes, ready_ns)
        };
        times.accepted_ns = times.accepted_ns.max(accepted_ns);
        let mut there_ns = self.complete(part, ready_ns, accepted_ns);
        let index = self.medium.clocks.buffer_next;
        let run = Run { page: part.page, count: 1, bytes: part.bytes };
        let done_ns = each!(&mut self.layer, layer => {
            there_ns = layer.find_entry(part.page, there_ns, &mut self.medium);
            layer.write_pages(run, there_ns, &mut self.medium)
        });
        times.durable_ns = times.durable_ns.max(done_ns);
        self.put(part.page, fua, index, there_ns, done_ns)
    }

    /// A page is in its place in the buffer, and its program is planned; from when on it survives a power cut.
    fn put(&mut self, page: u32, fua: bool, index: u32, there_ns: u64, done_ns: u64) -> u64 {
        let clocks = &self.medium.clocks;
        let kept_ns = if fua { done_ns } else { clocks.durable_ns };
        if let Some(buffer) = &mut self.buffer {
            // Never replace a page written with FUA: the host was promised that it is durable.
            let until_ns = if fua { 0 } else { done_ns.saturating_sub(clocks.way_ns()) };
            buffer.put(index, Place { page, there_ns, until_ns, done_ns, kept_ns });
        }
        kept_ns
    }

    /// A write to a mapping by blocks, which programs the pages of one block as one.
    fn write_runs(&mut self, request: &Request, ready_ns: u64, times: &mut Times) {
        let mut offset_bytes = request.offset_bytes;
        let mut parts = self.parts(request.offset_bytes, request.length_bytes).peekable();
        let mut left = parts.len() as u32;
        while let Some(Part { page, .. }) = parts.peek().copied() {
            let count = each!(&self.layer, layer => layer.run_of(page, left));
            let (mut there_ns, mut bytes) = (ready_ns, 0);
            let taken = parts.clone().take(count as usize);
            for part in parts.by_ref().take(count as usize) {
                self.medium.counters.host_pages_written += 1;
                let accepted_ns = self.medium.clocks.accept(part.bytes, ready_ns);
                times.accepted_ns = times.accepted_ns.max(accepted_ns);
                there_ns = there_ns.max(self.complete(part, ready_ns, accepted_ns));
                bytes += part.bytes;
            }
            left -= count;
            let run = Run { page, count, bytes };
            let mut index = self.medium.clocks.buffer_next;
            let done_ns = each!(&mut self.layer, layer => layer.write_pages(run, there_ns, &mut self.medium));
            times.durable_ns = times.durable_ns.max(done_ns);
            for part in taken {
                let kept_ns = self.put(part.page, request.fua, index, there_ns, done_ns);
                index = if index + 1 < self.profile.write_buffer_pages { index + 1 } else { 0 };
                self.note(&mut offset_bytes, part, kept_ns);
            }
        }
    }

    /// A flush that the controller has taken at `ready_ns`; when it is complete.
    pub(in crate::flash) fn flush(&mut self, ready_ns: u64) -> u64 {
        self.medium.counters.flushes += 1;
        match self.profile.write_buffer.flush {
            Flush::Honoured => {
                self.program_open(ready_ns);
                self.medium.clocks.flush(ready_ns)
            }
            Flush::Ignored => ready_ns,
        }
    }
}
