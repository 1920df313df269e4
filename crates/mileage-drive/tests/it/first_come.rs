//! Flash whose stations serve commands in order of submission, against a simulation by brute force: a lane is a list of its
//! microseconds, and a transfer takes the first of them that are free in a row.

use crate::drives::{Sketch, cases, request, submit};
use crate::random_drives::Draw;
use mileage_drive::Request;
use mileage_drive::RequestKind::{Flush, Read, Write};
use std::collections::HashMap;

const HALF: u64 = 2048;

/// One drive of the test. A page takes 10 us to the host, `to_drive_us` from it, 20 us on a channel.
#[derive(Clone, Copy, Debug)]
struct Shape {
    channels: usize,
    dies: usize,
    queue: usize,
    buffer: usize,
    latency_us: u64,
    to_drive_us: u64,
    full_duplex: bool,
}

impl Shape {
    fn draw(draw: &mut Draw) -> Self {
        Self {
            channels: draw.of(&[1, 2, 3]) as usize,
            dies: draw.of(&[1, 2, 3]) as usize,
            queue: draw.of(&[1, 2, 5, 1024]) as usize,
            buffer: draw.of(&[0, 1, 3, 16]) as usize,
            latency_us: draw.of(&[1, 4, 9]),
            to_drive_us: draw.of(&[10, 20]),
            full_duplex: draw.below(2) == 0,
        }
    }

    fn sketch(&self) -> Sketch {
        let Self { channels, dies, queue, buffer, .. } = *self;
        let [channels, dies, queue, buffer] = [channels, dies, queue, buffer].map(|it| it as u32);
        // Enough blocks that nothing is collected.
        let tiny = Sketch { channels, dies, queue, buffer, blocks: 128, capacity_bytes: 32 * HALF, ..Sketch::tiny() };
        tiny.with(&[
            ("controller_latency_us", self.latency_us.to_string().leak()),
            ("link_write_mb_per_s", if self.to_drive_us == 10 { "409.6" } else { "204.8" }),
            ("link_duplex", if self.full_duplex { "\"full\"" } else { "\"half\"" }),
        ])
    }
}

/// Take the first free microseconds in a row; when they are over.
fn carry(lane: &mut Vec<bool>, ready_us: u64, takes_us: u64) -> u64 {
    let (mut from, takes) = (ready_us as usize, takes_us as usize);
    while lane.iter().skip(from).take(takes).any(|busy| *busy) {
        from += 1;
    }
    lane.resize(lane.len().max(from + takes), false);
    lane[from..from + takes].fill(true);
    (from + takes) as u64
}

/// When each request is complete, in us.
fn brute_force(shape: &Shape, requests: &[Request]) -> Vec<u64> {
    let dies = shape.channels * shape.dies;
    let (mut ends, mut controller_us, mut turn): (Vec<u64>, u64, usize) = (Vec::new(), 0, 0);
    // Lanes: to the host, from the host, then the channels.
    let mut lanes = vec![Vec::new(); 2 + shape.channels];
    let (mut die_free_us, mut place_free_us) = (vec![0; dies], vec![0; shape.buffer]);
    let (mut map, mut placed, mut durable_us) = (HashMap::<u64, usize>::new(), 0, 0);
    let from_host = usize::from(shape.full_duplex);
    for Request { kind, offset_bytes, length_bytes, submit_ns, .. } in requests {
        let mut entered_us = submit_ns / 1000;
        while ends.iter().filter(|end_us| **end_us > entered_us).count() >= shape.queue {
            entered_us += 1;
        }
        let begins_us = controller_us.max(entered_us);
        controller_us = begins_us + 1;
        let ready_us = begins_us + shape.latency_us;
        let fetch = |page: u64, map: &HashMap<u64, usize>, lanes: &mut Vec<Vec<bool>>, free_us: &mut Vec<u64>| {
            let Some(&die) = map.get(&page) else { return ready_us };
            free_us[die] = free_us[die].max(ready_us) + 50;
            carry(&mut lanes[2 + die % shape.channels], free_us[die], 20)
        };
        let halves = offset_bytes / HALF..(offset_bytes + length_bytes) / HALF;
        let mut end_us = if *kind == Flush { ready_us.max(durable_us) } else { ready_us };
        for page in halves.start / 2..halves.end.div_ceil(2) {
            let part = (page * 2 + 2).min(halves.end) - (page * 2).max(halves.start);
            if *kind == Read {
                let there_us = fetch(page, &map, &mut lanes, &mut die_free_us);
                end_us = end_us.max(carry(&mut lanes[0], there_us, 5 * part));
                continue;
            }
            let place = (shape.buffer > 0).then(|| placed % shape.buffer);
            placed += 1;
            let room_us = place.map_or(0, |place| place_free_us[place]);
            let taken_us = carry(&mut lanes[from_host], ready_us.max(room_us), shape.to_drive_us * part / 2);
            let rest_us = if part == 2 { 0 } else { fetch(page, &map, &mut lanes, &mut die_free_us) };
            let die = turn % dies;
            turn += 1;
            map.insert(page, die);
            let carried_us = carry(&mut lanes[2 + die % shape.channels], taken_us.max(rest_us), 20);
            die_free_us[die] = die_free_us[die].max(carried_us) + 200;
            durable_us = durable_us.max(die_free_us[die]);
            if let Some(place) = place {
                place_free_us[place] = die_free_us[die];
            }
            end_us = end_us.max(if place.is_some() { taken_us } else { die_free_us[die] });
        }
        ends.push(end_us);
    }
    ends
}

#[test]
fn random_requests_end_when_a_simulation_by_brute_force_says() {
    for seed in 0..cases(1000) {
        let mut draw = Draw::new(seed);
        let shape = Shape::draw(&mut draw);
        let mut now_us = 0;
        let gap_us = draw.of(&[1, 40, 300]);
        let requests: Vec<Request> = (0..60)
            .map(|_| {
                now_us += draw.below(2) * draw.below(gap_us);
                match draw.below(12) {
                    0 => request(Flush, 0, 0, now_us),
                    it => {
                        let (first, halves) = (draw.below(27), 1 + draw.below(5));
                        request(if it < 7 { Read } else { Write }, first * HALF, halves * HALF, now_us)
                    }
                }
            })
            .collect();
        let mut drive = shape.sketch().drive();
        let found: Vec<u64> = requests.iter().map(|it| submit(&mut drive, *it) / 1000).collect();
        assert_eq!(found, brute_force(&shape, &requests), "seed {seed}: {shape:?}, {requests:?}");
    }
}
