"""Words of fio 3.33 that `mileage fio` does not take: by them a refusal by Mileage differs from one by fio itself.

Scope: names of options, as `--cmdhelp`, `--enghelp` and `--help` list them, and words of options that have few.
"""

from __future__ import annotations

from typing import Final

_NAMES: Final = """
alloc-size allow_file_create allow_mounted_write atomic aux-path block_error_percentiles bs_unaligned
buffer_compress_chunk busy_poll cgroup cgroup_nodelete cgroup_weight client clientname clocksource
clustername cmd_type cmdprio cmdprio_bssplit cmdprio_class cmdprio_percentage conf cpuclock-test cpumask crctest
daemonize debug dedupe_global dedupe_mode dedupe_working_set_percentage disk_util enghelp error_dump exec_postrun
exec_prerun exit_on_io_done file_append fill_device flow flow_id flow_sleep force_async gtod_cpu
hipri_percentage hostname hugepage-size idle-prof ignore_error ignore_zone_limits inflate-log interface ioscheduler
job_max_open_zones latency_percentile latency_run latency_target latency_window listen lockfile lockmem
log_alternate_epoch log_alternate_epoch_clock_id log_compression log_compression_cpus log_entries
log_hist_coarseness log_hist_msec log_max_value log_prio log_store_compressed log_unix_epoch max-jobs max_latency
max_open_zones mem merge-blktrace-only merge_blktrace_file merge_blktrace_iters merge_blktrace_scalars mss nice
nodelay nonvectored nowait numa_cpu_nodes numa_mem_policy opendir pingpong pool port pre_read prio prioclass profile
protocol rate_cycle rate_ignore_thinktime rate_iops_min rate_min ratemin read_beyond_wp read_iolog
read_iolog_chunked readfua remote-config replay_align replay_no_stall replay_redirect replay_scale
replay_skip replay_time_scale server sg_write_mode showcmd significant_figures sqthread_poll_cpu ss ss_dur
ss_ramp stats program arguments grace_time std_redirect
steadystate steadystate_duration steadystate_ramp_time stream_id sync_file_range
thinktime_blocks_type thinktime_iotime thinktime_spin thp touch_objects trigger trigger-file trigger-remote
trigger-timeout trim_backlog trim_backlog_batch trim_percentage trim_verify_zero ttl uid gid uncached
unique_filename unlink_each_loop userspace_reap verify_backlog_batch verify_offset verify_state_load warnings-fatal
window_size write_barrier write_hint write_hist_log writefua zone_reset_frequency zone_reset_threshold zonecapacity
zonemode zonerange zonesize zoneskip
"""
OTHER_OPTIONS: Final = frozenset(f"--{name}" for name in _NAMES.split())
"""Options of fio that are not among the flags of `mileage fio`, or are refused there."""

WORDS: Final = {
    "rw": "read write trim randread randwrite randtrim rw readwrite randrw trimwrite randtrimwrite",
    "ioengine": "cpuio mmap sync psync vsync pvsync pvsync2 null net netsplice ftruncate filecreate filestat "
    "filedelete exec posixaio falloc e4defrag splice gfapi gfapi_async mtd sg io_uring io_uring_cmd nbd "
    "libaio rdma rados rbd http pmemblk dev-dax libpmem external",
    "verify": "0 md5 crc64 crc32 crc32c crc32c-intel crc16 crc7 sha1 sha256 sha512 sha3-224 sha3-256 sha3-384 sha3-512 "
    "xxhash pattern pattern_hdr meta null",
    "continue_on_error": "none read write io verify all 0 1",
    "unified_rw_reporting": "none mixed both 0 1",
    "sync": "none 0 sync 1 dsync",
    "fallocate": "none posix keep truncate native 0 1",
    "file_service_type": "random roundrobin sequential zipf pareto normal gauss",
    "random_distribution": "random zipf pareto normal zoned zoned_abs",
    "unit_base": "0 1 8",
    "fadvise_hint": "0 1 random sequential",
}
"""Words that fio takes for an option; what follows a colon is looked at elsewhere."""
_ANY_VALUE: Final = ("bssplit", "cpus_allowed", "cpuload", "wait_for", "offset", "offset_increment")
"""Options of which fio takes, or reads in its own way, what Mileage refuses."""
_SWITCHES: Final = (
    *("thread", "group_reporting", "stonewall", "new_group", "time_based", "zero_buffers"),
    *("refill_buffers", "norandommap", "exitall"),
)
"""Options that any number turns on."""


def accepts(key: str, value: str, code: str) -> bool:
    """Whether fio takes a value that Mileage refuses by that code, as far as is known."""
    if code == "wrong-value":
        return key in _ANY_VALUE or (key in _SWITCHES and value.isdecimal())
    if code == "unsupported" and key in WORDS:
        return value.partition(":")[0] in WORDS[key].split()
    return True
