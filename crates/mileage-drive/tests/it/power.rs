//! Power cuts at every step of random histories, against a plain list of writes: which acknowledged ones are lost.

use crate::drives::{Sketch, cases, do_workload, request, submit, workload};
use crate::random_drives::Draw;
use mileage_drive::RequestKind::{Flush, Write};
use mileage_drive::{FlashDrive, Immediate, LostWrite, ManagedImmediate, PowerCutError, Request};
use mileage_workload::{PatternKind, Sync};

const PAGE: u64 = 4096;
/// What a page takes, in ns: controller, link, channel, program.
const CONTROLLER: u64 = 1_000;
const LINK: u64 = 10_000;
const CHANNEL: u64 = 20_000;
const PROGRAM: u64 = 200_000;

const VOLATILE: (&str, &str) = ("write_buffer_power", "\"volatile\"");
const PROTECTED: (&str, &str) = ("write_buffer_power", "\"protected\"");
const COMBINING: (&str, &str) = ("write_combining", "\"rewrites\"");

/// One program on its way.
#[derive(Clone, Debug)]
struct Program {
    page: u64,
    fua: bool,
    done_ns: u64,
}

/// A page of a write: which program brings it to the flash, and when it was acknowledged to the host.
#[derive(Clone, Copy, Debug)]
struct Part {
    write: u64,
    page: u64,
    program: usize,
    acknowledged_ns: u64,
}

/// A drive of one die and one page after the other, as a list: no map, no collection, no shared code.
#[derive(Clone, Debug, Default)]
struct Plain {
    places: usize,
    combines: bool,
    programs: Vec<Program>,
    parts: Vec<Part>,
    writes: u64,
    link_ns: u64,
    channel_ns: u64,
    die_ns: u64,
}

impl Plain {
    /// When the place that the next page takes is free.
    fn place_free_ns(&self) -> u64 {
        let before = self.programs.len().checked_sub(self.places).filter(|_| self.places > 0);
        before.map_or(0, |index| self.programs[index].done_ns)
    }

    fn carry(&mut self, ready_ns: u64) -> u64 {
        self.link_ns = self.link_ns.max(ready_ns) + LINK;
        self.link_ns
    }

    /// The program whose data a rewrite may still replace, and until when.
    fn waiting(&self, page: u64, ready_ns: u64) -> Option<(usize, u64)> {
        let (index, last) = self.programs.iter().enumerate().rfind(|(_, program)| program.page == page)?;
        let until_ns = last.done_ns - CHANNEL - PROGRAM;
        let there = self.combines && !last.fua && index + self.places >= self.programs.len();
        (there && until_ns > ready_ns).then_some((index, until_ns))
    }

    /// A write of whole pages; when it is complete.
    fn write(&mut self, first: u64, pages: u64, fua: bool, submit_ns: u64) -> u64 {
        let ready_ns = submit_ns + CONTROLLER;
        let (mut accepted_ns, mut durable_ns, from) = (ready_ns, ready_ns, self.parts.len());
        for page in first..first + pages {
            let waiting = self.waiting(page, ready_ns).filter(|_| !fua);
            let mut arrived_ns = None;
            if let Some((program, until_ns)) = waiting {
                let ns = self.carry(ready_ns);
                if ns <= until_ns {
                    accepted_ns = accepted_ns.max(ns);
                    self.parts.push(Part { write: self.writes, page, program, acknowledged_ns: 0 });
                    continue;
                }
                arrived_ns = Some(ns.max(self.place_free_ns()));
            }
            let free_ns = self.place_free_ns();
            let there_ns = arrived_ns.unwrap_or_else(|| self.carry(ready_ns.max(free_ns)));
            self.channel_ns = self.channel_ns.max(there_ns) + CHANNEL;
            self.die_ns = self.die_ns.max(self.channel_ns) + PROGRAM;
            accepted_ns = accepted_ns.max(there_ns);
            durable_ns = durable_ns.max(self.die_ns);
            self.parts.push(Part { write: self.writes, page, program: self.programs.len(), acknowledged_ns: 0 });
            self.programs.push(Program { page, fua, done_ns: self.die_ns });
        }
        self.writes += 1;
        let acknowledged_ns = if fua || self.places == 0 { durable_ns } else { accepted_ns };
        self.parts[from..].iter_mut().for_each(|part| part.acknowledged_ns = acknowledged_ns);
        acknowledged_ns
    }

    fn flush(&self, submit_ns: u64) -> u64 {
        (submit_ns + CONTROLLER).max(self.die_ns)
    }

    /// The unflushed tail: parts whose writes the host believes done and whose programs are not.
    fn lost(&self, at_ns: u64) -> Vec<LostWrite> {
        let lost = self
            .parts
            .iter()
            .filter(|part| part.acknowledged_ns <= at_ns && self.programs[part.program].done_ns > at_ns);
        let named =
            lost.map(|part| LostWrite { write: part.write, offset_bytes: part.page * PAGE, length_bytes: PAGE as u32 });
        named.collect()
    }
}

/// One die with more erased blocks than any history here fills.
fn one_die(buffer: u32, more: &[(&'static str, &'static str)]) -> Sketch {
    Sketch { channels: 1, dies: 1, blocks: 60, buffer, ..Sketch::tiny() }.with(more)
}

fn cut(drive: &FlashDrive, at_ns: u64) -> Vec<LostWrite> {
    drive.clone().power_cut(at_ns).expect("the profile says what a power cut does")
}

/// What a history did, for the assertion that the histories are worth something.
#[derive(Debug, Default)]
struct Tally {
    cuts: u64,
    losses: u64,
    combined: u64,
}

/// Forty operations, each submitted when the one before is complete or a while later; cuts at every step.
fn history(seed: u64, sketch: &Sketch, tally: &mut Tally) {
    let mut random = Draw::new(seed);
    let mut drive = sketch.drive();
    let protected = sketch.more.contains(&PROTECTED);
    let mut plain =
        Plain { places: sketch.buffer as usize, combines: sketch.more.contains(&COMBINING), ..Plain::default() };
    let (mut now_ns, mut flushed, mut promised) = (0, 0, Vec::new());
    for step in 0..40 {
        // Of a longer write, pages that replace others would pass those that wait for a place.
        let (first, pages) = (random.below(12), if plain.combines { 1 } else { 1 + random.below(3) });
        let kind = random.below(10);
        let done_ns = if kind == 0 {
            let done_ns = submit(&mut drive, Request { submit_ns: now_ns, ..request(Flush, 0, 0, 0) });
            assert_eq!(done_ns, plain.flush(now_ns), "flush of step {step}");
            done_ns
        } else {
            let write = request(Write, first * PAGE, pages * PAGE, 0);
            let done_ns = submit(&mut drive, Request { fua: kind == 1, submit_ns: now_ns, ..write });
            assert_eq!(done_ns, plain.write(first, pages, kind == 1, now_ns), "write of step {step}");
            done_ns
        };
        let restored = (step % 8 == 7).then(|| FlashDrive::restored(sketch.profile(), &drive.save()).unwrap());
        let next_ns = done_ns + [0, 0, 7_000, 150_000, 900_000][random.below(5) as usize];
        let mut instants = vec![now_ns, done_ns - 1, done_ns, next_ns, now_ns + random.below(next_ns - now_ns + 1)];
        let programs = plain.programs.iter().map(|program| program.done_ns);
        instants.extend(programs.flat_map(|ns| [ns - 1, ns]).filter(|ns| (now_ns..next_ns + 3_000_000).contains(ns)));
        for at_ns in instants {
            let lost = cut(&drive, at_ns);
            let expected = if protected || sketch.buffer == 0 { Vec::new() } else { plain.lost(at_ns) };
            assert_eq!(lost, expected, "cut at {at_ns} in step {step}");
            if let Some(restored) = &restored {
                assert_eq!(cut(restored, at_ns), lost, "a restored drive loses something else");
            }
            assert!(lost.iter().all(|it| it.write >= flushed && !promised.contains(&it.write)), "{lost:?} lost");
            tally.cuts += 1;
            tally.losses += u64::from(!lost.is_empty());
        }
        match kind {
            0 => flushed = plain.writes,
            1 => promised.push(plain.writes - 1),
            _ => {}
        }
        now_ns = next_ns;
    }
    tally.combined += plain.parts.len() as u64 - plain.programs.len() as u64;
}

#[test]
fn a_power_cut_loses_what_a_plain_list_says_and_nothing_that_was_flushed_or_protected() {
    let caches: [(u32, &[_]); 4] = [(0, &[]), (7, &[VOLATILE]), (7, &[VOLATILE, COMBINING]), (7, &[PROTECTED])];
    let histories = cases(1000);
    for (buffer, more) in caches {
        let sketch = one_die(buffer, more);
        let mut seen = Tally::default();
        for seed in 0..histories {
            let judged = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| history(seed, &sketch, &mut seen)));
            assert!(judged.is_ok(), "seed {seed}, buffer of {buffer} with {more:?}");
        }
        assert!(seen.cuts > 200 * histories, "{seen:?}");
        assert_eq!(seen.losses > 30 * histories, more.contains(&VOLATILE), "{seen:?}");
        assert_eq!(seen.combined > histories, more.contains(&COMBINING), "{seen:?}");
    }
}

/// On many dies pages reach the flash out of order. That a write and all before it are there is seen from outside: a
/// flush right behind it completes then.
#[test]
fn on_any_drive_a_write_is_kept_from_when_a_flush_behind_it_completes() {
    for seed in 0..120 {
        let mut draw = Draw::new(seed);
        let mut sketch = draw.sketch();
        sketch.more.retain(|(key, _)| !key.starts_with("write_") && !["flush_us", "mapping_bytes"].contains(key));
        sketch = Sketch { buffer: 1 + draw.below(30) as u32, controller_us: 0.0, queue: 60_000, ..sketch };
        let mut drive = sketch.with(&[VOLATILE]).drive();
        let page_bytes = u64::from(drive.page_bytes());
        let (mut writes, mut now_ns) = (Vec::new(), 0);
        for write in 0..200 {
            let page = draw.below(drive.capacity_bytes() / page_bytes);
            let one = Request { submit_ns: now_ns, ..request(Write, page * page_bytes, page_bytes, 0) };
            let acknowledged_ns = submit(&mut drive, one);
            let kept_ns = submit(&mut drive.clone(), Request { submit_ns: now_ns, ..request(Flush, 0, 0, 0) });
            writes.push((write, one.offset_bytes, acknowledged_ns, kept_ns));
            for at_ns in [now_ns, acknowledged_ns, kept_ns - 1, kept_ns, now_ns + draw.below(2_000_000)] {
                let expected = writes
                    .iter()
                    .filter(|(.., acknowledged_ns, kept_ns)| *acknowledged_ns <= at_ns && *kept_ns > at_ns);
                let expected: Vec<_> = expected.map(|(write, offset_bytes, ..)| (*write, *offset_bytes)).collect();
                let lost: Vec<_> = cut(&drive, at_ns).iter().map(|it| (it.write, it.offset_bytes)).collect();
                assert_eq!(lost, expected, "seed {seed}, write {write}, cut at {at_ns}");
            }
            now_ns += draw.below(2) * draw.below(300_000);
        }
    }
}

/// A run whose writes have FUA leaves nothing to lose at any instant, each of its writes takes a program, and no flush follows;
/// the same run without a sync loses writes.
#[test]
fn a_run_with_fua_loses_nothing_and_waits_for_each_program() {
    let run_with = |sync| {
        let mut drive = one_die(8, &[VOLATILE]).drive();
        let mut wanted = workload(PatternKind::Sequential, 0, 32 * PAGE, 1.0, 1);
        (wanted.sync, wanted.depth) = (sync, 1);
        let record = do_workload(&mut drive, &wanted);
        let lost = cut(&drive, drive.now_ns()).len();
        (record.latency.write.sum_ns / 32, record.counters["flushes"], lost)
    };
    let (latency_ns, flushes, lost) = run_with(Sync::Fua);
    assert_eq!((latency_ns, flushes, lost), (CONTROLLER + LINK + CHANNEL + PROGRAM, 0, 0));
    let (buffered_ns, flushes, lost) = run_with(Sync::None);
    assert!(buffered_ns < latency_ns && flushes == 0 && lost > 0, "{buffered_ns} ns, {lost} lost");
}

#[test]
fn a_drive_works_again_after_a_power_cut() {
    for more in [&[VOLATILE, COMBINING][..], &[PROTECTED]] {
        let mut drive = one_die(16, more).drive();
        for page in 0..16 {
            submit(&mut drive, request(Write, page * PAGE, PAGE, 0));
        }
        let at_ns = 170_000;
        let lost = drive.power_cut(at_ns).unwrap();
        assert_eq!(
            lost.len(),
            if more.contains(&VOLATILE) { 16 } else { 0 },
            "sixteen acknowledged, none programmed by then"
        );
        assert_eq!(drive.now_ns(), at_ns);
        let named = drive.named_gauges();
        assert!(named.contains(&("dirty_bytes", 0)), "{named:?}");
        assert_eq!(submit(&mut drive, request(Flush, 0, 0, 1000)), 1_001_000, "nothing is waited for");
        assert_eq!(submit(&mut drive, request(Write, 0, PAGE, 2000)), 2_011_000);
        assert_eq!(drive.power_cut(2_100_000).unwrap().len(), usize::from(more.contains(&VOLATILE)));
    }
}

#[test]
fn what_nobody_can_know_is_refused() {
    let mut silent = one_die(4, &[]).drive();
    assert_eq!(silent.power_cut(0), Err(PowerCutError::Unknown));
    let mut drive = one_die(4, &[VOLATILE]).drive();
    drive.idle_ns(500);
    assert_eq!(drive.power_cut(499), Err(PowerCutError::Past { at_ns: 499, now_ns: 500 }));
    let mut packed = Sketch::tiny().with(&[("dedupe_contents", "9")]).drive();
    assert_eq!(packed.power_cut(0), Err(PowerCutError::Packed));
    for error in [PowerCutError::Packed, PowerCutError::Unknown, PowerCutError::Past { at_ns: 1, now_ns: 2 }] {
        let text = error.to_string();
        assert!(text.contains("expected") && !text.contains('\n'), "{text}");
    }
}
