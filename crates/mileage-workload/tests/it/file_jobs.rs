//! Work on files: the calls of each task in order, barriers between phases, operations as calls that belong together.

use mileage_workload::{
    CreateCall, FileCall, FileExecution, FileJob, FileOperation, FileOperationKind, FilePhase, FileStep, FileWork,
    Metadata, MetadataOp, OpenFile, OpenHow, Place, SetUp, Stop, Sync, Workload,
};

/// Do a job in which every call takes a nanosecond per byte and 10 more; tasks take turns from the last to the first. The calls
/// of each task, and the operations.
fn done(job: FileJob) -> (Vec<Vec<FileCall>>, Vec<FileOperation>) {
    let tasks = job.tasks();
    let mut execution = FileExecution::new(job).expect("a valid job");
    let mut calls = vec![Vec::new(); tasks as usize];
    let mut operations = Vec::new();
    let mut now_ns = vec![0_u64; tasks as usize];
    let mut ended = 0;
    while ended < tasks {
        ended = 0;
        for task in (0..tasks).rev() {
            let own = task as usize;
            match execution.next(task, now_ns[own]) {
                FileStep::Issue(call) => {
                    now_ns[own] += 10;
                    if let FileCall::Read { length, .. } | FileCall::Write { length, .. } = &call {
                        now_ns[own] += length;
                    }
                    calls[own].push(call);
                    operations.extend(execution.complete(task, now_ns[own], Ok(0)).expect("no call fails"));
                }
                FileStep::WaitUntil(at_ns) => now_ns[own] = at_ns,
                FileStep::AwaitBarrier => {}
                FileStep::Done => ended += 1,
            }
        }
    }
    (calls, operations)
}

fn created(files: u64, threads: u32) -> Metadata {
    Metadata { files, threads, place: Place::Given, ..Metadata::default() }
}

#[test]
fn creating_a_file_is_one_operation_of_several_calls() {
    let metadata =
        Metadata { file_bytes: (1 << 20) + 4096, fsync: true, create_with: CreateCall::Truncating, ..created(1, 1) };
    let job = FileJob::of_names("create", &[("d/".to_owned(), metadata)], 16).expect("a job");
    let (calls, operations) = done(job);
    let handle = 16;
    let path = "d/f0.0".to_owned();
    let how = OpenHow { create: true, truncate: true, ..OpenHow::default() };
    let expected = [
        FileCall::Open { path: path.clone(), handle, how },
        FileCall::Write { handle, offset: 0, length: 1 << 20 },
        FileCall::Write { handle, offset: 1 << 20, length: 4096 },
        FileCall::Sync { handle, data_only: false },
        FileCall::Close { handle },
        FileCall::Unlink { path, directory: false },
    ];
    assert_eq!(calls[0], expected);
    let timed: Vec<&FileOperation> = operations.iter().filter(|it| it.phase == 2).collect();
    assert_eq!(timed.len(), 1);
    assert_eq!((timed[0].kind, timed[0].bytes_written), (FileOperationKind::Metadata, (1 << 20) + 4096));
    assert_eq!(timed[0].ended_ns - timed[0].began_ns, 50 + (1 << 20) + 4096, "from the first call to the last");
}

#[test]
fn no_task_begins_a_phase_before_all_have_ended_the_one_before() {
    let metadata = Metadata { operation: MetadataOp::Stat, set_up: SetUp::First, ..created(7, 3) };
    let job = FileJob::of_names("stat", &[(String::new(), metadata)], 16).expect("a job");
    let (calls, operations) = done(job);
    let made = |task: usize| calls[task].iter().filter(|call| matches!(call, FileCall::Open { .. })).count();
    assert_eq!([made(0), made(1), made(2)], [7, 0, 0], "the first task makes everybody's files");
    let FileCall::Open { path, .. } = &calls[0][0] else { panic!("a file is opened first: {:?}", calls[0]) };
    assert_eq!(path, "f2.0", "those of the last task first");
    let order: Vec<usize> = operations.iter().map(|it| it.phase).collect();
    assert!(order.is_sorted(), "phases overlap: {order:?}");
    let stats = operations.iter().filter(|it| it.phase == 2).count();
    assert_eq!(stats, 7);
    assert!(calls.iter().all(|calls| matches!(calls.last(), Some(FileCall::Unlink { .. }))), "all is removed");
}

#[test]
fn records_are_those_of_the_workload_between_opening_and_closing() {
    let workload = Workload {
        record_bytes: 4096,
        span_bytes: 16384,
        threads: 2,
        read_percent: 0,
        stop: Stop { bytes: Some(32768), ..Stop::default() },
        sync: Sync::Fsync,
        sync_timed: true,
        files: mileage_workload::Files::PerThread,
        ..Workload::default()
    };
    let work = (0..2)
        .map(|thread| FileWork::Records {
            workload: Box::new(workload.clone()),
            thread,
            handle: 16 + thread,
            open: Some(OpenFile { path: format!("f.{thread}"), how: OpenHow::default() }),
            sync: false,
            close: true,
        })
        .collect();
    let phase = FilePhase { name: "write".to_owned(), timed: true, work };
    let (calls, operations) = done(FileJob { phases: vec![phase] });
    for (task, calls) in calls.iter().enumerate() {
        let handle = 16 + task as u32;
        let mut expected = vec![FileCall::Open { path: format!("f.{task}"), handle, how: OpenHow::default() }];
        expected.extend((0..4).map(|at| FileCall::Write { handle, offset: at * 4096, length: 4096 }));
        expected.extend([FileCall::Sync { handle, data_only: false }, FileCall::Close { handle }]);
        assert_eq!(calls, &expected);
    }
    let bytes: u64 = operations.iter().map(|it| it.bytes_written).sum();
    assert_eq!(bytes, 32768);
}

#[test]
fn a_failed_call_ends_the_job_unless_it_is_tolerated() {
    let job = |tolerant| {
        let calls = vec![FileCall::Mkdir { path: "d".to_owned() }, FileCall::Stat { path: "d".to_owned() }];
        let work = vec![FileWork::Calls { calls, tolerant }];
        FileExecution::new(FileJob { phases: vec![FilePhase { name: "x".to_owned(), timed: false, work }] })
            .expect("a job")
    };
    for tolerant in [true, false] {
        let mut execution = job(tolerant);
        assert!(matches!(execution.next(0, 0), FileStep::Issue(FileCall::Mkdir { .. })));
        let outcome = execution.complete(0, 1, Err("EEXIST"));
        assert_eq!(outcome.is_ok(), tolerant);
        let next = execution.next(0, 1);
        assert_eq!(matches!(next, FileStep::Issue(FileCall::Stat { .. })), tolerant, "{next:?}");
    }
}

/// The work of one task on an open file, with an `fsync` at its end.
fn records(workload: Workload) -> FileWork {
    FileWork::Records { workload: Box::new(workload), thread: 0, handle: 16, open: None, sync: true, close: true }
}

#[test]
fn reads_are_followed_by_a_sync_where_one_is_asked_for() {
    let workload = Workload {
        record_bytes: 4096,
        span_bytes: 4096,
        read_percent: 100,
        stop: Stop { bytes: Some(4096), ..Stop::default() },
        ..Workload::default()
    };
    let phase = FilePhase { name: "read".to_owned(), timed: true, work: vec![records(workload)] };
    let (calls, operations) = done(FileJob { phases: vec![phase] });
    let handle = 16;
    let expected = [
        FileCall::Read { handle, offset: 0, length: 4096 },
        FileCall::Sync { handle, data_only: false },
        FileCall::Close { handle },
    ];
    assert_eq!(calls[0], expected);
    let kinds: Vec<_> = operations.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [FileOperationKind::Read, FileOperationKind::Sync, FileOperationKind::Close]);
}

#[test]
fn a_pause_of_one_task_delays_the_next_phase_of_all() {
    let stat = || FileWork::Calls { calls: vec![FileCall::Stat { path: "a".to_owned() }], tolerant: false };
    let phase = |work| FilePhase { name: "x".to_owned(), timed: false, work };
    let pause = phase(vec![FileWork::Pause(1000), FileWork::Rest]);
    let (_, operations) = done(FileJob { phases: vec![phase(vec![stat(), stat()]), pause, phase(vec![stat()])] });
    let began_ns: Vec<_> = operations.iter().map(|it| (it.phase, it.began_ns)).collect();
    assert_eq!(began_ns, [(0, 0), (0, 0), (2, 1010)]);
}

#[test]
fn more_than_one_operation_at_a_time_is_refused() {
    let workload = Workload {
        depth: 2,
        span_bytes: 16384,
        stop: Stop { bytes: Some(16384), ..Stop::default() },
        ..Workload::default()
    };
    let work = vec![records(workload)];
    let job = FileJob { phases: vec![FilePhase { name: "x".to_owned(), timed: true, work }] };
    let error = job.check().expect_err("refused");
    assert_eq!(error.to_string(), "depth of work on files is 2: expected 1 to 1");
}
