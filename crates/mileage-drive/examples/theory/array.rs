//! Arrays: rates of levels, what writes read, degraded reads, rebuilds, time-outs, caches, and the loss of data over years.

use super::disk::{closed_loop, disk};
use super::splitmix::draw;
use super::{Case, Row};
use mileage_drive::ConstantTime;
use mileage_drive::DiskDrive;
use mileage_drive::DisturbedDevice;
use mileage_drive::Reliability;
use mileage_drive::block_device::{BlockDevice, Decisions, ManagedDevice, PowerCut, Submission, Tag};
use mileage_drive::device::{Request, RequestKind};
use mileage_drive::profile::{
    Basics, CachePower, Controller, Discards, Faults, Level, Protocol, Stall, capacity_bytes,
};
use mileage_drive::{Array, ArrayParts};

pub(super) fn cases() -> Vec<Case> {
    vec![
        Case::new(true, scaling),
        Case::new(true, ceilings),
        Case::new(false, small_writes),
        Case::new(false, small_writes_on_disks),
        Case::new(true, full_stripes),
        Case::new(true, cheaper_ways),
        Case::new(true, degraded_reads),
        Case::new(true, rebuild),
        Case::new(true, strides),
        Case::new(true, stalled_member),
        Case::new(true, caches),
        Case::new(true, mean_times),
        Case::new(true, rare_losses),
    ]
}

const CHUNK: u64 = 64 << 10;

fn array<M: ManagedDevice + Clone>(level: Level, spares: usize, controller: &Controller, devices: Vec<M>) -> Array<M> {
    let count = devices.len();
    let capacities: Vec<u64> = devices[..count - spares].iter().map(M::capacity_bytes).collect();
    let basics = Basics {
        name: "check".to_owned(),
        title: "Check".to_owned(),
        capacity_bytes: capacity_bytes(level, CHUNK, &capacities),
        rated_write_bytes: None,
        faults: Faults::default(),
        figures: Vec::new(),
        rates: Vec::new(),
    };
    let (controller, protocols) = (controller.clone(), vec![Protocol::Sata; count]);
    let discards = Discards::Ignored;
    Array::new(ArrayParts { basics, level, chunk_bytes: CHUNK, controller, discards, protocols, spares }, devices)
}

const SERVICE_NS: u64 = 100_000;

fn toys(count: usize) -> Vec<ConstantTime> {
    (0..count).map(|_| ConstantTime::new(64 << 20, SERVICE_NS, 0)).collect()
}

fn counter<M: ManagedDevice + Clone>(array: &Array<M>, name: &str) -> f64 {
    let mut values = vec![0; array.counter_names().len()];
    array.counters(&mut values);
    let at = array.counter_names().iter().position(|known| *known == name);
    at.map_or(f64::NAN, |at| values[at] as f64)
}

/// MB/s of reads of 1 MiB in order.
fn read_rate<M: ManagedDevice + Clone>(device: &mut Array<M>, count: u64) -> f64 {
    let ends = closed_loop(device, RequestKind::Read, 16, count, |index| (index * 2048, 2048));
    let from = ends.len() / 4;
    (ends.len() - 1 - from) as f64 * 1_048_576e3 / (ends[ends.len() - 1] - ends[from]) as f64
}

fn disks(count: usize) -> Vec<DiskDrive> {
    (0..count)
        .map(|_| {
            DiskDrive::new(disk(&[
                ("read_ahead_bytes", "1048576"),
                ("cache_bytes", "16777216"),
                ("cache_segments", "16"),
            ]))
        })
        .collect()
}

/// Reads in order grow with the members.
fn scaling() -> Vec<Row> {
    let rate =
        |count: usize| read_rate(&mut array(Level::Raid0, 0, &Controller::UNLIMITED, disks(count)), 400 * count as u64);
    let one = rate(1);
    let row = |count: usize| {
        Row::within(
            0.03,
            format!("array: reads in order, raid0 of {count} over one disk"),
            count as f64,
            rate(count) / one,
        )
    };
    [2, 4, 8, 16].map(row).into()
}

/// Of limits the lowest counts; two controllers have two.
fn ceilings() -> Vec<Row> {
    let host = Controller { host_mb_per_s: Some(500.0), ..Controller::UNLIMITED };
    let sata = Controller { sata_mb_per_s: Some(350.0), ..Controller::UNLIMITED };
    let rate = |controller: &Controller| read_rate(&mut array(Level::Raid0, 0, controller, disks(8)), 3000);
    let inner = || array(Level::Raid0, 0, &sata, disks(4));
    let two = read_rate(&mut array(Level::Raid0, 0, &Controller::UNLIMITED, vec![inner(), inner()]), 3000);
    let commands = Controller { command_interval_ns: 50_000, ..Controller::UNLIMITED };
    let mut slow = array(Level::Raid0, 0, &commands, toys(16));
    let ends = closed_loop(&mut slow, RequestKind::Read, 64, 4000, |index| (draw(1, index) % 100_000 * 8, 8));
    let per_s = (ends.len() - 1) as f64 * 1e9 / (ends[ends.len() - 1] - ends[0]) as f64;
    vec![
        Row::within(0.01, "array: MB/s of 8 disks behind a host limit of 500", 500.0, rate(&host)),
        Row::within(0.01, "array: MB/s of 8 disks behind a SATA limit of 350", 350.0, rate(&sata)),
        Row::within(0.03, "array: MB/s of 4 + 4 disks behind two SATA limits of 350", 700.0, two),
        Row::within(0.01, "array: commands/s behind a limit of 20,000", 20_000.0, per_s),
    ]
}

/// Small writes at random per second, depth 256.
fn write_rate<M: ManagedDevice + Clone>(device: &mut Array<M>, depth: u64, count: u64) -> f64 {
    let blocks = device.capacity_bytes() / 4096;
    let ends = closed_loop(device, RequestKind::Write, depth, count, |index| (draw(7, index) % blocks * 8, 8));
    // Not while the queue fills or drains.
    let (from, to) = (ends.len() / 8, ends.len() * 3 / 4);
    (to - from) as f64 * 1e9 / (ends[to] - ends[from]) as f64
}

/// D20: n members of i writes per second each give n i, n i / 2, n i / 4, n i / 6.
fn small_writes() -> Vec<Row> {
    let (count, each) = (8, 1e9 / SERVICE_NS as f64);
    let row = |(level, name, writes): (Level, &str, f64)| {
        let found = write_rate(&mut array(level, 0, &Controller::UNLIMITED, toys(count)), 768, 10_000);
        let name = format!("array: small writes/s of 8 members of 10,000/s, {name}");
        Row::within(0.02, name, count as f64 * each / writes, found)
    };
    let levels = [
        (Level::Raid0, "raid0", 1.0),
        (Level::Raid10, "raid10", 2.0),
        (Level::Raid5, "raid5", 4.0),
        (Level::Raid6, "raid6", 6.0),
    ];
    levels.map(row).into()
}

/// On disks the write of a sector that was just read waits for a revolution, not for a seek: faster than n i / 4.
fn small_writes_on_disks() -> Vec<Row> {
    let one = write_rate(&mut array(Level::Raid0, 0, &Controller::UNLIMITED, disks(1)), 1, 2000);
    let five = write_rate(&mut array(Level::Raid5, 0, &Controller::UNLIMITED, disks(5)), 1, 1500);
    let revolution_ms = 60e3 / 7200.0;
    let theory = 1e3 / (1e3 / one + revolution_ms);
    let name = "array: small writes/s of raid5 on disks, depth 1: a random access (the slower of two) and a revolution";
    vec![Row::within(0.2, name, theory, five)]
}

/// Writes of whole rows read nothing and reach the rate of all members but one.
fn full_stripes() -> Vec<Row> {
    let mut five = array(Level::Raid5, 0, &Controller::UNLIMITED, toys(5));
    let row = 4 * CHUNK / 512;
    let ends = closed_loop(&mut five, RequestKind::Write, 8, 1000, |index| (index % 200 * row, row));
    let each = 1e9 / SERVICE_NS as f64;
    let rate = (ends.len() - 101) as f64 * 1e9 / (ends[ends.len() - 1] - ends[100]) as f64;
    vec![
        Row::exact("array: reads of members by writes of whole rows", 0.0, counter(&five, "member_reads")),
        Row::within(0.01, "array: data chunks/s of whole rows, raid5 of 5 members of 10,000/s", 4.0 * each, 4.0 * rate),
    ]
}

/// A write reads what is less: what it replaces and the parity, or the rest of the row.
fn cheaper_ways() -> Vec<Row> {
    let reads = |level, members: usize, chunks: u64| {
        let mut device = array(level, 0, &Controller::UNLIMITED, toys(members));
        let sectors = chunks * CHUNK / 512;
        closed_loop(&mut device, RequestKind::Write, 1, 1, |_| (0, sectors));
        counter(&device, "member_reads")
    };
    [
        ("raid5 of 8, one chunk: it and P", reads(Level::Raid5, 8, 1), 2.0),
        ("raid5 of 8, three chunks: they and P, or four others", reads(Level::Raid5, 8, 3), 4.0),
        ("raid5 of 8, five chunks: two others", reads(Level::Raid5, 8, 5), 2.0),
        ("raid5 of 3, one chunk: the other", reads(Level::Raid5, 3, 1), 1.0),
        ("raid6 of 8, one chunk: it, P and Q", reads(Level::Raid6, 8, 1), 3.0),
        ("raid6 of 4, one chunk: the other", reads(Level::Raid6, 4, 1), 1.0),
    ]
    .map(|(name, found, theory)| Row::exact(format!("array: reads before a write, {name}"), theory, found))
    .into()
}

/// A read of what the missing member held needs all others, any other one only its own.
fn degraded_reads() -> Vec<Row> {
    let mut device = array(Level::Raid5, 0, &Controller::UNLIMITED, toys(6));
    device.fail_member(2);
    let mut reads = |chunk: u64| {
        let before = counter(&device, "member_reads");
        let sectors = CHUNK / 512;
        closed_loop(&mut device, RequestKind::Read, 1, 1, |_| (chunk * sectors, sectors));
        counter(&device, "member_reads") - before
    };
    // Row 0 has its parity on the last member: chunk k lies on member k.
    let (lost, other) = (reads(2), reads(3));
    vec![
        Row::exact("array: members read for a lost chunk, raid5 of 6", 5.0, lost),
        Row::exact("array: members read for another chunk, degraded raid5 of 6", 1.0, other),
    ]
}

/// Let time pass until a gauge has this value; when, in ns.
fn until<M: ManagedDevice + Clone>(device: &mut Array<M>, is_reached: impl Fn(&Array<M>) -> bool) -> u64 {
    let mut out = Decisions::default();
    while !is_reached(device) {
        let Some(event) = device.next_event() else { break };
        let advanced = device.advance_to(event.at_ns + 1, &mut out);
        debug_assert!(advanced.is_ok());
    }
    device.now_ns()
}

/// A rebuild takes the capacity of the member over its rate.
fn rebuild() -> Vec<Row> {
    let controller = Controller { rebuild_mb_per_s: 50.0, ..Controller::UNLIMITED };
    let row = |(level, members, name): (Level, usize, &str)| {
        let mut device = array(level, 1, &controller, toys(members + 1));
        device.fail_member(1);
        let seconds = until(&mut device, |it| it.working_members() == members) as f64 / 1e9;
        let theory = f64::from(64 << 20) / 50e6;
        Row::within(0.01, format!("array: seconds of a rebuild of 64 MiB at 50 MB/s, {name}"), theory, seconds)
    };
    [(Level::Raid1, 2, "raid1"), (Level::Raid10, 4, "raid10"), (Level::Raid5, 4, "raid5"), (Level::Raid6, 5, "raid6")]
        .map(row)
        .into()
}

/// A stride of all chunks of a row meets one member: no faster than one.
fn strides() -> Vec<Row> {
    let rate = |stride: u64| {
        let mut device = array(Level::Raid0, 0, &Controller::UNLIMITED, toys(4));
        let sectors = device.capacity_bytes() / 512 - 8;
        let ends = closed_loop(&mut device, RequestKind::Read, 32, 4000, |index| (index * stride / 512 % sectors, 8));
        (ends.len() - 1) as f64 * 1e9 / (ends[ends.len() - 1] - ends[0]) as f64
    };
    let each = 1e9 / SERVICE_NS as f64;
    vec![
        Row::within(0.01, "array: reads/s of a stride of chunk times members, raid0 of 4", each, rate(4 * CHUNK)),
        Row::within(0.02, "array: reads/s of a stride of one chunk, raid0 of 4", 4.0 * each, rate(CHUNK)),
    ]
}

/// A member that stalls longer than the time-out is failed; the array answers without it, and a spare is rebuilt.
fn stalled_member() -> Vec<Row> {
    let stall = Some(Stall { every_ns: 4_000_000_000, length_ns: 3_900_000_000 });
    let member = |at: usize| {
        let faults = Faults { stall: stall.filter(|_| at == 1), ..Faults::default() };
        DisturbedDevice::faulty(ConstantTime::new(64 << 20, SERVICE_NS, 0), faults)
    };
    let rebuild_mb_per_s = 50.0;
    let controller = Controller {
        member_timeout_ns: Some(500_000_000),
        rebuild_mb_per_s,
        rebuild_busy_mb_per_s: rebuild_mb_per_s,
        ..Controller::UNLIMITED
    };
    let mut device = array(Level::Raid5, 1, &controller, (0..5).map(member).collect());
    // One read at a time: with more, the reads that other members still answer shorten the silence.
    let ends = closed_loop(&mut device, RequestKind::Read, 1, 2000, |index| (draw(3, index) % 40_000 * 8, 8));
    let longest = ends.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
    // The other members serve the first row of the rebuild, which has the lowest address, and then the read.
    let theory_ns = 500_000_000 + 2 * SERVICE_NS;
    until(&mut device, |it| it.working_members() == 4);
    vec![
        Row::exact("array: members failed by the time-out", 1.0, counter(&device, "members_failed")),
        Row::within(
            1e-6,
            "array: longest silence of a stall of 3.9 s with a time-out of 0.5 s, in s: it, a row of the rebuild, the read",
            theory_ns as f64 / 1e9,
            longest as f64 / 1e9,
        ),
        Row::exact("array: rebuilds completed after it", 1.0, counter(&device, "rebuilds_completed")),
    ]
}

/// A cut loses what a volatile cache holds, and nothing of one with a battery.
fn caches() -> Vec<Row> {
    let lost = |cache_power| {
        let controller = Controller { write_cache_bytes: 16 << 20, cache_power, ..Controller::UNLIMITED };
        let mut device = array(Level::Raid5, 0, &controller, toys(4));
        let mut out = Decisions::default();
        for tag in 0..100 {
            let (kind, offset_bytes, submit_ns) = (RequestKind::Write, tag * 4096, tag * 1000);
            let request = Request { kind, fua: false, offset_bytes, length_bytes: 4096, submit_ns };
            let submitted =
                device.advance_to(submit_ns, &mut out).and_then(|()| device.submit(Submission::new(request, Tag(tag))));
            debug_assert!(submitted.is_ok());
        }
        let cut = PowerCut { at_ns: 200_000, seed: 1 };
        let advanced = device.advance_to(cut.at_ns, &mut out);
        debug_assert!(advanced.is_ok() && out.completions.len() == 100);
        device.losses(0, device.capacity_bytes(), cut).map_or(f64::NAN, |it| it.len() as f64)
    };
    vec![
        Row::exact(
            "array: of 100 acknowledged writes lost by a cut, volatile cache",
            100.0,
            lost(CachePower::Volatile),
        ),
        Row::exact("array: of 100 acknowledged writes lost by a cut, battery", 0.0, lost(CachePower::Battery)),
    ]
}

const LEVELS: [(Level, usize, &str); 3] =
    [(Level::Raid1, 2, "raid1 of 2"), (Level::Raid5, 8, "raid5 of 8"), (Level::Raid6, 8, "raid6 of 8")];

/// Mean time to data loss: 10,000 simulated losses against the exact chain.
fn mean_times() -> Vec<Row> {
    let row = |(level, members, name): (Level, usize, &str)| {
        let chain = Reliability { level, members, failures_per_h: 1e-3, repairs_per_h: 0.02 };
        let found = chain.simulated_mean_h(10_000, 28);
        Row::within(0.03, format!("array: hours to data loss, {name}, 10,000 losses"), chain.mean_h(), found.mean)
    };
    LEVELS.map(row).into()
}

/// Probability of data loss within five years, members of 3 % a year restored within a day.
fn rare_losses() -> Vec<Row> {
    let row = |(level, members, name): (Level, usize, &str)| {
        let chain = Reliability { level, members, failures_per_h: 0.03 / 8760.0, repairs_per_h: 1.0 / 24.0 };
        let found = chain.simulated_loss_within(43_800.0, 200_000, 28);
        Row::within(
            0.03,
            format!("array: probability of data loss in 5 years, {name}"),
            chain.loss_within(43_800.0),
            found.mean,
        )
    };
    LEVELS.map(row).into()
}

#[cfg(test)]
mod tests {
    use super::{Row, stalled_member};

    #[test]
    fn the_silence_of_a_stalled_member_is_exact() {
        let rows = stalled_member();
        assert!(rows.iter().all(Row::holds), "{rows:?}");
    }
}
