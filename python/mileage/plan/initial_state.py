"""The state that a cycle starts from, as values: what `[state]` says, checked and read.

Scope: the rules of `[state]` that hold whatever the target turns out to be.
What it refuses: keys that would have no effect on the kind of target that is named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from mileage.errors import Refusal
from mileage.model.target_kind import capabilities_of
from mileage.plan import sizes
from mileage.plan.filesystems import FileSystem, file_system_of
from mileage.plan.io_options import IoOptions
from mileage.plan.page_cache_state import read_cache
from mileage.plan.study import Measure, Size, Stage, State, Study, Torture

PURGES = ("discard", "nvme-format", "ata-erase", "none")
READ_AHEAD_UNIT = 4096
"""The kernel counts pages; where they are larger, a smaller read-ahead is refused when it is set."""
READ_AHEAD_MAX = 1 << 30
WRITE_CACHES = {"back": "write back", "through": "write through"}


def file_system(state: State) -> FileSystem | None:
    """The file system that each cycle makes; None when the target is used as it is. `state` has been checked."""
    return None if state.filesystem is None else file_system_of(state.filesystem, state.mkfs, state.mount)


def check_state(state: State, target: str) -> Iterator[Refusal]:
    """Every key of `[state]` that has a wrong value or no effect; `where` is the key."""
    try:
        read_cache(state.cache)
    except ValueError as error:
        yield Refusal("cache", text=str(error), code="wrong-value")
    yield from _check_settings(state, target)
    yield from _check_use(state)
    if state.filesystem is None:
        for key in ("mkfs", "mount", "fill", "aged"):
            if getattr(state, key):
                yield Refusal(
                    key,
                    text='has no effect without filesystem = "ext3", "ext4", "xfs" or "btrfs"',
                    advice="give both or neither",
                    code="no-effect",
                )
        return
    if not capabilities_of(target).is_block_device:
        yield Refusal(
            "filesystem",
            text="needs a device to make it on: loop:SIZE or block:PATH",
            advice=f"found {target}, which has its own",
            code="unsupported",
        )
    if state.start == "kept":
        yield Refusal(
            "filesystem",
            text='a new file system keeps nothing of what start = "kept" would keep',
            advice="give one of them",
            code="conflict",
        )
    try:
        file_system(state)
    except ValueError as error:
        key, text = error.args
        yield Refusal(key, text=text, code="wrong-value")


class FillState(msgspec.Struct, frozen=True):
    """How full a new file system is made before it is measured, and by which method."""

    how: str
    """"fill" or "aged"."""
    percent: float
    seed: int = 1


def used(state: State, seed: int) -> FillState | None:
    """Treatment of a new file system before it is measured; None for none. `state` has been checked."""
    for how in ("fill", "aged"):
        if (text := getattr(state, how)) is not None:
            return FillState(how, _percent(text), seed)
    return None


def _percent(text: str) -> float:
    number, sign, rest = text.partition("%")
    if not sign or rest or not re.fullmatch(r"[0-9]{1,2}(\.[0-9]+)?", number) or not 1 <= float(number) <= 95:
        raise ValueError(f'found {text!r}, expected a share from "1%" to "95%"')
    return float(number)


def _check_use(state: State) -> Iterator[Refusal]:
    for key in ("fill", "aged"):
        if (text := getattr(state, key)) is not None:
            try:
                _percent(text)
            except ValueError as error:
                yield Refusal(key, text=str(error), code="wrong-value")
    if state.fill is not None and state.aged is not None:
        yield Refusal(
            "aged",
            text="leaves the file system as full as fill would",
            advice="give one of them",
            code="conflict",
        )
    if state.precondition not in (None, *PRECONDITIONS):
        yield Refusal(
            "precondition",
            found=f"{state.precondition!r}",
            expected=f"{', '.join(PRECONDITIONS)}",
            code="unknown-word",
        )
    if state.precondition is not None and state.start == "kept":
        yield Refusal(
            "precondition",
            text='would write over what start = "kept" keeps',
            advice="give one of them",
            code="conflict",
        )


def _check_settings(state: State, target: str) -> Iterator[Refusal]:
    for key in ("scheduler", "read_ahead", "write_cache"):
        if getattr(state, key) is not None and not capabilities_of(target).is_block_device:
            yield Refusal(
                key,
                text=f"is a setting of a device: needs loop:SIZE or block:PATH, found {target}",
                code="unsupported",
            )
    if state.governor is not None:
        yield from _check_governor(state.governor, target)
    if state.scheduler is not None and not re.fullmatch(r"[a-z0-9_-]{1,30}", state.scheduler):
        yield Refusal(
            "scheduler",
            found=f"{state.scheduler!r}",
            expected="the name of one, such as none or mq-deadline",
            code="wrong-value",
        )
    if state.read_ahead is not None:
        yield from _check_read_ahead(state, state.read_ahead)
    if state.purge not in PURGES:
        yield Refusal("purge", found=f"{state.purge!r}", expected=f"{', '.join(PURGES)}", code="unknown-word")
    elif state.purge != "discard" and not (capabilities_of(target).can_purge and state.start == "purged"):
        yield Refusal(
            "purge",
            text='has no effect: only a block: target that starts "purged" is purged so',
            advice=f"found {target}",
            code="no-effect",
        )
    elif state.purge == "none" and state.filesystem is None:
        yield Refusal(
            "purge",
            text='"none" leaves the device as it is',
            advice='set start = "kept", or a filesystem to make on it',
            code="conflict",
        )
    if state.write_cache not in (None, *WRITE_CACHES):
        yield Refusal(
            "write_cache", found=f"{state.write_cache!r}", expected="back or through", code="unknown-word"
        )


def _check_governor(governor: str, target: str) -> Iterator[Refusal]:
    if capabilities_of(target).simulated:
        text = f"has no effect on {target}, whose time is simulated"
        yield Refusal("governor", text=text, advice="leave it out", code="no-effect")
    elif not re.fullmatch(r"[a-z_]{1,30}", governor):
        expected = "the name of one, such as performance or powersave"
        yield Refusal("governor", found=f"{governor!r}", expected=expected, code="wrong-value")


def _check_read_ahead(state: State, read_ahead: Size) -> Iterator[Refusal]:
    try:
        size = sizes.size_bytes(read_ahead)
        if size % READ_AHEAD_UNIT or size > READ_AHEAD_MAX:
            found, expected = sizes.exact_bytes(size), "0 or a multiple of 4 KiB up to 1 GiB"
            yield Refusal("read_ahead", found, expected, code="out-of-range")
    except ValueError as error:
        yield Refusal("read_ahead", text=str(error), code="wrong-value")
    if state.cache == "direct":
        text = 'has no effect with cache = "direct", which bypasses the page cache'
        yield Refusal("read_ahead", text=text, expected="another cache", code="no-effect")
    if state.filesystem == "btrfs":
        text = "has no effect on btrfs, which has a read-ahead of its own"
        yield Refusal("read_ahead", text=text, expected="ext3, ext4 or xfs", code="no-effect")


def settings_of_device(state: State) -> dict[str, str]:
    """Values to write to the files of the device's request queue, by file name."""
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
    tables: list[IoOptions] = [*study.measure.values(), *study.torture.values(), *study.workload.values()]
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
    """Bytes of memory that a size such as "2x memory" multiplies.

    The limit that `state.cache` sets, else `memory_bytes`, the memory of the machine that does the I/O.
    """
    return read_cache(study.state.cache).limit_bytes or memory_bytes


def work_file_bytes(study: Study, memory_bytes: int) -> int:
    """Size of the work file in bytes. Raises ValueError."""
    memory = memory_for(study, memory_bytes)
    return sizes.file_bytes(study.state.file, memory_bytes=memory, limit_bytes=limit_bytes(study))


# Preconditioning: the writes to a purged target before any measurement, as a stage of the study.
# Scope: `state.precondition`. "quick" writes the work area once; "snia-independent" twice, in records of 128 KiB
# one after the other, which is the workload-independent preconditioning of SNIA's Performance Test Specification;
# "snia-dependent" continues with the workload that is measured first until its rounds are steady by SNIA's rule.
# The stage that it makes is a stage like any other, and is checked like one.

PRECONDITIONS: Final = ("quick", "snia-independent", "snia-dependent")
STAGE: Final = "precondition"
"""Name of the stage, and how the names of its tables begin."""
ROUNDS_MAX: Final = 25
"""SNIA's limit of rounds in which the target must have become steady."""
_RECORD: Final = "128KiB"
_DEPTH: Final = 32


def with_preconditioning(study: Study) -> Study:
    """The study with a first stage that preconditions, where `[state]` asks for it; the key is spent by that."""
    kind = study.state.precondition
    if kind is None:
        return study
    passes = "1x" if kind == "quick" else "2x"
    tables = {
        STAGE: Torture(
            workload="throughput.write", record=_RECORD, amount=passes, depth=_DEPTH, content="incompressible"
        )
    }
    if kind == "snia-dependent" and (measured := _first_measured(study)) is not None:
        tables[f"{STAGE}-steady"] = _dependent(measured)
    stage = Stage(name=STAGE, prepare=tuple(tables))
    return msgspec.structs.replace(
        study,
        state=msgspec.structs.replace(study.state, precondition=None),
        stage=(stage, *study.stage),
        torture={**tables, **study.torture},
    )


def _first_measured(study: Study) -> Measure | None:
    for stage in study.stage:
        for name in study.measures_of(stage):
            return study.measure[name]
    return None


def _dependent(measure: Measure) -> Torture:
    """The first workload of a table at its first levels, in rounds until it is steady."""

    def first(value: object) -> object:
        return value[0] if isinstance(value, tuple) else value

    how = {key: getattr(measure, key) for key in IoOptions.__struct_fields__}
    return msgspec.convert(
        {
            **{key: value for key, value in how.items() if value is not None},
            "workload": first(measure.workload),
            "record": first(measure.record) or _RECORD,
            "threads": first(measure.threads),
            "depth": first(measure.depth),
            "span": measure.span,
            "span_start": measure.span_start,
            "amount": "1x",
            "time": "1 min",
            "rounds": ROUNDS_MAX,
            "until": "pts-steady",
        },
        Torture,
    )
