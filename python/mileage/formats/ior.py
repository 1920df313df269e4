"""Code shared by the readers of IOR's text, JSON and CSV: one run for each transfer phase of each repetition.

Scope: bandwidth in MiB/s (IOR's MB/s next to it are 10^6 bytes), IOPS as printed for the iteration (the
summary divides by another time, so that the two differ), times in seconds. IOR's "latency" is the least over the ranks
of each rank's mean: it is kept in `printed` and is not taken for a latency of the run.
The readers name what they do not understand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mileage.formats.number_parser import binary_size, number, whole
from mileage.formats.result import ToolRun
from mileage.model.cell_key import CellKey
from mileage.plan.sizes import format_bytes, record_words

MIB: Final = 1 << 20
_ROUNDING: Final = 0.01
"""Share by which rate times time may be below what was asked for in a phase that did all of it."""
ACCESSES: Final = ("write", "read")
SETTINGS: Final = (
    *("api", "access", "type", "pattern", "segments", "ordering in a file", "ordering inter file", "nodes"),
    *("tasks", "clients", "clients per node", "repetitions", "xfersize", "blocksize", "aggregate filesize"),
    *("stonewallingTime", "test filename", "memoryBuffer", "dataAccess", "stoneWallingWearOut"),
)
"""Names of the options that are kept as settings of the runs."""


def iteration(
    access: str, figures: Mapping[str, Any], options: Mapping[str, str], line: int
) -> ToolRun | None:
    """The run of one phase. `figures` by their names in the text's heading; None where there is no bandwidth."""
    rate = number(figures.get("bw(MiB/s)"))
    total_s = number(figures.get("total(s)"))
    if access not in ACCESSES or rate is None:
        return None
    transfer = number(figures.get("xfer(KiB)"))
    transfer_bytes = round(transfer * 1024) if transfer and transfer < 2**40 else None
    segments, tasks = segments_of(options), tasks_of(options) or whole(figures.get("numTasks"))
    asked = aggregate(options, tasks)
    moved, early = _moved(asked, figures, "-D" in options.get("command", "").split())
    ops = moved // transfer_bytes if moved is not None and transfer_bytes else None
    size = f" {record_words(transfer_bytes)}" if transfer_bytes else ""
    writes = access == "write"
    return ToolRun(
        cell=f"ior.{access}{size}",
        key=CellKey(f"ior.{access}", record_bytes=transfer_bytes, threads=tasks, depth=1),
        kind="throughput",
        title=f"{access}, {options.get('api', '')} {options.get('access', '')}".strip(),
        line=line,
        levels={
            **{key: value for key, value in options.items() if key in SETTINGS},
            **({"tasks": str(tasks)} if tasks else {}),
            **({"segments": str(segments)} if segments else {}),
        },
        rate_bytes_per_s=rate * MIB,
        ops_per_s=number(figures.get("IOPS")),
        elapsed_s=total_s or None,
        bytes_read=0 if writes else moved,
        bytes_written=moved if writes else 0,
        ops_read=0 if writes else ops,
        ops_written=ops if writes else 0,
        printed=[(name, value) for name, text in figures.items() if (value := number(text)) is not None],
        notes=[_early_note(access, moved or 0, asked or 0)] if early else [],
    )


def _early_note(access: str, moved: int, asked: int) -> str:
    shown = f"{format_bytes(moved)} of {format_bytes(asked)}"
    return f"IOR ended the {access} early: {shown} were moved, by its rate and its time"


def _moved(asked: int | None, figures: Mapping[str, Any], stonewall: bool) -> tuple[int | None, bool]:
    """Bytes that were moved, and whether these are fewer than was asked for: -D, and a script, end a phase early.

    IOR's bandwidth is the bytes that were moved over `total(s)`, so that their product shows a phase that ended early.
    """
    rate, total_s = number(figures.get("bw(MiB/s)")), number(figures.get("total(s)"))
    if asked is None or not rate or not total_s:
        return (None if stonewall else asked), False
    most = (rate + _half_a_digit(figures["bw(MiB/s)"])) * (total_s + _half_a_digit(figures["total(s)"])) * MIB
    if most >= (1 - _ROUNDING) * asked:
        return asked, False
    return round(rate * total_s * MIB), True


def _half_a_digit(printed: Any) -> float:
    """Maximum rounding error of a printed figure; 0 for a number that was not text."""
    if not isinstance(printed, str):
        return 0.0
    return 0.5 * 10.0 ** -len(printed.partition(".")[2])


def tasks_of(options: Mapping[str, str]) -> int | None:
    """The number of ranks; IOR 2 calls them clients."""
    return whole(options.get("tasks", "")) or whole(options.get("clients", "").split(" ")[0])


def aggregate(options: Mapping[str, str], tasks: int | None) -> int | None:
    """Bytes of all tasks, blocks and segments; None where one of them is not known exactly."""
    block = exact_size(options.get("blocksize", ""))
    segments = segments_of(options)
    return tasks * block * segments if tasks and block and segments else None


def segments_of(options: Mapping[str, str]) -> int | None:
    """The number of segments; IOR 2 has them in words: "strided (1000 segments)", "segmented (1 segment)"."""
    segments, pattern = whole(options.get("segments", "")), options.get("pattern", "")
    if segments is None and "(" in pattern:
        segments = whole(pattern.partition("(")[2].split(" ")[0])
    return segments


def exact_size(text: str) -> int | None:
    """Bytes of "65536 bytes" or "1 MiB"; None for a rounded figure such as "48.83 GiB"."""
    return None if "." in text else binary_size(text)


def by_repetitions(runs: list[ToolRun], repetitions: int | None) -> list[str]:
    """Warnings where a file has fewer repetitions of a phase than IOR reports to have done."""
    counts: dict[str, int] = {}
    for run in runs:
        counts[run.cell] = counts.get(run.cell, 0) + 1
    return [
        f"{cell}: {count} of {repetitions} repetitions are in the file"
        for cell, count in counts.items()
        if repetitions is not None and count < repetitions
    ]
