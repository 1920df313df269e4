//! Pages that the kernel handles together: the folios that read-ahead makes, and their markers.

use crate::page_bits::{CHUNK, bits, parts};
use crate::page_cache::{FileId, PageCache};
use crate::read_ahead::Window;

impl PageCache {
    /// Join the pages of a window that was just inserted into folios, as the kernel does: none is larger than its place allows, or
    /// reaches behind the window, and none is made behind the first `count` pages: there, some page was there before. The folio that
    /// has the marker is marked as a whole.
    pub fn join(&mut self, file: FileId, window: &Window, count: u32) {
        let &Window { start, order, marker, .. } = window;
        let (mut at, end) = (start, start + window.count);
        while at < end {
            let length = 1 << order.min(at.trailing_zeros()).min((end - at).ilog2());
            if at + length > start + count {
                break;
            }
            if length > 1 {
                let is_marked = marker.is_some_and(|marker| (at..at + length).contains(&marker));
                for (chunk, wanted) in parts(at, length) {
                    let Some(place) = self.place(file, chunk) else { continue };
                    let it = &mut self.slab[place];
                    it.tails |= wanted & it.present;
                    if is_marked {
                        it.marker |= wanted & it.present;
                    }
                }
                self.cut(file, at);
            }
            at += length;
        }
    }

    /// A page is the first of its folio.
    fn cut(&mut self, file: FileId, page: u32) {
        if let Some(place) = self.place(file, page / CHUNK) {
            self.slab[place].tails &= !bits(page % CHUNK, 1);
        }
    }

    /// The folio of a page: its first page, and how many it has; the page alone if it is not there.
    pub fn folio_of(&self, file: FileId, page: u32) -> (u32, u32) {
        let is_tail = |page: u32| {
            let place = self.place(file, page / CHUNK);
            place.is_some_and(|place| self.slab[place].tails & bits(page % CHUNK, 1) != 0)
        };
        let (mut first, mut end) = (page, page + 1);
        while first > 0 && is_tail(first) {
            first -= 1;
        }
        while is_tail(end) {
            end += 1;
        }
        (first, end - first)
    }

    /// The marker of a folio was hit.
    pub fn clear_marker(&mut self, file: FileId, (page, count): (u32, u32)) {
        for (chunk, wanted) in parts(page, count) {
            if let Some(place) = self.place(file, chunk) {
                self.slab[place].marker &= !wanted;
            }
        }
    }
}
