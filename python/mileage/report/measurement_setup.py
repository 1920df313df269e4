"""In what setting a one-off study measured: the lines above its figures.

Scope: what a reader must know to repeat it: target, workload, sizes, load, how the target was reached. Refuses
nothing.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from mileage.plan import Cell, Plan, Workload
from mileage.plan.io_options import Reach
from mileage.plan.page_cache_state import Caching
from mileage.plan.pattern import is_own_master
from mileage.plan.sizes import counted, format_bytes
from mileage.plan.study import PURGE_EACH
from mileage.plan.transfer_api import api_word
from mileage.report.quantity import duration
from mileage.report.served_drives import served_words


def setting_text(plan: Plan, width: int = 80) -> str:
    """Two or three lines on what is measured, ending in an empty line."""
    return "\n".join(line for text in setting_lines(plan) for line in textwrap.wrap(text, width)) + "\n"


def setting_lines(plan: Plan) -> tuple[str, str]:
    """Lines about the measured workload and target, and the sizes and options that all cells share."""
    cells = plan.cells
    if not cells:
        return f"nothing is measured on {plan.study.target}: it is only written to", ""
    first = cells[0]
    shared = _common(
        [
            cell.job.words() if cell.job else _words(cell.workload, cell.reach) if cell.workload else []
            for cell in cells
        ]
    )
    names = list(dict.fromkeys(short_name(cell.key.name) for cell in cells))
    what = ", ".join(names)
    one = len(names) == 1 and len({cell.title for cell in cells}) == 1
    title = first.title.partition(": ")[2] or first.title if one else ""
    # The target `null:` ends in a colon already; a second one would read as a mistake.
    if plan.study.state.carryover == PURGE_EACH and sum(run.role == "measure" for run in plan.runs) > 1:
        shared.append(f"a new {'drive' if plan.facts.capabilities.simulated else 'work file'} for each run")
    if served := served_words(plan):
        shared.append(served)
    colon = "" if not title else " " if str(plan.target).endswith(":") else ": "
    return f"{what} on {plan.target}{colon}{title}", "; ".join(shared)


def labels_of(cells: Sequence[Cell]) -> dict[str, str]:
    """Short name of each cell, by its label: the parts that not all cells share; for a single cell, its name."""
    parts = {cell.label: [short_name(cell.key.name), *cell.key.parts] for cell in cells}
    common = _common(list(parts.values()))
    short = {cell: ", ".join(part for part in own if part not in common) for cell, own in parts.items()}
    return {cell: label or parts[cell][0] for cell, label in short.items()}


def headed(cells: Sequence[Cell], wanted: Sequence[str]) -> tuple[str, list[str]]:
    """A heading and a name for each wanted cell, by its label: "depth" and "1", "2", "4" where only the depth differs.

    Without a heading, the names are those of `labels_of`.
    """
    names = labels_of(cells)
    parts = {cell.label: {**cell.key.properties, **cell.key.factors} for cell in cells}
    every = dict.fromkeys(name for own in parts.values() for name in own)
    differ = [name for name in every if len({own.get(name) for own in parts.values()}) > 1]
    if (
        len(cells) > 1
        and len(differ) == 1
        and differ != ["test"]
        and all(differ[0] in own for own in parts.values())
    ):
        return differ[0], [parts[label][differ[0]] for label in wanted]
    return "", [names[label] for label in wanted]


def short_name(workload: str) -> str:
    """A workload as people call it: `pattern.random_read` is `random_read`."""
    return workload.removeprefix("pattern.")


def _words(workload: Workload, reach: Reach | None) -> list[str]:
    stop = workload.stop
    words = [
        f"records of {'up to ' if is_own_master(workload.pattern) else ''}{format_bytes(workload.record_bytes)}",
        f"in {format_bytes(workload.span_bytes)}",
        counted(workload.threads, "thread"),
        *([f"in {reach.processes} processes"] if reach is not None and reach.processes > 1 else []),
        f"depth {workload.depth}",
    ]
    words += [f"for {duration(stop.time_ns)}"] if stop.time_ns is not None else []
    words += [f"until {format_bytes(stop.bytes)}"] if stop.bytes is not None else []
    words += [f"until {counted(stop.operations, 'operation')}"] if stop.operations is not None else []
    if reach is None:
        return [*words, "simulated time"]
    words.append(api_word(reach.options.api).replace("uring", "io_uring"))
    if reach.options.api != "null":
        words.append(cache_words(reach.caching))
    return words


def cache_words(caching: Caching) -> str:
    """Describe the state of the page cache in words."""
    if caching.mode == "limited":
        return f"page cache emptied, then within {format_bytes(caching.limit_bytes)} of memory"
    return _CACHES[caching.mode]


_CACHES = {
    "direct": "page cache bypassed",
    "cold": "page cache emptied before each run",
    "dropped": "whole machine's page cache emptied before each run",
    "hot": "page cache filled before each run",
    "warm": "page cache used",
}


def _common(lists: list[list[str]]) -> list[str]:
    """The words that all lists have, in the order of the first."""
    return [word for word in lists[0] if all(word in other for other in lists)]
