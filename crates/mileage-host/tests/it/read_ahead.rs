//! The windows of read-ahead on sequences of reads, compared with those of the kernel's algorithm worked out by hand.

use mileage_host::page_cache::PageCache;
use mileage_host::read_ahead::{Form, Limits, ReadAhead, Window};

/// A file of which pages are read as calls would: what was asked of the drive, as (first page, pages).
fn windows(form: Form, max: u32, reads: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let limits = Limits { form, max, request: 320 };
    let mut cache = PageCache::new(1 << 20, 100);
    let mut state = ReadAhead::default();
    let mut asked = Vec::new();
    let mut read = |cache: &mut PageCache, window: Window| {
        let Window { start, count, marker, .. } = window;
        let together = cache.missing(1, start, count);
        let (mut at, end) = (start, start + count);
        while at < end {
            let missing = cache.missing(1, at, end - at);
            if missing == 0 {
                at += 1;
                continue;
            }
            cache.insert_locked(1, at, missing, marker);
            cache.unlock(1, at, missing);
            asked.push((at, missing));
            at += missing;
        }
        cache.join(1, &window, together);
    };
    for (page, count) in reads {
        let end = page + count;
        let mut at = *page;
        while at < end {
            use mileage_host::page_cache::Found;
            match cache.look(1, at, end - at) {
                Found::Present(count) => {
                    at += count;
                    (state.previous, state.behind) = (Some(at - 1), Some(at));
                }
                Found::Marked => {
                    let folio = cache.folio_of(1, at);
                    let window = state.hit(&limits, &cache, 1, folio, end - folio.0);
                    cache.clear_marker(1, folio);
                    window.into_iter().for_each(|window| read(&mut cache, window));
                }
                _ => {
                    let window = state.miss(&limits, &cache, 1, at, end - at);
                    read(&mut cache, window);
                }
            }
        }
    }
    asked
}

fn sequence(from: u32, count: u32, step: i64, each: u32) -> Vec<(u32, u32)> {
    (0..count).map(|at| ((i64::from(from) + i64::from(at) * step) as u32, each)).collect()
}

#[test]
fn sequential_reads_of_a_page_ramp_up() {
    let reads = sequence(0, 80, 1, 1);
    // 4, then 8 at the marker of page 1, 16 at page 4, 32 at page 12, and 32 from then on.
    assert_eq!(windows(Form::Legacy, 32, &reads), [(0, 4), (4, 8), (12, 16), (28, 32), (60, 32), (92, 32)]);
    // A window ends where a folio of its size does: as Linux 6.18 was seen to read.
    let now = [(0, 4), (4, 8), (12, 4), (16, 8), (24, 8), (32, 16), (48, 16), (64, 32), (96, 32)];
    assert_eq!(windows(Form::Current, 32, &reads), now);
}

#[test]
fn large_records_are_read_in_windows_of_the_maximum_and_as_one_request_now() {
    let reads = [(1024, 256)];
    let legacy = windows(Form::Legacy, 32, &reads);
    assert_eq!(legacy[..2], [(1024, 64), (1088, 32)], "{legacy:?}");
    assert_eq!(windows(Form::Current, 32, &reads), [(1024, 256)]);
}

#[test]
fn backward_and_random_reads_are_read_as_they_are() {
    for form in [Form::Early, Form::Legacy, Form::Current] {
        let backward = sequence(400, 50, -4, 4);
        assert_eq!(windows(form, 32, &backward), backward);
        let random = [(900, 2), (100, 2), (500, 2), (300, 2)];
        assert_eq!(windows(form, 32, &random), random);
    }
}

#[test]
fn a_stride_is_read_as_it_is() {
    for form in [Form::Early, Form::Legacy, Form::Current] {
        let stride = sequence(50, 40, 17, 4);
        assert_eq!(windows(form, 32, &stride), stride);
    }
}

#[test]
fn a_short_stride_from_the_start_is_read_as_linux_reads_it() {
    // Windows of Linux 6.18, by its tracepoint: the fourth has 26 pages, because the search for the history begins at the first
    // slot of a folio of four and counts from the last.
    let stride = sequence(0, 16, 4, 1);
    assert_eq!(windows(Form::Current, 32, &stride), [(0, 4), (4, 9), (13, 15), (28, 26), (56, 1), (60, 1)]);
}

#[test]
fn a_record_behind_a_cached_one_has_a_window_by_its_context() {
    // 8 pages at 200, then 8 at 100 by the same handle, then those behind the first: their history is the first record.
    let reads = [(200, 8), (100, 8), (208, 8)];
    assert_eq!(windows(Form::Early, 32, &reads)[2], (208, 8));
    assert_eq!(windows(Form::Legacy, 32, &reads)[2].0, 208);
    assert!(windows(Form::Legacy, 32, &reads)[2].1 > 8);
    assert_eq!(
        windows(Form::Current, 32, &reads)[2],
        (208, 8),
        "a history no longer than the request does not count now"
    );
}
