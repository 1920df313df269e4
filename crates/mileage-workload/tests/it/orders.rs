//! Orders that are fixed: strides, backward, one spot, and IOzone's own, against closed forms and independent tables.

use super::driver::offsets;
use super::refusals::plain;
use mileage_workload::{Files, IorOrder, PatternKind, Stop, Workload};
use proptest::prelude::*;

/// `records` of 4 KiB, `passes` over them.
fn over(pattern: PatternKind, records: u64, passes: u64) -> Workload {
    let span_bytes = records * 4096;
    Workload { pattern, span_bytes, stop: Stop { bytes: Some(passes * span_bytes), ..Stop::default() }, ..plain() }
}

#[test]
fn backward_goes_from_the_end_to_the_start_and_fixed_stays() {
    assert_eq!(offsets(&over(PatternKind::Backward, 5, 2)), [4, 3, 2, 1, 0, 4, 3, 2, 1, 0]);
    assert_eq!(offsets(&over(PatternKind::Fixed, 5, 2)), [0; 10]);
    let two = |pattern| offsets(&Workload { threads: 2, ..over(pattern, 5, 1) });
    assert_eq!(two(PatternKind::Backward), [2, 1, 0, 4, 3]);
    assert_eq!(two(PatternKind::Fixed), [0, 0, 0, 3, 3]);
    assert_eq!(two(PatternKind::Sequential), [0, 1, 2, 3, 4]);
}

#[test]
fn a_stride_begins_again_at_the_first_record_not_yet_visited() {
    let stride = |step_records, records| offsets(&over(PatternKind::Stride { step_records }, records, 1));
    assert_eq!(stride(3, 8), [0, 3, 6, 1, 4, 7, 2, 5]);
    assert_eq!(stride(50, 4), [0, 1, 2, 3]);
    // The example of strided reading: 4 KiB of every 200 KiB.
    assert_eq!(stride(50, 200)[..5], [0, 50, 100, 150, 1]);
}

proptest! {
    #[test]
    fn a_stride_visits_every_record_once_per_pass(step_records in 1_u64..300, records in 1_u64..300) {
        let found = offsets(&over(PatternKind::Stride { step_records }, records, 2));
        for pass in found.chunks(records as usize) {
            let mut sorted = pass.to_vec();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..records).collect::<Vec<u64>>());
            let steps = pass.windows(2).filter(|pair| pair[1] == pair[0] + step_records).count() as u64;
            // One lane for each record of the first step; within a lane always the step.
            prop_assert_eq!(steps, records - step_records.min(records));
        }
    }
}

#[test]
fn iozones_shuffle_is_iozones() {
    // Made by an independent program from the published generator; its first eight were seen in a trace of IOzone.
    let wanted = [
        37, 33, 5, 0, 8, 35, 23, 18, 28, 19, 14, 2, 22, 15, 12, 16, 9, 4, 13, 6, 39, 29, 10, 36, 1, 20, 25, 32, 27, 26,
        7, 31, 30, 24, 3, 38, 21, 34, 11, 17,
    ];
    assert_eq!(offsets(&over(PatternKind::IozoneShuffle, 40, 1)), wanted);
    let other_seed = Workload { seed: 99, ..over(PatternKind::IozoneShuffle, 40, 1) };
    assert_eq!(offsets(&other_seed), wanted, "IOzone's seed is fixed");
    let long = offsets(&over(PatternKind::IozoneShuffle, 4096, 1));
    assert_eq!((&long[..3], &long[4093..]), (&[826, 56, 2232][..], &[1571, 1051, 3463][..]));
    assert_eq!(long.iter().zip(1..).map(|(record, place)| record * place).sum::<u64>(), 17_580_238_064);
    let children = Workload { threads: 2, files: Files::PerThread, ..over(PatternKind::IozoneShuffle, 40, 2) };
    assert_eq!(offsets(&children), [wanted, wanted].concat(), "every child walks the same order");
}

#[test]
fn iozones_stride_is_iozones() {
    let stride = |records| offsets(&over(PatternKind::IozoneStride { step_records: 17 }, records, 1));
    let wanted = [
        0, 17, 34, 1, 18, 35, 2, 19, 36, 3, 20, 37, 4, 21, 5, 22, 6, 23, 7, 24, 8, 25, 9, 26, 10, 27, 11, 28, 12, 29,
        13, 30, 14, 31, 15, 32, 16, 33, 17, 34,
    ];
    assert_eq!(stride(40), wanted);
    for (records, distinct) in [(64, 62), (4096, 4094)] {
        let mut found = stride(records);
        found.sort_unstable();
        found.dedup();
        assert_eq!(found.len(), distinct);
    }
    assert_eq!(stride(9), [0; 9], "a stride beyond the file stays at its first record");
    let again = offsets(&over(PatternKind::IozoneStride { step_records: 17 }, 40, 2));
    assert_eq!(again[40..], wanted, "each pass begins anew");
}

/// IOR's layout by its formula: segment `i`, transfer `j` of task `k` of `tasks`, in records.
fn ior_by_formula(segments: u64, block: u64, tasks: u64, task: u64) -> Vec<u64> {
    let place = |i, j| i * tasks * block + task * block + j;
    (0..segments).flat_map(|i| (0..block).map(move |j| place(i, j))).collect()
}

fn ior(order: IorOrder, files: Files, threads: u32, segments: u64, block: u64) -> Workload {
    let tasks = if files == Files::Shared { u64::from(threads) } else { 1 };
    let records = segments * block * tasks;
    let pattern = PatternKind::Ior { block_bytes: block * 4096, order };
    let operations = segments * block * u64::from(threads);
    let stop = Stop { operations: Some(operations), ..Stop::default() };
    Workload { threads, files, stop, ..over(pattern, records, 1) }
}

proptest! {
    #[test]
    fn ior_lays_out_by_its_formulas(threads in 1_u32..6, segments in 1_u64..6, block in 1_u64..9, shift in 1_u32..9) {
        let tasks = u64::from(threads);
        let of = |files, order| offsets(&ior(order, files, threads, segments, block));
        let all = |tasks_of: &dyn Fn(u64) -> Vec<u64>| (0..tasks).flat_map(tasks_of).collect::<Vec<u64>>();
        prop_assert_eq!(of(Files::Shared, IorOrder::InOrder), all(&|k| ior_by_formula(segments, block, tasks, k)));
        prop_assert_eq!(of(Files::PerThread, IorOrder::InOrder), all(&|_| ior_by_formula(segments, block, 1, 0)));
        let reordered = IorOrder::Reordered { tasks: shift };
        let moved = |k: u64| ior_by_formula(segments, block, tasks, (k + u64::from(shift)) % tasks);
        prop_assert_eq!(of(Files::Shared, reordered), all(&moved));
        let own = ior(reordered, Files::PerThread, threads, segments, block);
        prop_assert_eq!(offsets(&own), all(&|_| ior_by_formula(segments, block, 1, 0)));
        for thread in 0..threads {
            prop_assert_eq!(own.file_of(thread), (thread + shift) % threads);
        }
    }

    #[test]
    fn iors_random_order_covers_the_file_and_repeats_in_every_segment(threads in 1_u32..6, segments in 1_u64..6, block in 1_u64..20, seed in any::<u64>()) {
        let shared = Workload { seed, ..ior(IorOrder::Random, Files::Shared, threads, segments, block) };
        let mut found = offsets(&shared);
        let counts: Vec<u64> = (0..threads).map(|thread| shared.operations_of(thread)).collect();
        prop_assert_eq!(counts.iter().sum::<u64>(), found.len() as u64);
        prop_assert!(counts.iter().zip(0..).all(|(count, thread)| (*count).max(1) == shared.lap_operations(thread)));
        let first = &found[..counts[0] as usize];
        let segment = block * u64::from(threads);
        for (index, record) in first.iter().enumerate() {
            let per_segment = counts[0] / segments;
            prop_assert_eq!(*record, first[index % per_segment as usize] + index as u64 / per_segment * segment);
        }
        let odd = Workload { stop: Stop { operations: Some(3 * segment * segments + 7), ..Stop::default() }, ..shared };
        prop_assert_eq!(offsets(&odd).len() as u64, 3 * segment * segments + 7);
        found.sort_unstable();
        prop_assert_eq!(found, (0..segment * segments).collect::<Vec<u64>>());
        let own = offsets(&Workload { seed, ..ior(IorOrder::Random, Files::PerThread, threads, segments, block) });
        for part in own.chunks((segments * block) as usize) {
            for (i, within) in part.chunks(block as usize).enumerate() {
                let mut sorted: Vec<u64> = within.iter().map(|record| record - i as u64 * block).collect();
                let moved: Vec<u64> = part[..block as usize].iter().map(|record| record + i as u64 * block).collect();
                prop_assert_eq!(within, moved);
                sorted.sort_unstable();
                prop_assert_eq!(sorted, (0..block).collect::<Vec<u64>>());
            }
        }
    }
}
