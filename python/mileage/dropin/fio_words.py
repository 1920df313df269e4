"""Words of fio 3.33 that `mileage fio` does not take: by them a refusal by Mileage differs from one by fio itself.

Scope: words of options that have few. Names of options are in `tools/fio.toml`, among the others.
"""

from __future__ import annotations

from typing import Final

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
