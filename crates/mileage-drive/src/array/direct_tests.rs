//! Arrays whose members are asked directly against the same arrays step by step: the same completions, records, counters and
//! states.

use super::{Answers, Array, ArrayParts, DirectArray, DirectMember};
use crate::block_device::BlockDevice;
use crate::device_kinds::Device;
use crate::flash::shadow::small_profile;
use crate::profile::{Basics, Controller, Discards, Faults, Level, Profile, Protocol, capacity_bytes};
use crate::run::{run_driven, run_general};
use crate::single_host::SingleHost;
use crate::splitmix::draw;
use mileage_measure::RunRecord;
use mileage_workload::{Cap, Completion, Load, Observer, Open, PatternKind, Spacing, Stop, Sync, Think, Workload};

const DISK: &str = include_str!("../../../../profiles/drives/sas-15k.toml");
const XPOINT: &str = include_str!("../../../../profiles/drives/optane-16gb.toml");
const CHUNK: u64 = 16_384;
/// Pages of a flash member.
const PAGES: u64 = 192;

/// Numbers of a fixed sequence.
struct Draw(u64, u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.1 += 1;
        draw(self.0, self.1) % limit
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize].clone()
    }
}

fn flash(with: &mut Draw) -> Profile {
    let kinds: [&[(&str, &str)]; 6] = [
        &[],
        &[("write_buffer_pages", "8"), ("write_buffer_power", "\"volatile\""), ("trim", "\"refused\"")],
        &[("write_buffer_pages", "4"), ("write_buffer_power", "\"protected\"")],
        &[("gc_idle_free_blocks", "4"), ("gc_idle_after_us", "100.0")],
        &[("bit_error_rate", "0.003"), ("ecc_codeword_bytes", "1024"), ("ecc_correctable_bits", "40")],
        &[("gc_pace", "\"paced\""), ("flush_us", "30.0")],
    ];
    let more: Vec<(&str, String)> = with.of(&kinds).iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
    small_profile((2, 16, 8), 4096, PAGES * 4096, &more).into()
}

fn array(with: &mut Draw) -> SingleHost<Array<Device>> {
    let (level, count) = (with.of(&[Level::Raid0, Level::Raid0, Level::Jbod]), 1 + with.below(5) as usize);
    let kind = with.below(6);
    let member = |with: &mut Draw| {
        Device::new(match kind {
            0 => Profile::parse(XPOINT).expect("a profile that ships"),
            1 | 2 => Profile::parse(DISK).expect("a profile that ships"),
            _ => flash(with),
        })
    };
    let devices: Vec<Device> = (0..count).map(|_| member(with)).collect();
    let capacities: Vec<u64> = devices.iter().map(BlockDevice::capacity_bytes).collect();
    let basics = Basics {
        name: "array".to_owned(),
        title: "Array".to_owned(),
        capacity_bytes: capacity_bytes(level, CHUNK, &capacities),
        rated_write_bytes: None,
        faults: Faults::default(),
        figures: Vec::new(),
        rates: Vec::new(),
    };
    let controller =
        Controller { member_cache: with.below(3) > 0, passes_flushes: with.below(3) > 0, ..Controller::UNLIMITED };
    let discards = with.of(&[Discards::Honoured, Discards::Ignored, Discards::Refused]);
    let protocols = vec![Protocol::Other; count];
    let parts = ArrayParts { basics, level, chunk_bytes: CHUNK, controller, discards, protocols, spares: 0 };
    SingleHost::new(Array::new(parts, devices))
}

fn workload(with: &mut Draw, capacity_bytes: u64) -> Workload {
    let record_bytes = with.of(&[512, 4096, 8192, 49_152]);
    let records = capacity_bytes.min(4 << 20) / u64::from(record_bytes);
    let threads = 1 + with.below(2) as u32 * with.below(3) as u32;
    let load = match with.below(5) {
        0 => Load {
            open: Some(Open { operations_per_s: 9_000, spacing: Spacing::Poisson, ramp: None }),
            ..Load::default()
        },
        1 => Load { cap: Some(Cap::OperationsPerS(20_000)), warm_up_ns: 700_000, ..Load::default() },
        2 => Load { think: Some(Think { pause_ns: 300_000, every_operations: 5 }), ..Load::default() },
        _ => Load::default(),
    };
    Workload {
        pattern: with.of(&[PatternKind::Random, PatternKind::Sequential]),
        read_percent: with.of(&[0, 50, 100]),
        record_bytes,
        span_bytes: records * u64::from(record_bytes),
        depth: with.of(&[1, 4, 33]),
        threads,
        stop: Stop { operations: Some(20 + with.below(400)), ..Stop::default() },
        seed: with.below(1 << 40),
        sync: with.of(&[Sync::None, Sync::Fsync, Sync::Fua]),
        sync_every: with.of(&[0, 7]),
        discard_percent: with.of(&[0, 0, 10]),
        load,
        ..Workload::default()
    }
}

#[derive(Default)]
struct Completions(Vec<(u64, u64, u64, u32, u64, u32, bool)>);

impl Observer for Completions {
    fn completed(&mut self, it: &Completion) {
        let Completion { thread, op, due_ns, submit_ns, complete_ns, counted } = *it;
        self.0.push((complete_ns, submit_ns, due_ns, thread, op.offset_bytes, op.length_bytes, counted));
    }
}

/// The state, without what is remembered of writes that can no longer be lost.
fn state(host: &SingleHost<Array<Device>>) -> Vec<u8> {
    let mut array = host.device().clone();
    array.forget_durable();
    array.save()
}

/// Run a workload without steps.
fn run_directly(host: &mut SingleHost<Array<Device>>, workload: &Workload, seen: &mut Completions) -> RunRecord {
    let (array, writes) = host.parts_mut();
    if let Some(device) = DirectArray::<_, true>::new(array, writes) {
        return run_driven(device, workload, seen, &mut |_, _| false).unwrap();
    }
    let device = DirectArray::<_, false>::new(array, writes).expect("plain controllers and members that cannot fail");
    run_driven(device, workload, seen, &mut |_, _| false).unwrap()
}

#[test]
fn arrays_do_directly_what_they_do_step_by_step() {
    let mut runs = 0;
    for seed in 0..150 {
        let with = &mut Draw(seed, 0);
        let mut fast = array(with);
        let mut slow = fast.clone();
        for round in 0..3 {
            let workload = workload(with, fast.device().capacity_bytes());
            if workload.check().is_err() {
                continue;
            }
            let (mut seen, mut expected) = (Completions::default(), Completions::default());
            let mut found = run_directly(&mut fast, &workload, &mut seen);
            let mut right = run_general(&mut slow, &workload, &mut expected, &mut |_, _| false).unwrap();
            if workload.depth * workload.threads > 1 && (workload.sync_every > 0 || workload.load.warm_up_ns > 0) {
                // An interval is closed by the first counted operation that ends behind it; of those that end with it some
                // may have been followed by others already, which only the array without steps has counted.
                found.series.counters.clear();
                right.series.counters.clear();
            }
            let which = format!("seed {seed}, round {round}: {workload:?}");
            assert_eq!(seen.0, expected.0, "{which}");
            assert_eq!(found, right, "{which}");
            assert!(state(&fast) == state(&slow), "other states, {which}");
            runs += 1;
            if found.error.is_some() {
                break;
            }
        }
    }
    assert!(runs > 250, "{runs} runs");
}

#[test]
fn other_arrays_take_the_steps() {
    let is_direct = |change: fn(&mut Controller)| {
        let mut host = array(&mut Draw(1, 0));
        change(&mut host.device_mut().fixed.controller);
        let (array, writes) = host.parts_mut();
        DirectArray::<_, true>::new(array, writes).is_some() || DirectArray::<_, false>::new(array, writes).is_some()
    };
    assert!(is_direct(|_| {}));
    assert!(!is_direct(|it| it.host_mb_per_s = Some(100.0)));
    assert!(!is_direct(|it| it.command_ns = 1));
    assert!(!is_direct(|it| it.member_timeout_ns = Some(1)));
    assert!(!is_direct(|it| it.write_cache_bytes = 1 << 20));
    let worn = [("end_of_life", "\"read-only\"".to_owned()), ("pe_cycles", "3000".to_owned())];
    let member = Device::new(small_profile((2, 16, 8), 4096, PAGES * 4096, &worn));
    assert_eq!(member.answers(), Answers::Uncertain);
}
