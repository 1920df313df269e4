"""The last look at what a reader made of a stranger's file, before it goes into tables and onto terminals.

Scope: texts of one harmless line each, of bounded length; figures
that are finite and fit the tables.
A figure that cannot be becomes None, and is named among what was not understood.
"""

from __future__ import annotations

import math
from typing import Any, Final

import msgspec

from mileage.formats.number_parser import WHOLE_MAX
from mileage.formats.result import Result, ToolRun, Unread
from mileage.terminal import one_line

TEXT_MAX: Final = 300
"""Characters of a label or a setting."""
LINE_MAX: Final = 4000
"""Characters of a command line or a note."""
FIGURE_MAX: Final = 1e24
"""Bytes or operations per second, seconds, nanoseconds: more than this is damage."""
_FIGURES: Final = ("rate_bytes_per_s", "ops_per_s", "latency_p99_ns", "elapsed_s", "latency_sum_ns")
_COUNTS: Final = ("bytes_read", "bytes_written", "ops_read", "ops_written", "outstanding", "device_bytes")


def sound(result: Result) -> Result:
    """A copy of a result whose texts are safe to print in tables and on terminals."""
    unsound = [
        Unread(run.line, run.cell, f"figures that cannot be: {', '.join(_changes(run))}")
        for run in result.runs
    ]
    unsound = [entry for entry, run in zip(unsound, result.runs, strict=True) if _changes(run)]
    return msgspec.structs.replace(
        result,
        version=_maybe(result.version),
        began=_maybe(result.began),
        command=None if result.command is None else tidy(result.command, LINE_MAX),
        machine=_texts(result.machine),
        facts=_texts(result.facts),
        unread=[
            Unread(entry.line, tidy(entry.text), tidy(entry.why)) for entry in [*result.unread, *unsound]
        ],
        lost=[tidy(text, LINE_MAX) for text in result.lost],
        runs=[_run(run) for run in result.runs],
    )


def tidy(text: str, most: int = TEXT_MAX) -> str:
    """A text that cannot steer a terminal, of at most the given number of characters."""
    text = one_line(text[: most + 1])
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _maybe(text: str | None) -> str | None:
    return None if text is None else tidy(text)


def _texts(texts: dict[str, str]) -> dict[str, str]:
    return {tidy(key): tidy(value) for key, value in texts.items()}


def _changes(run: ToolRun) -> dict[str, None]:
    """The figures of a run that cannot be, each with what takes its place."""
    found: dict[str, None] = {}
    for name in (*_FIGURES, *_COUNTS):
        value = getattr(run, name)
        if value is not None and not 0 <= value <= (FIGURE_MAX if name in _FIGURES else WHOLE_MAX):
            found[name] = None
    return found


def _run(run: ToolRun) -> ToolRun:
    changes: dict[str, Any] = dict(_changes(run))
    notes = [tidy(note, LINE_MAX) for note in run.notes]
    latency = {kind: found for kind, found in run.latency.items() if 0 < found.count <= WHOLE_MAX}
    if len(latency) < len([found for found in run.latency.values() if found.count]):
        notes.append("a histogram counts more operations than can be; it is ignored")
    return msgspec.structs.replace(
        run,
        **changes,
        cell=tidy(run.cell) or "unnamed",
        title=tidy(run.title),
        levels=_texts(run.levels),
        latency=latency,
        counters={tidy(name): value for name, value in run.counters.items() if 0 <= value <= WHOLE_MAX},
        quantiles_ns={name: value for name, value in run.quantiles_ns.items() if math.isfinite(value)},
        printed=[(tidy(name), value) for name, value in run.printed if math.isfinite(value)],
        notes=notes,
        error=_maybe(run.error),
        invalid=_maybe(run.invalid),
    )
