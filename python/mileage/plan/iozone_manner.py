"""How the records of IOzone's tests are moved, and what is done around them.

Scope: `Manner` of the core's IOzone tests, and the keys of a study that say it: those of IOzone's flags which leave the
tests' offsets as they are.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from mileage.errors import Refusal
from mileage.plan import sizes
from mileage.plan.ranges import Count

Depth = Annotated[int, Meta(ge=0, le=65_535)]
Cpu = Annotated[int, Meta(ge=0, le=65_535)]
_CACHE_BYTES_MAX = 1 << 30
_COMPUTE_NS_MAX = 86_400 * 10**9


class Mapping(msgspec.Struct, frozen=True):
    """A mapping of the whole file, and what follows each record that is written."""

    flush: Literal["none", "begin", "wait"]


class Posix(msgspec.Struct, frozen=True):
    """POSIX asynchronous I/O."""

    depth: int
    copied: bool


class Transport(msgspec.Struct, frozen=True, omit_defaults=True):
    """What moves the records: exactly one of these."""

    mapping: Mapping | None = None
    posix: Posix | None = None


class CacheSize(msgspec.Struct, frozen=True):
    """Processor's cache that is walked over before each record."""

    bytes: int
    line_bytes: int


class Manner(msgspec.Struct, frozen=True, omit_defaults=True):
    """`Manner` of the core's IOzone tests; what is not there is as in IOzone without flags."""

    transport: Transport | UnsetType = UNSET
    jitter: bool = False
    purge: CacheSize | None = None
    logs: str | None = None
    first_cpu: int | None = None
    compute_ns: int = 0
    compute_timed: bool = False
    remount: str | None = None


class MannerKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The manner of IOzone's tests as a study has it; flags of IOzone in brackets."""

    mapped: Literal["none", "begin", "wait"] | None = None
    """The file is mapped (-B), and each record that is written is followed by nothing, by an `msync` that does not wait
    (-D) or by one that does (-G)."""
    depth: Depth | None = None
    """Records that POSIX asynchronous I/O has in flight in addition to the current one (-H, -k)."""
    copied: bool | None = None
    """What asynchronous I/O has read is copied to one buffer (-H; not -k); needs `depth`; unless given, yes."""
    jitter: bool = False
    """Short reads elsewhere before every hundredth record (-K)."""
    purge: str | None = None
    """Size of the processor's cache that is walked over before each record, such as "1 MiB" (-p with -S)."""
    line: Count | None = None
    """Length of that cache's lines in bytes (-L); needs `purge`; 32 unless given."""
    logs: str | None = None
    """Directory of the files of offsets and latencies (-Q)."""
    first_cpu: Cpu | None = None
    """Processor of the first child; the others' follow in turn (-P)."""
    compute: str | None = None
    """Compute cycle before each record, such as "5 ms": the processor is kept busy (-J). It is in no latency, and in
    the rates of a report."""
    compute_timed: bool = False
    """The rates that IOzone's text has for children include the compute cycles (-+J); needs `compute`."""
    remount: str | None = None
    """Mount point below which the target's directory is, unmounted and mounted again before each test (-U)."""


def problem_of_manner(keys: MannerKeys) -> Refusal | None:
    """The first key that cannot be; None when all can."""
    if keys.mapped is not None and keys.depth is not None:
        return Refusal("depth", found="with mapped", expected="one of them", code="conflict")
    for key, needed, is_given in (
        ("copied", "depth", keys.copied is not None and keys.depth is None),
        ("line", "purge", keys.line is not None and keys.purge is None),
        ("compute_timed", "compute", keys.compute_timed and keys.compute is None),
    ):
        if is_given:
            return Refusal(key, found=f"no {needed}", expected=f"both, or no {key}", code="no-effect")
    if keys.compute is not None and not 0 < sizes.parse_time_ns(keys.compute) <= _COMPUTE_NS_MAX:
        return Refusal("compute", found=keys.compute, expected="up to 1 day", code="out-of-range")
    if keys.purge is not None:
        size = sizes.size_bytes(keys.purge)
        if not _line_bytes(keys) <= size <= _CACHE_BYTES_MAX:
            return Refusal("purge", found=keys.purge, expected="a line to 1 GiB", code="out-of-range")
    return None


def manner_of(keys: MannerKeys) -> Manner | UnsetType:
    """The core's value of these keys; unset when they say nothing."""
    if keys == MannerKeys():
        return UNSET
    transport: Transport | UnsetType = UNSET
    if keys.mapped is not None:
        transport = Transport(mapping=Mapping(keys.mapped))
    elif keys.depth is not None:
        transport = Transport(posix=Posix(keys.depth, keys.copied is not False))
    purge = None if keys.purge is None else CacheSize(sizes.size_bytes(keys.purge), _line_bytes(keys))
    compute_ns = 0 if keys.compute is None else sizes.parse_time_ns(keys.compute)
    return Manner(
        transport, keys.jitter, purge, keys.logs, keys.first_cpu, compute_ns, keys.compute_timed, keys.remount
    )


def _line_bytes(keys: MannerKeys) -> int:
    return 32 if keys.line is None else keys.line
