"""The state that a cycle starts from, as values: what `[state]` says, checked and read.

What it models: the rules of `[state]` that hold whatever the target turns out to be.
What it refuses: keys that would have no effect on the kind of target that is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from mileage.model.target_kind import capabilities_of
from mileage.plan import sizes
from mileage.plan.caching import read_cache
from mileage.plan.filesystems import FileSystem, file_system_of
from mileage.plan.io_options import How
from mileage.plan.preconditioning import PRECONDITIONS
from mileage.plan.study import Size, State, Study

PURGES = ("discard", "nvme-format", "ata-erase", "none")
READ_AHEAD_UNIT = 4096
"""The kernel counts pages; where they are larger, a smaller read-ahead is refused when it is set."""
READ_AHEAD_MAX = 1 << 30
WRITE_CACHES = {"back": "write back", "through": "write through"}


def file_system(state: State) -> FileSystem | None:
    """The file system that each cycle makes; None when the target is used as it is. `state` has been checked."""
    return None if state.filesystem is None else file_system_of(state.filesystem, state.mkfs, state.mount)


def check_state(state: State, target: str) -> Iterator[tuple[str, str]]:
    """Every key of `[state]` that has a wrong value or no effect, as (key, what is wrong)."""
    try:
        read_cache(state.cache)
    except ValueError as error:
        yield "cache", str(error)
    yield from _check_settings(state, target)
    yield from _check_use(state)
    if state.filesystem is None:
        for key in ("mkfs", "mount", "fill", "aged"):
            if getattr(state, key):
                yield key, 'has no effect without filesystem = "ext4", "xfs" or "btrfs"; give both or neither'
        return
    if not capabilities_of(target).is_block_device:
        yield (
            "filesystem",
            f"needs a device to make it on: loop:SIZE or block:PATH; found {target}, which has its own",
        )
    if state.start == "kept":
        yield (
            "filesystem",
            'a new file system keeps nothing of what start = "kept" would keep; give one of them',
        )
    try:
        file_system(state)
    except ValueError as error:
        key, text = error.args
        yield key, text


class Used(msgspec.Struct, frozen=True):
    """How full a new file system is made, and how."""

    how: str
    """"fill" or "aged"."""
    percent: float
    seed: int = 1


def used(state: State, seed: int) -> Used | None:
    """What is done to a new file system before it is measured; None for nothing. `state` has been checked."""
    for how in ("fill", "aged"):
        if (text := getattr(state, how)) is not None:
            return Used(how, _percent(text), seed)
    return None


def _percent(text: str) -> float:
    number, sign, rest = text.partition("%")
    if not sign or rest or not re.fullmatch(r"[0-9]{1,2}(\.[0-9]+)?", number) or not 1 <= float(number) <= 95:
        raise ValueError(f'found {text!r}, expected a share from "1%" to "95%"')
    return float(number)


def _check_use(state: State) -> Iterator[tuple[str, str]]:
    for key in ("fill", "aged"):
        if (text := getattr(state, key)) is not None:
            try:
                _percent(text)
            except ValueError as error:
                yield key, str(error)
    if state.fill is not None and state.aged is not None:
        yield "aged", "leaves the file system as full as fill would; give one of them"
    if state.precondition not in (None, *PRECONDITIONS):
        yield "precondition", f"found {state.precondition!r}, expected {', '.join(PRECONDITIONS)}"
    if state.precondition is not None and state.start == "kept":
        yield "precondition", 'would write over what start = "kept" keeps; give one of them'


def _check_settings(state: State, target: str) -> Iterator[tuple[str, str]]:
    for key in ("scheduler", "read_ahead", "write_cache"):
        if getattr(state, key) is not None and not capabilities_of(target).is_block_device:
            yield key, f"is a setting of a device: needs loop:SIZE or block:PATH, found {target}"
    if state.scheduler is not None and not re.fullmatch(r"[a-z0-9_-]{1,30}", state.scheduler):
        yield "scheduler", f"found {state.scheduler!r}, expected the name of one, such as none or mq-deadline"
    if state.read_ahead is not None:
        yield from _check_read_ahead(state, state.read_ahead)
    if state.purge not in PURGES:
        yield "purge", f"found {state.purge!r}, expected {', '.join(PURGES)}"
    elif state.purge != "discard" and not (capabilities_of(target).can_purge and state.start == "purged"):
        yield (
            "purge",
            f'has no effect: only a block: target that starts "purged" is purged so; found {target}',
        )
    elif state.purge == "none" and state.filesystem is None:
        yield "purge", '"none" leaves the device as it is; say start = "kept", or a filesystem to make on it'
    if state.write_cache not in (None, *WRITE_CACHES):
        yield "write_cache", f"found {state.write_cache!r}, expected back or through"


def _check_read_ahead(state: State, read_ahead: Size) -> Iterator[tuple[str, str]]:
    try:
        size = sizes.size_bytes(read_ahead)
        if size % READ_AHEAD_UNIT or size > READ_AHEAD_MAX:
            found = sizes.exact_bytes(size)
            yield "read_ahead", f"found {found}, expected 0 or a multiple of 4 KiB up to 1 GiB"
    except ValueError as error:
        yield "read_ahead", str(error)
    if state.cache == "direct":
        yield (
            "read_ahead",
            'has no effect with cache = "direct", which bypasses the page cache; expected another cache',
        )
    if state.filesystem == "btrfs":
        yield "read_ahead", "has no effect on btrfs, which has a read-ahead of its own; expected ext4 or xfs"


def settings_of_device(state: State) -> dict[str, str]:
    """What is written to the files of the device's request queue, by their names."""
    found = {}
    if state.scheduler is not None:
        found["scheduler"] = state.scheduler
    if state.read_ahead is not None:
        found["read_ahead_kb"] = str(sizes.size_bytes(state.read_ahead) // 1024)
    if state.write_cache is not None:
        found["write_cache"] = WRITE_CACHES[state.write_cache]
    return found


def limit_bytes(study: Study) -> int:
    """The largest memory limit that a study sets; 0 when it sets none. The study has been checked."""
    words = [study.state.cache]
    tables: list[How] = [*study.measure.values(), *study.torture.values(), *study.workload.values()]
    words += [table.cache for table in tables if table.cache is not None]
    for measure in study.measure.values():
        words += [str(level) for level in measure.vary.get("cache", ())]
    for name, factor in study.factor.items():
        if (factor.key or name) == "cache":
            words += [str(level) for level in factor.named.values()]
    return max(read_cache(word).limit_bytes for word in words)


def with_limit_counted(study: Study) -> Study:
    """The study with a file of "4x limit" in bytes: no single level of a factor knows the limit of another."""
    if not str(study.state.file).rstrip().endswith("limit"):
        return study
    size = sizes.file_bytes(study.state.file, memory_bytes=0, limit_bytes=limit_bytes(study))
    return msgspec.structs.replace(
        study, state=msgspec.structs.replace(study.state, file=sizes.exact_bytes(size))
    )


def memory_for(study: Study, memory_bytes: int) -> int:
    """The memory that "2x memory" means: the target's, or the limit that `state.cache` sets."""
    return read_cache(study.state.cache).limit_bytes or memory_bytes


def work_file_bytes(study: Study, memory_bytes: int) -> int:
    """Size of the work file in bytes. Raises ValueError."""
    memory = memory_for(study, memory_bytes)
    return sizes.file_bytes(study.state.file, memory_bytes=memory, limit_bytes=limit_bytes(study))
