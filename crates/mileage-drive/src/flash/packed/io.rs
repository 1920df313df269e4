//! Reads and writes of a drive whose controller packs.

use super::super::operations::Part;
use super::super::{FlashDrive, Layer, Request};
use super::{Packed, Reading};

impl FlashDrive {
    fn packed(&mut self) -> &mut Packed {
        let Layer::Packed(packed) = &mut self.layer else { unreachable!("only called for a controller that packs") };
        packed
    }

    /// When the controller has what it needs of a page.
    fn fetch_packed(&mut self, page: u32, ready_ns: u64) -> u64 {
        let Some(Reading { unit, pages }) = self.packed().reading(page) else { return ready_ns };
        (0..pages).map(|_| self.medium.fetch(unit, ready_ns)).fold(ready_ns, u64::max)
    }

    pub(in super::super) fn read_packed(&mut self, request: &Request, ready_ns: u64) -> u64 {
        let mut done_ns = ready_ns;
        for part in self.parts(request.offset_bytes, request.length_bytes) {
            let there_ns = self.fetch_packed(part.page, ready_ns);
            self.medium.counters.host_pages_read += 1;
            done_ns = done_ns.max(self.medium.clocks.deliver(part.bytes, there_ns));
        }
        done_ns
    }

    pub(in super::super) fn write_packed(&mut self, request: &Request, ready_ns: u64) -> u64 {
        self.packed().contents.begin(request.offset_bytes, request.length_bytes);
        let (mut accepted_ns, mut durable_ns) = (ready_ns, ready_ns);
        for Part { page, bytes } in self.parts(request.offset_bytes, request.length_bytes) {
            let taken_ns = self.medium.clocks.accept(bytes, ready_ns);
            let number = self.medium.counters.host_pages_written;
            self.medium.counters.host_pages_written += 1;
            let mut whole_ns = taken_ns;
            if bytes < self.profile.page_bytes {
                whole_ns = whole_ns.max(self.fetch_packed(page, ready_ns));
            }
            let Layer::Packed(packed) = &mut self.layer else {
                unreachable!("only called for a controller that packs")
            };
            let arriving = packed.contents.page(page, bytes, number);
            let done_ns = packed.write(page, arriving, whole_ns, &mut self.medium);
            self.medium.clocks.leave_buffer(done_ns);
            accepted_ns = accepted_ns.max(taken_ns);
            durable_ns = durable_ns.max(done_ns);
        }
        self.written(request, accepted_ns, durable_ns)
    }
}
