"""fio's jobs as values: job files and command lines, sections, variables of the environment.

Scope: options of a job after those of [global] or before the first --name. Numbers are read as fio reads them: sizes
with k, m, g of 1024, times with units.
What it refuses: an option that is not among the flags, by its name; a value that cannot be read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mileage.dropin.flags import GivenFlags, read, tool_named
from mileage.dropin.tool_statuses import ToolRefusal
from mileage.errors import Refused
from mileage.regular_file import read_standard_input, read_text

_NUMBER_MAX: Final = 2**63 - 1
"""Bytes and nanoseconds alike."""
_SIZES: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_OTHER_BASE: Final = {1000: 1024, 1024: 1000}
_TIMES_NS: Final = {"us": 1_000, "usec": 1_000, "ms": 10**6, "msec": 10**6, "s": 10**9}
_TIMES_NS_LONG: Final = {"m": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}
_GLOBAL_ONLY: Final = (
    *("--output", "--output-format", "--minimal", "--terse-version", "--eta", "--eta-newline", "--section"),
    *("--parse-only", "--cmdhelp", "--bandwidth-log", "--status-interval", "--readonly", "--version", "-h"),
    *("--study", "--destroy", "--help", "--manual"),
)
"""Options of the command, not of a job."""


@dataclass
class FioJob:
    """One section: its options by the first spelling of each, without dashes."""

    name: str
    options: dict[str, str] = field(default_factory=dict)
    given: dict[str, str] = field(default_factory=dict)
    """Its own options as they were written, for the JSON."""
    shared: dict[str, str] = field(default_factory=dict)
    """Options of [global], or before the first --name; likewise."""

    def refuse(self, key: str, text: str = "", *, expected: str = "", code: str = "wrong-value") -> Refused:
        """A refusal of one option."""
        value = self.options.get(key, "")
        where = f"fio: [{self.name}] {key}={value}"
        if accepts(key, value, code):
            return Refused(where, text, expected=expected, code=code)
        return ToolRefusal("fio", where, text, expected=expected, code=code, fault="value")

    def text(self, key: str, alone: str = "") -> str:
        """A value as it was written."""
        return self.options.get(key, alone)

    def is_on(self, key: str, alone: bool = False) -> bool:
        """Whether an option is on; one without a value is."""
        if key not in self.options:
            return alone
        value = self.options[key] or "1"
        if value not in ("0", "1"):
            raise self.refuse(key, expected="0 or 1")
        return value == "1"

    def number(self, key: str, alone: int) -> int:
        """A whole number."""
        value = self.options.get(key)
        if value is None:
            return alone
        found = size_of(value, 1024)
        if found is None:
            raise self.refuse(key, expected="a whole number")
        return self._within(key, found)

    def size(self, key: str) -> int | None:
        """Bytes; None where the option is not given."""
        value = self.options.get(key)
        if value is None:
            return None
        found = size_of(value, self.base)
        if found is None:
            raise self.refuse(key, expected="a size such as 4k or 1g")
        return self._within(key, found)

    def time_ns(self, key: str, unit: str = "s") -> int | None:
        """A time; a bare number counts `unit`."""
        value = self.options.get(key)
        if value is None:
            return None
        found = re.fullmatch(r"([0-9]{1,15})\s*([a-z]*)", value.lower())
        units = {**_TIMES_NS, **_TIMES_NS_LONG}
        if found is None or (found[2] and found[2] not in units):
            # fio takes a number with a unit that it does not know.
            code = "unsupported" if value[:1].isdecimal() else "wrong-value"
            raise self.refuse(key, expected="a time such as 30, 30s, 5m, 100ms or 10us", code=code)
        return self._within(key, int(found[1]) * units[found[2] or unit])

    def _within(self, key: str, number: int) -> int:
        """A number that the engine can hold. Raises Refused."""
        if number > _NUMBER_MAX:
            raise self.refuse(key, "is too large", expected="less than 2^63", code="out-of-range")
        return number

    @property
    def base(self) -> int:
        """What k means: 1024 or 1000."""
        if self.text("kb_base", "1024") not in ("1024", "1000"):
            raise self.refuse("kb_base", expected="1024 or 1000")
        return int(self.text("kb_base", "1024"))

    def sides(self, key: str) -> tuple[int, int] | None:
        """Values for reads and for writes, READ,WRITE or one for both; None where the option is not given."""
        if key not in self.options:
            return None
        found = [size_of(part, self.base) if part else 0 for part in self.text(key).split(",")]
        if None in found or not 1 <= len(found) <= 3:
            raise self.refuse(key, expected="one number, or READ,WRITE")
        numbers = [self._within(key, number or 0) for number in found]
        return numbers[0], numbers[min(1, len(numbers) - 1)]

    def percent_or_size(self, key: str) -> tuple[int | None, int | None]:
        """A share in percent, or bytes; both None where the option is not given."""
        if percent := re.fullmatch(r"([0-9]{1,3})%", self.text(key).strip()):
            if int(percent[1]) > 100:
                raise self.refuse(key, expected="100% at most")
            return int(percent[1]), None
        return None, self.size(key)

    def set(self, key: str, value: str) -> None:
        """Set an option, one without a value to 1; their order is that of the last setting."""
        self.options.pop(key, None)
        self.options[key] = value or "1"
        # fio's JSON has the options with a value.
        if value:
            self.given[key] = value


def size_of(text: str, base: int) -> int | None:
    """A number with a unit as fio reads it; None where it is none.

    k, m, g, t and p are powers of kb_base (1024 by default); kib, mib, ... are powers of the other one, 1000.
    """
    found = re.fullmatch(r"([0-9]{1,18})(?:([kmgtp]?)(b?)|([kmgtp])ib)", text.strip().lower())
    if found is None:
        return int(text, 16) if re.fullmatch(r"0x[0-9a-fA-F]{1,15}", text.strip()) else None
    if found[4]:
        return int(found[1]) * int(_OTHER_BASE[base] ** _SIZES[found[4]])
    return int(found[1]) * int(base ** _SIZES[found[2]])


def jobs_of(given: GivenFlags) -> list[FioJob]:
    """The jobs of a command line and of its files, in order. Raises Refused."""
    found: list[FioJob] = []
    shared: dict[str, str] = {}
    shown: dict[str, str] = {}
    current: FioJob | None = None
    for flag, value in given.flags:
        if flag.spelling in _GLOBAL_ONLY:
            continue
        key = flag.spelling.removeprefix("--")
        if key == "name":
            if current is not None and not current.name and not found:
                shared = current.options
            current = FioJob(value, dict(shared), {"name": value}, shown)
            if value == "global":
                current.options, current.given, current.name = shared, shown, ""
                continue
            found.append(current)
            continue
        if current is None:
            current = FioJob("", shared, shown)
        current.set(key, value)
    for name in given.operands:
        found += _of_file(Path(name), shared, shown)
    wanted = given.every("--section")
    found = [job for job in found if not wanted or job.name in wanted]
    if not found:
        raise ToolRefusal(
            "fio", "fio", "no jobs are defined", expected="a job file, or --name=JOB", code="empty"
        )
    return found


def _of_file(path: Path, before: dict[str, str], shown: dict[str, str]) -> list[FioJob]:
    """The sections of a job file. Raises Refused."""
    try:
        text = read_standard_input() if str(path) == "-" else read_text(path, f"fio: {path}")
    except OSError as error:
        raise Refused(f"fio: {path}", f"{error.strerror}", code="not-found") from error
    shared = dict(before)
    found: list[FioJob] = []
    current: FioJob | None = None
    for number, line in enumerate(text.splitlines(), 1):
        words = re.split(r"\s[;#]", line.strip(), maxsplit=1)[0].strip()
        if not words or words[0] in "#;":
            continue
        if section := re.fullmatch(r"\[(.+)\]", words):
            current = FioJob(section[1], dict(shared), shared=shown)
            if section[1] == "global":
                current.options, current.given = shared, shown
            else:
                found.append(current)
            continue
        if words.startswith("include "):
            raise Refused(f"fio: {path}, line {number}: include", "is not built", code="not-built")
        if current is None:
            text = f"{words} stands before the first section"
            raise ToolRefusal("fio", f"fio: {path}, line {number}", text, code="malformed")
        key, _, value = (part.strip() for part in _expanded(words).partition("="))
        for flag, read_value in _options([f"--{key.lower()}={value}"]):
            current.set(flag, read_value)
    return found


def _options(words: Iterable[str]) -> list[tuple[str, str]]:
    """Options by their first spelling. Raises Refused for one that is not honoured."""
    given = read(tool_named("fio"), list(words))
    return [(flag.spelling.removeprefix("--"), value) for flag, value in given.flags]


def _expanded(text: str) -> str:
    """Variables of the environment put in: ${NAME}, and fio's own $ncpus, $pagesize and $mb_memory."""
    own = {
        "$ncpus": str(os.cpu_count() or 1),
        "$pagesize": str(os.sysconf("SC_PAGE_SIZE")),
        "$mb_memory": str(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20),
    }
    text = re.sub(r"\$\{(\w+)\}", lambda found: os.environ.get(found[1], ""), text)
    for name, value in own.items():
        text = text.replace(name, value)
    return text


# Words of fio 3.33 that `mileage fio` does not take: by them a refusal by Mileage differs from one by fio itself.
# Scope: words of options that have few. Names of options are in `tools/fio.toml`, among the others.

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
    *("refill_buffers", "norandommap", "exitall", "bs_unaligned"),
)
"""Options that any number turns on."""


def accepts(key: str, value: str, code: str) -> bool:
    """Whether fio takes a value that Mileage refuses by that code, as far as is known."""
    if code == "wrong-value":
        return key in _ANY_VALUE or (key in _SWITCHES and value.isdecimal())
    if code == "unsupported" and key in WORDS:
        return value.partition(":")[0] in WORDS[key].split()
    return True
