//! Flash that serves reads first: the contract, times by hand, the same stations simulated by brute force, and what
//! its scheduling is for.

use crate::drives::{Sketch, cases, request};
use crate::random_drives::Draw;
use mileage_drive::RequestKind::{Flush, Read, Write};
use mileage_drive::conformance::general::{check, completions};
use mileage_drive::{
    BlockDevice, Decisions, DisturbedDevice, Drive, Immediate, ManagedDevice, ManagedImmediate, QueueAdapter,
    ReadPriorityDrive, Request, Submission, Tag,
};
use std::collections::HashMap;

const PAGE: u64 = 4096;
const FIRST: (&str, &str) = ("scheduling", "\"read-priority\"");

fn sketches() -> Vec<Sketch> {
    let tiny = Sketch::tiny().with(&[FIRST]);
    let buffered = Sketch { buffer: 7, ..tiny.clone() }.with(&[("write_buffer_reads", "\"buffer\"")]);
    let two_planes = Sketch { planes: 2, channels: 1, ..tiny.clone() };
    vec![
        tiny.clone(),
        tiny.clone().with(&[("gc_pace", "\"paced\""), ("suspend", "\"erase\""), ("suspend_us", "5")]),
        tiny.clone().with(&[("suspend", "\"erase-and-program\""), ("suspend_us", "5"), ("link", "\"sata-3\"")]),
        buffered.clone().with(&[("write_buffer_power", "\"volatile\""), ("suspend", "\"erase-and-program\"")]),
        buffered.with(&[("write_buffer_power", "\"protected\""), ("gc_pace", "\"paced\""), ("flush_us", "3")]),
        two_planes.with(&[("plane_work", "\"one\""), ("gc_copies", "\"copy-back\""), ("frontiers", "\"hot-cold\"")]),
        Sketch { queue: 2, ..tiny }.with(&[("link_duplex", "\"full\""), ("controller_latency_us", "9")]),
    ]
}

fn drive(sketch: &Sketch) -> ReadPriorityDrive {
    ReadPriorityDrive::new(sketch.profile())
}

#[test]
fn flash_that_serves_reads_first_keeps_the_general_contract() {
    for sketch in sketches() {
        check(31, 3, 30, || drive(&sketch));
        check(37, 1, 10, || DisturbedDevice::slowed(drive(&sketch), 12_345));
    }
}

/// Completion times of requests that are submitted one by one, in us.
fn times(sketch: &Sketch, requests: &[Request]) -> Vec<u64> {
    let mut ends = completions(&mut drive(sketch), requests);
    ends.sort_unstable_by_key(|end| end.tag);
    ends.iter().map(|end| end.complete_ns / 1000).collect()
}

#[test]
fn reads_wait_for_one_operation_or_for_its_interruption() {
    let tiny = Sketch::tiny().with(&[FIRST]);
    // Page 4 shares the die of page 0. Two programs wait there when a read of page 0 comes.
    let requests = [
        request(Write, 0, PAGE, 0),
        request(Write, 4 * PAGE, PAGE, 1000),
        request(Write, 8 * PAGE, PAGE, 1000),
        request(Read, 0, PAGE, 1101),
    ];
    let alone = [231, 1231, 1241, 1182];
    assert_eq!(times(&tiny, &requests), alone, "the writes are on other dies");
    let one_die = Sketch { channels: 1, dies: 1, capacity_bytes: 16 * PAGE, ..tiny };
    // Programs from 1031 to 1231 and to 1431; the read is at the die at 1102.
    assert_eq!(times(&one_die, &requests), [231, 1231, 1481, 1231 + 50 + 20 + 10]);
    let suspends = one_die.clone().with(&[("suspend", "\"erase-and-program\""), ("suspend_us", "5")]);
    // At 1107 the read begins, at 1157 the program continues with the 129 us that were left of it.
    assert_eq!(times(&suspends, &requests), [231, 1157 + 129, 1286 + 200, 1157 + 20 + 10]);
    let paced = suspends.with(&[("gc_pace", "\"paced\"")]);
    assert_eq!(times(&paced, &requests), [231, 1286, 1486, 1187], "nothing was collected");
}

#[test]
fn a_flush_waits_for_the_programs_before_it() {
    let sketch = Sketch { buffer: 4, channels: 1, dies: 1, capacity_bytes: 16 * PAGE, ..Sketch::tiny() };
    let sketch = sketch.with(&[FIRST, ("write_buffer_reads", "\"buffer\""), ("flush_us", "7")]);
    let requests = [
        request(Write, 0, PAGE, 0),
        request(Write, PAGE, PAGE, 0),
        request(Flush, 0, 0, 50),
        request(Read, PAGE, PAGE, 60),
    ];
    // Programs end at 231 and 431; the read is served from the buffer.
    assert_eq!(times(&sketch, &requests), [11, 21, 438, 71]);
}

/// A station of the slow simulation: what waits in it, in order, and what it does.
#[derive(Default)]
struct Station {
    queue: Vec<(usize, u64)>,
    busy: Option<(usize, u64)>,
}

impl Station {
    /// One microsecond: what is done, if anything. The first in the queue is begun; reads first if they have priority.
    fn tick(&mut self, priority: impl Fn(usize) -> bool) -> Option<usize> {
        if self.busy.is_none() && !self.queue.is_empty() {
            let at = self.queue.iter().position(|(it, _)| priority(*it)).unwrap_or(0);
            self.busy = Some(self.queue.remove(at));
        }
        let (it, left_us) = self.busy.as_mut()?;
        *left_us -= 1;
        if *left_us > 0 {
            return None;
        }
        let done = *it;
        self.busy = None;
        Some(done)
    }
}

/// The same stations by brute force: every station moves by a microsecond at a time. One page a request, no collections:
/// controller, then for a read die, channel, link; for a write link, channel, die.
fn brute_force(sketch: &Sketch, requests: &[Request]) -> Vec<u64> {
    const ROUTES: [[usize; 4]; 2] = [[0, 3, 2, 1], [0, 1, 2, 3]];
    const TAKES_US: [[u64; 4]; 2] = [[1, 50, 20, 10], [1, 10, 20, 200]];
    let dies = (sketch.channels * sketch.dies) as usize;
    let channels = sketch.channels as usize;
    let mut stations: Vec<Station> = (0..2 + channels + dies).map(|_| Station::default()).collect();
    let mut stage = vec![0; requests.len()];
    let mut place = vec![None; requests.len()];
    let (mut forward, mut turn) = (HashMap::new(), 0);
    let mut ends = vec![0; requests.len()];
    let (mut next, mut done, mut now_us) = (0, 0, 0);
    while done < requests.len() {
        while next < requests.len() && requests[next].submit_ns / 1000 == now_us {
            stations[0].queue.push((next, 1));
            next += 1;
        }
        let is_read = |it: usize| requests[it].kind == Read;
        // Reads have priority in the dies alone.
        let first_die = 2 + channels;
        let ticks = stations.iter_mut().enumerate();
        let ticks = ticks.filter_map(|(at, station)| station.tick(|it| at >= first_die && is_read(it)));
        let mut finished: Vec<usize> = ticks.collect();
        now_us += 1;
        finished.sort_unstable();
        for it in finished {
            let (kind, page) = (usize::from(!is_read(it)), requests[it].offset_bytes / PAGE);
            stage[it] += 1;
            if kind == 0 && stage[it] == 1 {
                place[it] = forward.get(&page).copied();
                if place[it].is_none() {
                    stage[it] = 3;
                }
            }
            if kind == 1 && stage[it] == 2 {
                (place[it], turn) = (Some(turn), (turn + 1) % dies);
                forward.insert(page, place[it].unwrap_or(0));
            }
            if stage[it] == 4 {
                (ends[it], done) = (now_us, done + 1);
                continue;
            }
            let die = place[it].unwrap_or(0);
            let station = match ROUTES[kind][stage[it]] {
                2 => 2 + die % channels,
                3 => 2 + channels + die,
                shared => shared,
            };
            stations[station].queue.push((it, TAKES_US[kind][stage[it]]));
        }
    }
    ends
}

/// Any station but a die serves by order of arrival here, so reads may pass writes in no other one.
#[test]
fn random_requests_end_when_a_simulation_by_brute_force_says() {
    let count = cases(1000);
    for seed in 0..count {
        let mut draw = Draw::new(seed);
        let (channels, dies) = (1 + draw.below(3) as u32, 1 + draw.below(3) as u32);
        // Enough blocks that nothing is collected.
        let sketch = Sketch { channels, dies, blocks: 64, capacity_bytes: 16 * PAGE, queue: 1024, ..Sketch::tiny() };
        let sketch = sketch.with(&[FIRST]);
        let mut now_us = 0;
        let requests: Vec<Request> = (0..60)
            .map(|_| {
                now_us += draw.below(2) * draw.below(120);
                let kind = if draw.below(3) == 0 { Read } else { Write };
                request(kind, draw.below(16) * PAGE, PAGE, now_us)
            })
            .collect();
        let expected = brute_force(&sketch, &requests);
        assert_eq!(times(&sketch, &requests), expected, "seed {seed}: {channels} x {dies}");
    }
}

/// 99th percentile of the latency of reads in ns, and programs per page that the host wrote, of a drive in use that is read
/// and written at random, a request every 300 us.
fn in_use<D: ManagedDevice>(mut drive: D) -> (u64, f64) {
    let pages = drive.capacity_bytes() / PAGE;
    let (mut draw, mut now_us) = (Draw::new(5), 0);
    let mut arrivals = |count: u64, reads: bool| -> Vec<Request> {
        let one = |index| {
            now_us += if reads { 300 } else { 2000 };
            let kind = if reads && index % 2 == 0 { Read } else { Write };
            request(kind, draw.below(pages) * PAGE, PAGE, now_us)
        };
        (0..count).map(one).collect()
    };
    let counted = |drive: &D| {
        let mut values = vec![0; drive.counter_names().len()];
        drive.counters(&mut values);
        let of = |name| values[drive.counter_names().iter().position(|known| *known == name).unwrap_or(0)];
        (of("flash_pages_programmed"), of("host_pages_written"))
    };
    let filling = arrivals(4 * pages, false);
    completions(&mut drive, &filling);
    let later_ns = drive.now_ns() + 1_000_000_000;
    let mixed: Vec<Request> =
        arrivals(pages, true).iter().map(|it| Request { submit_ns: it.submit_ns + later_ns, ..*it }).collect();
    let before = counted(&drive);
    let ends = completions(&mut drive, &mixed);
    let after = counted(&drive);
    let latency = |end: &mileage_drive::TaggedCompletion| end.complete_ns - mixed[end.tag.0 as usize].submit_ns;
    let mut reads: Vec<u64> = ends.iter().filter(|end| mixed[end.tag.0 as usize].kind == Read).map(latency).collect();
    reads.sort_unstable();
    (reads[reads.len() * 99 / 100], (after.0 - before.0) as f64 / (after.1 - before.1) as f64)
}

/// With read priority, interruptions and paced collections reads wait far less, and write amplification is that of the
/// other scheduling.
#[test]
fn reads_wait_less_and_write_amplification_stays() {
    let shape = Sketch { channels: 2, dies: 2, blocks: 64, pages: 64, ..Sketch::tiny() }.with_spare(0.28);
    let priority = shape.clone().with(&[FIRST, ("gc_pace", "\"paced\""), ("suspend", "\"erase-and-program\"")]);
    let (slow_ns, plain) = in_use(QueueAdapter::new(shape.drive()));
    let (quick_ns, kept) = in_use(drive(&priority));
    assert!(quick_ns * 5 < slow_ns, "p99 of reads {quick_ns} against {slow_ns} ns");
    assert!((kept / plain - 1.0).abs() < 0.02, "write amplification {kept} against {plain}");
}

#[test]
fn a_drive_of_the_profile_is_managed_like_the_others() {
    let sketch = sketches().swap_remove(3);
    let mut drive = Drive::new(mileage_drive::Profile::Flash(Box::new(sketch.profile())));
    let write = |drive: &mut Drive, page: u64| {
        let submit_ns = drive.now_ns();
        drive.submit_one(&Request { submit_ns, ..request(Write, page * PAGE, PAGE, 0) })
    };
    for page in 0..5 {
        write(&mut drive, page);
    }
    let lost = drive.power_cut(drive.now_ns()).expect("a volatile buffer");
    assert!(!lost.is_empty() && lost.iter().all(|lost| lost.length_bytes == 4096), "{lost:?}");
    for page in 0..5 {
        write(&mut drive, page);
    }
    drive.power_cycle();
    assert_eq!(drive.power_cut(drive.now_ns()).expect("a volatile buffer"), []);
    drive.purge();
    let gauges: HashMap<_, _> = drive.named_gauges().into_iter().collect();
    assert_eq!((gauges["mapped_pages"], gauges["dirty_bytes"]), (0, 0));
}

#[test]
fn what_it_does_not_model_is_refused_by_name() {
    for (figure, named) in [
        (("mapping", "\"block\""), "a map"),
        (("mapping_bytes", "1024"), "a map"),
        (("compression_unit_bytes", "512"), "a map"),
        (("open_block_read_us", "70"), "open_block_read_us"),
        (("gc_idle_free_blocks", "3"), "gc_idle_free_blocks"),
    ] {
        let text = Sketch::tiny().with(&[FIRST, figure]).text();
        let refusal = mileage_drive::FlashProfile::parse(&text).unwrap_err().to_string();
        assert!(refusal.contains("scheduling") && refusal.contains(named), "{refusal}");
    }
    let buffered = Sketch { buffer: 4, ..Sketch::tiny() }.with(&[FIRST]).text();
    assert!(mileage_drive::FlashProfile::parse(&buffered).unwrap_err().to_string().contains("write_buffer_reads"));
}

/// A program that waits for reads is not decided before they are.
#[test]
fn a_later_read_delays_a_program() {
    let sketch = Sketch { channels: 1, dies: 1, capacity_bytes: 16 * PAGE, ..Sketch::tiny() };
    let mut drive = drive(&sketch.with(&[FIRST, ("suspend", "\"erase-and-program\"")]));
    let (mut out, mut tag) = (Decisions::default(), 0);
    let mut submit = |drive: &mut ReadPriorityDrive, it: Request| {
        tag += 1;
        drive.submit(Submission::new(it, Tag(tag))).expect("an instant before the next event");
    };
    submit(&mut drive, request(Write, 0, PAGE, 0));
    drive.advance_to(1_000_000, &mut out).unwrap();
    submit(&mut drive, request(Write, 4 * PAGE, PAGE, 1000));
    drive.advance_to(1_100_000, &mut out).unwrap();
    assert_eq!(out.completions.len(), 1);
    submit(&mut drive, request(Read, 0, PAGE, 1100));
    let state = drive.save();
    drive.restore(&state).unwrap();
    drive.advance_to(3_000_000, &mut out).unwrap();
    let ends: Vec<u64> = out.completions.iter().map(|end| end.complete_ns / 1000).collect();
    assert_eq!(ends, [231, 1181, 1231 + 50]);
    assert!(ManagedDevice::purge(&mut drive).is_ok());
}
