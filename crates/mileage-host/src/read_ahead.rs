//! When a file is read, how much of it is read ahead: the on-demand algorithm of Linux (`mm/readahead.c`), in two forms.
//!
//! [`Form::Legacy`] is that of 2.6.31 to 3.x: a request larger than the maximum is read in windows of the maximum, and a read
//! that would hit its own marker at once asks for the next window with the first. [`Form::Current`] is that of 6.18: pages come
//! in folios, the larger the longer a stream is, and a window ends where a folio of its size does. Neither knows backward
//! reading: only pages *before* a miss are looked for.

use crate::page_cache::{FileId, PageCache};
use crate::slot_walk::SlotWalk;
use serde::{Deserialize, Serialize};

/// Which kernel's algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Without the context rule: 2.6.30.
    Early,
    /// 2.6.31 and later.
    Legacy,
    /// 6.18.
    Current,
}

/// What an open file remembers of its reads (`struct file_ra_state`); all in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadAhead {
    /// First page of the last window.
    pub start: u32,
    /// Its length.
    pub size: u32,
    /// How many pages before its end the marker lies.
    pub async_size: u32,
    /// Page of the last byte that was read; `None` before the first read.
    pub previous: Option<u32>,
    /// Page of the byte behind it.
    pub behind: Option<u32>,
    /// Size of the folios of the last window, as a power of two.
    pub order: u32,
}

/// Limits of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The kernel's algorithm.
    pub form: Form,
    /// Pages of the largest window; 0: no read-ahead.
    pub max: u32,
    /// Pages of the largest device request, which a request of the file may use beyond `max` in the current form.
    pub request: u32,
}

/// Pages to be read: first page, number, and the page that gets a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// First page.
    pub start: u32,
    /// How many.
    pub count: u32,
    /// Hitting this page starts the next window; in a folio, hitting any page of it.
    pub marker: Option<u32>,
    /// Largest folio that the pages come in, as a power of two.
    pub order: u32,
}

impl Window {
    /// Pages that are read as they are.
    fn plain(start: u32, count: u32) -> Self {
        Self { start, count, marker: None, order: 0 }
    }
}

/// The first window for a request (`get_init_ra_size`).
fn initial(request: u32, max: u32) -> u32 {
    let size = request.next_power_of_two();
    match () {
        () if size <= max / 32 => size * 4,
        () if size <= max / 4 => size * 2,
        () => max,
    }
}

/// The window after one of this size (`get_next_ra_size`).
fn next(size: u32, max: u32) -> u32 {
    match () {
        () if size < max / 16 => size * 4,
        () if size <= max / 2 => size * 2,
        () => max,
    }
}

impl Limits {
    /// The most that a request may read at once.
    fn max_for(&self, request: u32) -> u32 {
        if self.form == Form::Current && request > self.max {
            self.max.max(request.min(self.request))
        } else {
            self.max
        }
    }
}

impl ReadAhead {
    /// A page was not there: what to read, for a request of `request` pages from `page` on.
    pub fn miss(&mut self, limits: &Limits, cache: &PageCache, file: FileId, page: u32, request: u32) -> Window {
        if limits.max == 0 {
            return Window::plain(page, request);
        }
        let max = limits.max_for(request);
        if limits.form == Form::Current {
            self.miss_current(max, cache, file, page, request)
        } else {
            let context = limits.form == Form::Legacy;
            self.demand(max, cache, file, page, request, context)
        }
    }

    /// The marker of a folio (its first page, and how many it has) was hit by a request of `request` pages from that page on;
    /// `None`: nothing to read.
    pub fn hit(
        &mut self,
        limits: &Limits,
        cache: &PageCache,
        file: FileId,
        (page, folio): (u32, u32),
        request: u32,
    ) -> Option<Window> {
        if limits.max == 0 {
            return None;
        }
        let max = limits.max_for(request);
        if limits.form == Form::Current {
            return self.hit_current(max, cache, file, (page, folio), request);
        }
        if page == self.start + self.size - self.async_size.min(self.start + self.size)
            || page == self.start + self.size
        {
            self.start += self.size;
            self.size = next(self.size, max);
        } else {
            let start = cache.next_hole(file, page + 1, max);
            if start == 0 || start - page > max {
                return None;
            }
            (self.start, self.size) = (start, next(start - page + request, max));
        }
        self.async_size = self.size;
        self.merge_own_marker(page, max);
        Some(self.window())
    }

    fn hit_current(
        &mut self,
        max: u32,
        cache: &PageCache,
        file: FileId,
        (page, folio): (u32, u32),
        request: u32,
    ) -> Option<Window> {
        let expected = self.start + self.size - self.async_size.min(self.start + self.size);
        if page == expected / folio * folio {
            self.start += self.size;
            // Folios may be larger than the maximum, so a window never shrinks by itself.
            self.size = next(self.size, max).max(self.size);
        } else {
            let start = SlotWalk::next_miss(cache, file, page + 1, max);
            if start == 0 || start - page > max {
                return None;
            }
            (self.start, self.size) = (start, next(start - page + request, max));
        }
        self.order = (self.order + 2).min(max.trailing_zeros());
        let end = self.start + self.size;
        let aligned_end = end >> self.order << self.order;
        if aligned_end > self.start {
            self.size = aligned_end - self.start;
        }
        self.async_size = self.size;
        self.order = self.order.min(self.size.ilog2());
        Some(self.window())
    }

    fn window(&self) -> Window {
        let marker = self.start + self.size - self.async_size;
        Window {
            start: self.start,
            count: self.size,
            marker: (self.async_size > 0).then_some(marker),
            order: self.order,
        }
    }

    fn continues(&self, page: u32) -> bool {
        self.previous.is_some_and(|previous| page == previous || page == previous + 1)
    }

    /// As Linux 6.18 does: by the position behind the last byte, so that a page may be missing behind a whole one.
    fn continues_behind(&self, page: u32) -> bool {
        self.behind.is_some_and(|behind| page == behind || page == behind + 1)
    }

    fn miss_current(&mut self, max: u32, cache: &PageCache, file: FileId, page: u32, request: u32) -> Window {
        if page == 0 || request > max || self.continues_behind(page) {
            self.start = page;
            self.size = initial(request, max);
            self.async_size = if self.size > request { self.size - request } else { self.size / 2 };
        } else {
            let history = SlotWalk::history(cache, file, page, max);
            if history <= request {
                return Window::plain(page, request);
            }
            let stream = if history == page { history * 2 } else { history };
            (self.start, self.size, self.async_size) = (page, (stream + request).min(max), 1);
        }
        self.order = 0;
        self.window()
    }

    /// The algorithm of 2.6.3x for a missing page.
    fn demand(&mut self, max: u32, cache: &PageCache, file: FileId, page: u32, request: u32, context: bool) -> Window {
        let expected = [self.start + self.size - self.async_size, self.start + self.size];
        if page != 0 && self.size > 0 && expected.contains(&page) {
            self.start += self.size;
            self.size = next(self.size, max);
            self.async_size = self.size;
        } else if page == 0 || request > max || self.continues(page) {
            self.start = page;
            self.size = initial(request, max);
            self.async_size = if self.size > request { self.size - request } else { self.size };
        } else {
            let history = if context { cache.history(file, page, max) } else { 0 };
            if history == 0 {
                return Window::plain(page, request);
            }
            let stream = if history == page { history * 2 } else { history };
            self.start = page;
            self.size = initial(stream + request, max);
            self.async_size = self.size;
        }
        self.merge_own_marker(page, max);
        self.window()
    }

    /// A read that would hit the marker that it makes asks for the next window now.
    fn merge_own_marker(&mut self, page: u32, max: u32) {
        if page == self.start && self.size == self.async_size {
            self.async_size = next(self.size, max);
            self.size += self.async_size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { form: Form::Legacy, max: 32, request: 128 };

    #[test]
    fn initial_windows_of_32_pages_are_those_of_the_kernel() {
        let sizes: Vec<u32> = [1, 2, 3, 4, 5, 8, 9, 32].iter().map(|request| initial(*request, 32)).collect();
        assert_eq!(sizes, [4, 4, 8, 8, 16, 16, 32, 32]);
    }

    #[test]
    fn a_large_record_at_a_new_place_asks_for_two_windows_at_once() {
        let cache = PageCache::new(1 << 20, 100);
        let window = ReadAhead::default().miss(&LIMITS, &cache, 1, 4096, 256);
        assert_eq!(window, Window { start: 4096, count: 64, marker: Some(4128), order: 0 });
    }

    #[test]
    fn a_backward_read_is_read_as_it_is() {
        let mut cache = PageCache::new(1 << 20, 100);
        let mut state = ReadAhead::default();
        for page in (8..100u32).rev().step_by(4) {
            let window = state.miss(&LIMITS, &cache, 1, page, 4);
            assert_eq!(window, Window::plain(page, 4));
            cache.insert_locked(1, page, 4, None);
            cache.unlock(1, page, 4);
            state.previous = Some(page + 3);
        }
    }
}
