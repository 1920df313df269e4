"""fio's options that `mileage fio` honours; every other one is refused by its name.

Scope: the same options on the command line and in job files; an option without a value is on.
"""

from __future__ import annotations

from typing import Final

from mileage.dropin.fio_words import OTHER_OPTIONS
from mileage.dropin.flags import Flag, Tool

_ALONE: Final = (
    *("norandommap", "time_based", "verify_only", "exitall", "exitall_on_error", "stonewall", "new_group"),
    *("thread", "group_reporting", "zero_buffers", "refill_buffers", "minimal", "cmdhelp", "bandwidth-log"),
)
"""Options that are on by themselves; the value of any other stands behind `=`, or is the next word, as with fio."""


def _option(
    name: str, summary: str, value: str = "VALUE", example: str = "1", *also: str, ignored: str = ""
) -> Flag:
    """An option of jobs."""
    spellings = tuple(f"--{other}" for other in also)
    return Flag(
        f"--{name}",
        summary,
        value,
        also=spellings,
        example=example,
        optional=True,
        spaced=name not in _ALONE,
        ignored=ignored,
    )


_OUTPUT: Final = (
    _option("output", "Write the results to FILE.", "FILE", "out.txt"),
    _option("output-format", "normal, terse, json or json+, several joined by commas.", "FORMAT", "json"),
    _option("minimal", "Terse output, as --output-format=terse.", "ON"),
    _option("terse-version", "Version of the terse output: 2, 3, 4 or 5; default 3.", "N", "3"),
    _option("eta", "When progress is shown.", "WHEN", "never", ignored="no progress is shown"),
    _option(
        "eta-newline", "Time between two lines of progress.", "TIME", "1", ignored="no progress is shown"
    ),
    _option("status-interval", "Print the results so far, all TIME.", "TIME", "1s"),
    _option("section", "Do only the job of this name.", "NAME", "job"),
    _option("runtime", "End each job after this time.", "TIME", "1", "timeout"),
    Flag("--parse-only", "Read the jobs and end."),
    Flag("--readonly", "Refuse jobs that write."),
    _option(
        "cmdhelp",
        "Say what an option of jobs does, or all; of one that is refused, that there is none.",
        "NAME",
    ),
    _option(
        "bandwidth-log",
        "A log of the rate of all jobs.",
        "ON",
        "0",
        ignored="no log of all jobs together is written",
    ),
)
_JOB: Final = (
    _option("name", "Begin a job.", "NAME", "job"),
    _option("description", "Text of the job.", "TEXT", "text"),
    _option(
        "rw",
        "read, write, rw, randread, randwrite or randrw; read:SKIP, write:SKIP; randread:N and the like, N operations "
        "from each random place; trim, randtrim, trimwrite or randtrimwrite of block devices.",
        "MODE",
        "randread",
        "readwrite",
    ),
    _option("rw_sequencer", "With randread:N: sequential, or identical places.", "ORDER", "sequential"),
    _option("bs", "Block size; READ,WRITE may differ.", "SIZE", "4k", "blocksize"),
    _option("bssplit", "Sizes with shares, SIZE/PERCENT:...; READ,WRITE may differ.", "LIST", "4k/50:8k/50"),
    _option("bsrange", "Sizes from MIN to MAX, in steps of MIN.", "MIN-MAX", "4k-16k", "blocksize_range"),
    _option("size", "Bytes of all files of a job, or percent of files that are there.", "SIZE", "1m"),
    _option("filesize", "Bytes of each file.", "SIZE", "1m"),
    _option("io_size", "Bytes to move in all files, or percent of the size.", "SIZE", "1m", "io_limit"),
    _option("number_ios", "Operations to do at most in all files.", "N", "10"),
    _option("offset_align", "Alignment of an offset in percent; default: the block.", "SIZE", "4k"),
    _option("offset", "First byte, or percent of a file that is there.", "SIZE", "0"),
    _option(
        "offset_increment",
        "Added to the offset for each further copy of numjobs; bytes or percent.",
        "SIZE",
        "1m",
    ),
    _option("filename", "Files or devices, joined by colons.", "NAMES", "file"),
    _option(
        "filename_format", "Names made of $jobname, $jobnum and $filenum.", "FORMAT", "f.$jobnum.$filenum"
    ),
    _option("directory", "Directory of the files.", "DIR", "."),
    _option("nrfiles", "Files of a job.", "N", "1"),
    _option(
        "openfiles",
        "Files of a job that are open at the same time.",
        "N",
        "1",
        ignored="a file is open while it is worked on",
    ),
    _option("file_service_type", "sequential; roundrobin is taken and noted.", "TYPE", "sequential"),
    _option(
        "ioengine",
        "psync, sync, pvsync, pvsync2, vsync, libaio, posixaio, io_uring, mmap, null, cpuio, filecreate, filestat or "
        "filedelete.",
        "ENGINE",
        "psync",
    ),
    _option("iodepth", "Outstanding operations of an asynchronous engine.", "N", "4"),
    _option("iodepth_batch", "Operations submitted with one call at most.", "N", "1", "iodepth_batch_submit"),
    _option(
        "iodepth_batch_complete",
        "Completions that are waited for at least.",
        "N",
        "1",
        "iodepth_batch_complete_min",
        ignored="the engine takes completions as they come",
    ),
    _option(
        "iodepth_batch_complete_max",
        "Completions that are taken at most.",
        "N",
        "1",
        ignored="the engine takes completions as they come",
    ),
    _option(
        "iodepth_low",
        "Depth down to which completions are taken.",
        "N",
        "1",
        ignored="the engine keeps the depth",
    ),
    _option("direct", "Bypass the page cache.", "ON", "1"),
    _option("buffered", "0 is direct=1.", "ON", "1"),
    _option(
        "fadvise_hint",
        "Order of reads that the kernel is to expect: 1, that of the job (default); random; sequential; 0, none.",
        "ORDER",
        "0",
    ),
    _option("invalidate", "Drop the files from the page cache before each pass.", "ON", "1"),
    _option("sync", "none, or sync and dsync (O_DSYNC in both cases).", "KIND", "0"),
    _option("fsync", "fsync after every N writes.", "N", "0"),
    _option("fdatasync", "fdatasync after every N writes.", "N", "0"),
    _option("end_fsync", "fsync at the end.", "ON", "1"),
    _option("fsync_on_close", "fsync at the end, not in the time of the job.", "ON", "1"),
    _option("io_submit_mode", "inline or offload.", "MODE", "inline", ignored="the job submits by itself"),
    _option(
        "serialize_overlap",
        "Wait with an operation whose place another one is working on.",
        "ON",
        "1",
        ignored="places of a pass do not overlap; those of two passes are not looked at",
    ),
    _option(
        "verify_async_cpus",
        "Processors of the threads that compare.",
        "LIST",
        "0",
        ignored="the job compares by itself",
    ),
    _option("blockalign", "Alignment of places; the block, as by default.", "SIZE", "4k", "ba"),
    _option("continue_on_error", "none.", "KIND", "none"),
    _option(
        "exitall_on_error", "End all jobs when one has failed.", "ON", "0", ignored="the other jobs continue"
    ),
    _option(
        "experimental_verify",
        "Verify from the order of places.",
        "ON",
        "0",
        ignored="places are compared in the order of writing in any case",
    ),
    _option("numjobs", "Copies of the job that run at the same time.", "N", "2"),
    _option("thread", "Copies of a job are threads.", "ON", "1", "threads", ignored="jobs are processes"),
    _option("group_reporting", "One result for all jobs of a group.", "ON", "1"),
    _option("new_group", "Begin a group of results.", "ON", "1"),
    _option("stonewall", "Wait for the jobs before.", "ON", "1", "wait_for_previous"),
    _option("wait_for", "Wait for all copies of the job of this name.", "NAME", "job"),
    _option("exit_what", "With exitall: group, stonewall or all.", "SCOPE", "group"),
    _option("cpuload", "Percent of a processor that the engine cpuio uses.", "PERCENT", "50"),
    _option("cpuchunks", "Busy part of a cycle of cpuio in microseconds.", "TIME", "50000"),
    _option("cpumode", "noop or qsort.", "KIND", "noop", ignored="cpuio is a loop of the interpreter"),
    _option("stat_type", "Call of the engine filestat: stat or lstat.", "CALL", "stat"),
    _option("write_iolog", "Write the operations to FILE (version 3).", "FILE", "iolog"),
    _option("exitall", "End all jobs of a group when one has ended.", "ON", "0"),
    _option("startdelay", "Rest before the job.", "TIME", "0", "start_delay"),
    _option("time_based", "Repeat until the time is over.", "ON", "1"),
    _option("ramp_time", "Time at the start that is not counted.", "TIME", "0"),
    _option("loops", "Repeat the work.", "N", "1"),
    _option("rwmixread", "Percent of reads.", "PERCENT", "50"),
    _option("rwmixwrite", "Percent of writes.", "PERCENT", "50"),
    _option(
        "rate",
        "Bytes per second of a job at most, for each direction; READ,WRITE may differ; 0: no limit.",
        "SIZE",
        "1m",
    ),
    _option("rate_iops", "Operations per second likewise.", "N", "1000"),
    _option("rate_process", "linear or poisson.", "KIND", "linear"),
    _option("thinktime", "Pause; microseconds.", "TIME", "10"),
    _option("thinktime_blocks", "Operations between two pauses.", "N", "1"),
    _option("norandommap", "Places may come again before all were visited.", "ON", "1"),
    _option("random_distribution", "random, zipf:THETA or zoned.", "KIND", "random"),
    _option("percentage_random", "Percent of places that are random.", "PERCENT", "100"),
    _option(
        "random_generator",
        "Generator of places.",
        "NAME",
        "lfsr",
        ignored="places follow from the seed by the engine's own generator",
    ),
    _option("randrepeat", "0: the seed is the time.", "ON", "1", "allrandrepeat"),
    _option("randseed", "The seed.", "N", "1", "random_seed"),
    _option(
        "verify",
        "Read back what was written and compare it whole, whatever the kind of checksum; null reads back only.",
        "KIND",
        "crc32c",
    ),
    _option("do_verify", "0: do not read back.", "ON", "1"),
    _option(
        "verify_only",
        "Only compare what an equal job has written; its writes are counted, as in fio.",
        "ON",
        "0",
    ),
    _option(
        "verify_fatal",
        "End the job at a difference.",
        "ON",
        "1",
        ignored="differences are counted to the end of the file",
    ),
    _option("verify_async", "Threads that compare.", "N", "1", ignored="the job compares by itself"),
    _option(
        "verify_dump",
        "Write blocks that differ to files.",
        "ON",
        "0",
        ignored="differences are listed on standard error",
    ),
    _option(
        "verify_backlog",
        "Blocks to write before they are compared.",
        "N",
        "1",
        ignored="what was written is compared when all is",
    ),
    _option(
        "verify_state_save",
        "Save what was written as local-NAME-N-verify.state; on by default in fio.",
        "ON",
        "0",
        ignored="no state is saved: it has fio's generators of places, which are not Mileage's",
    ),
    _option(
        "verify_pattern",
        "Data of the blocks, besides what is compared.",
        "PATTERN",
        "0xff",
        ignored="blocks have the engine's own data, which are compared whole",
    ),
    _option(
        "verify_interval",
        "Part of a block with a checksum of its own.",
        "SIZE",
        "4k",
        ignored="every block is compared whole",
    ),
    _option("zero_buffers", "Write zeros.", "ON", "1"),
    _option(
        "buffer_pattern",
        "Write one byte over and over: 0xaa, 170 or a quoted letter; any with null.",
        "BYTE",
        "0xaa",
    ),
    _option("refill_buffers", "New data for each write.", "ON", "1"),
    _option(
        "scramble_buffers",
        "Each write changes some words of every sector, to its offset and pass (fio: offset and time); default 1.",
        "ON",
        "0",
    ),
    _option("buffer_compress_percentage", "Percent that a compressor saves.", "PERCENT", "50"),
    _option("dedupe_percentage", "Percent of blocks that equal another.", "PERCENT", "50"),
    _option("fallocate", "native; none and truncate: files grow as they are written.", "KIND", "none"),
    _option("overwrite", "Write the files before.", "ON", "1"),
    _option("create_fsync", "Sync a file that was laid out; unless given, yes.", "ON", "0"),
    _option(
        "create_on_open",
        "Make a file when it is opened.",
        "ON",
        "1",
        ignored="files are made before the jobs begin",
    ),
    _option(
        "create_serialize",
        "Make files one job at a time.",
        "ON",
        "1",
        ignored="files are made one after the other",
    ),
    _option("create_only", "Only make the files.", "ON", "0"),
    _option("unlink", "Remove the files at the end.", "ON", "0"),
    _option("cpus_allowed", "Processors of the job.", "LIST", "0"),
    _option("cpus_allowed_policy", "shared, or split: one processor for each copy.", "KIND", "shared"),
    _option("registerfiles", "Registered files of io_uring.", "ON", "1"),
    _option("fixedbufs", "Registered buffers of io_uring.", "ON", "1"),
    _option("sqthread_poll", "A thread of the kernel submits.", "ON", "0"),
    _option("hipri", "Completions are polled for.", "ON", "0"),
    _option("gtod_reduce", "Print no latencies; times are taken all the same.", "ON", "1"),
    _option("disable_slat", "Print no latencies of submission.", "ON", "1"),
    _option("disable_clat", "Print no latencies of completion.", "ON", "1"),
    _option("disable_lat", "Print no whole latencies.", "ON", "1"),
    *(
        _option(name, "Measure no rates of intervals.", "ON", "1", ignored="fio 3.33 measures them too")
        for name in ("disable_bw", "disable_bw_measurement")
    ),
    _option("clat_percentiles", "Percentiles of completion; on by default.", "ON", "0"),
    _option("lat_percentiles", "Percentiles of whole latencies.", "ON", "0"),
    _option("slat_percentiles", "Percentiles of submission.", "ON", "0"),
    _option("percentile_list", "Percentiles to print, joined by colons.", "LIST", "50:99"),
    _option("write_bw_log", "Write rates of intervals to NAME_bw.N.log.", "NAME", "log"),
    _option("write_iops_log", "Write operations per second of intervals to NAME_iops.N.log.", "NAME", "log"),
    _option(
        "write_lat_log",
        "Write mean whole latencies of intervals to NAME_lat.N.log and NAME_clat.N.log; NAME_slat.N.log is empty.",
        "NAME",
        "log",
    ),
    _option("log_avg_msec", "Interval of the logs; default and least: 10 ms.", "MS", "500"),
    _option("log_offset", "A column of offsets in the logs, 0.", "ON", "0"),
    _option("per_job_logs", "0: the logs have no number.", "ON", "0"),
    _option("unified_rw_reporting", "none, mixed: reads and writes as one result, or both.", "KIND", "mixed"),
    _option("kb_base", "1024 or 1000.", "N", "1024"),
    _option("unit_base", "8 (bytes), or 0 for the default.", "N", "0"),
    _option(
        "bwavgtime",
        "Interval of the rates of which least, mean and greatest are printed; default 500 ms.",
        "MS",
        "500",
    ),
    _option(
        "iopsavgtime", "Likewise, of operations.", "MS", "500", ignored="the interval is that of bwavgtime"
    ),
)

FIO: Final = Tool(
    name="fio",
    title="fio's jobs, from job files or the command line, with fio's output.",
    flags=(
        *_OUTPUT,
        *_JOB,
        Flag("--version", "Print the version of fio that is followed.", also=("-v",)),
        Flag("-h", "Show the flags."),
        Flag(
            "--server", "Works for a client.", "HOST", instead="one `mileage` on each machine.", optional=True
        ),
        Flag(
            "--client", "Has servers work.", "HOST", instead="one `mileage` on each machine.", optional=True
        ),
        *(
            Flag(f"--{name}", what, "VALUE", instead=instead, optional=True)
            for name, what, instead in (
                ("rate_min", "Ends a job that is too slow.", "omit it, and look at the rate."),
                ("ratemin", "Ends a job that is too slow.", "omit it, and look at the rate."),
                ("write_hist_log", "Writes histograms.", "`mileage measure -t TARGET --save DIR`."),
                ("read_iolog", "Replays a trace.", "`mileage measure -t TARGET -w trace:FILE`."),
                ("zonemode", "Works on zones.", "a job without zones."),
                ("steadystate", "Ends at a steady state.", "a study with stop.steady."),
                ("flow", "Couples jobs.", "rate_iops."),
                ("latency_target", "Seeks a rate.", "`mileage measure -t TARGET --latency-target p99=1ms`."),
            )
        ),
    ),
    usage="[JOB.fio ...] [--name=JOB --rw=... ...]",
    operands="job files",
    others=OTHER_OPTIONS,
    single_dash=True,
    notes=(
        "Jobs of a group run at the same time, each a process; variables such as ${SIZE} in a job file come "
        "from the environment. Several files of a job are worked on one after the other, fio takes turns. A file that "
        "is read and is not there is written before, as fio does. The state of a verification is not saved. "
        "Devices and files that are only read need no "
        "permission; a device, and a file of somebody else with content, is written only with --destroy PATH.",
        "libaio, io_uring and posixaio are done by io_uring: slat is until its call has returned, clat from there on. "
        "libaio through the page cache is done in the call itself, as by the kernel's libaio. "
        "Standard deviations come from a histogram whose buckets are 0.4 % wide. An option of fio that is not listed "
        "is refused with 2.",
    ),
    examples=(
        "--name=a --rw=randrw --bs=4k --size=1m --numjobs=2 --group_reporting",
        "--name=a --rw=write --size=1m --output-format=json",
    ),
)
