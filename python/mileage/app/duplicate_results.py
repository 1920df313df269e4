"""Two files of one run are no repetitions: copies, files that share runs, and two layouts of the output of one call.

Scope: files of one layout share a run when all its facts are equal. Two layouts hold different facts, some of them
rounded: there each run of one file must have its test, its figures and its counts in the other file.
What it refuses: such files, unless the user says that equal files of one layout are repetitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from mileage.errors import Refusal, Refused
from mileage.formats import elbencho_csv, fio_terse, fio_text, vdbench
from mileage.formats.input_file import Source
from mileage.formats.result import Result, ToolRun


class _Digits(NamedTuple):
    """How far figures of one run may differ between two layouts."""

    share: float = 1e-6
    """Of a rate or a time."""
    ops_per_s: float = 0.0
    bytes_per_s: float = 0.0
    moved_bytes: float = 0.0


_DIGITS: Final = {
    fio_text.LAYOUT: _Digits(share=0.005),
    fio_terse.LAYOUT: _Digits(share=0.005, ops_per_s=1, moved_bytes=64 << 10),
    elbencho_csv.LAYOUT: _Digits(bytes_per_s=1 << 20, moved_bytes=2 << 20),
}
"""Three digits of fio's text; whole KiB of each job and operations of its terse output; whole MiB of elbencho's CSV."""
_TIME_S: Final = 0.002
_NAMES_MAX: Final = 3
"""Files with equal figures whose names a note has."""


def check_duplicates(found: list[tuple[Source, Result]], *, equal: bool) -> None:
    """Raises Refused for all files whose run another has; with `equal`, those of one layout get a note instead."""
    refused: list[Refusal] = []
    repeated: dict[Path, list[str]] = {}
    before: list[tuple[Source, Result, list[ToolRun], frozenset[bytes]]] = []
    for source, result in found:
        runs = [run for run in result.runs if run.measured]
        if not runs:
            continue
        facts = _facts(result, runs)
        for twin, other, theirs, their_facts in before:
            same_layout = other.layout == result.layout
            if not (_overlap(facts, their_facts) if same_layout else _agree(result, runs, other, theirs)):
                continue
            if not equal or not same_layout:
                text = f"has the same figures as {twin.path}"
                refused += duplicate(source.path, text, copy=same_layout).refusals
            else:
                repeated.setdefault(twin.path, []).append(source.path.name)
            break
        before.append((source, result, runs, facts))
    if refused:
        raise Refused.because(*refused)
    for twin, _, theirs, _ in before:
        if names := repeated.get(twin.path):
            more = f" and {len(names) - _NAMES_MAX} more" if len(names) > _NAMES_MAX else ""
            theirs[0].notes.append(
                f"{', '.join(names[:_NAMES_MAX])}{more}: same figures as {twin.path}, and repetitions (--equal-files)"
            )


def duplicate(path: Path, found: str, *, copy: bool) -> Refused:
    """A refusal of a file; of a `copy` with the option that accepts it."""
    more = ", or add --equal-files if each is of a run of its own" if copy else ""
    return Refused(path, found, advice=f"name one of them{more}", code="repeated")


def _facts(result: Result, runs: Sequence[ToolRun]) -> frozenset[bytes]:
    """The facts of each run by which copies are found.

    Positions and notes depend on the file and not on the run, so they must not hide a duplicate. The files of one run
    of vdbench repeat its averages below other lines.
    """
    if result.layout == vdbench.LAYOUT:
        return frozenset(msgspec.json.encode([run.cell, run.printed]) for run in runs)
    bare = [msgspec.structs.replace(run, line=0, call=0, notes=[]) for run in runs]
    return frozenset(msgspec.json.encode([result.began, run]) for run in bare)


def _overlap(a: frozenset[bytes], b: frozenset[bytes]) -> bool:
    """Whether all runs of one file are in the other."""
    return a <= b or b <= a


def _agree(a: Result, own: Sequence[ToolRun], b: Result, theirs: Sequence[ToolRun]) -> bool:
    """Whether all runs of one file are in the other, which has another layout."""
    first, second = (_DIGITS.get(one.layout, _Digits()) for one in (a, b))
    digits = _Digits(*(max(pair) for pair in zip(first, second, strict=True)))
    few, many = sorted((own, theirs), key=len)
    return all(any(_is_same(run, other, digits) for other in many) for run in few)


def _is_same(a: ToolRun, b: ToolRun, digits: _Digits) -> bool:
    """Whether two runs have one cell, and agree in all figures that both have: at least in a rate."""
    rates = (
        (a.rate_bytes_per_s, b.rate_bytes_per_s, digits.bytes_per_s),
        (a.ops_per_s, b.ops_per_s, digits.ops_per_s),
    )
    counts = (
        (a.ops_read, b.ops_read, 0),
        (a.ops_written, b.ops_written, 0),
        (a.bytes_read, b.bytes_read, digits.moved_bytes),
        (a.bytes_written, b.bytes_written, digits.moved_bytes),
    )
    return (
        a.cell == b.cell
        and any(None not in pair for pair in rates)
        and all(
            _is_near(one, other, unit, digits.share)
            for one, other, unit in (*rates, (a.elapsed_s, b.elapsed_s, _TIME_S))
        )
        and all(_is_near(one, other, unit, 0.0) for one, other, unit in counts)
    )


def _is_near(a: float | None, b: float | None, unit: float, share: float) -> bool:
    return a is None or b is None or abs(a - b) <= max(unit, share * max(a, b))
