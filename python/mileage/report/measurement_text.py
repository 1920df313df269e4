"""Terminal text of a measurement: a block of lines for one workload and size, a table for several.

Scope: plain lines of at most `width` columns, with every unit said: a stranger should be able to read them. Rates and
operations are geometric means of the runs, latencies are of all runs together. Refuses widths under 80 columns, where
the table would lose its columns.
"""

from __future__ import annotations

import statistics
import textwrap
from collections.abc import Callable, Sequence
from typing import Final

from mileage.judge import Summary, summarise
from mileage.model.operation_kind import LATENCY_KINDS, WAITED_FOR
from mileage.model.write_amplification import FLASH, write_amplification
from mileage.plan import Cell
from mileage.plan.commit_setting import CommitSetting, Layout
from mileage.plan.quantiles import operations_needed
from mileage.plan.sizes import counted
from mileage.report.cell_estimates import (
    METHOD,
    RatedCell,
    completed_words,
    half_width,
    has_values,
    is_partial,
    is_wide,
    median_words,
    partial_words,
    point,
    rate_of,
    with_interval,
)
from mileage.report.measurement_setup import headed, labels_of
from mileage.report.quantity import column_width, duration, figure, lost_of, mb_per_s, mib_per_s
from mileage.store import Latency, MeasuredCell
from mileage.store.cell_measurements import SHARES

NARROWEST: Final = 80
_NAME: Final = 14
_LABELS_SHOWN: Final = 6
_UNKNOWN_SPREAD: Final = ", so the spread between runs is not known: "
_QUANTILES: Final = {"p50": "p50_ns", "p99": "p99_ns", "p99.9": "p99_9_ns"}

WIDE: Final = "LOW to HIGH: the interval itself, in IOPS, where half of it is more than the mean."
ROWS_SHOWN: Final = 60
"""Cells that the terminal lists."""
MEMORY_PERCENT_MIN: Final = 0.5
"""Less than this share of the reads from memory is not shown."""
_SAME_SIZE: Final = 1.25
"""Ratio up to which bytes per operation are one size."""
Column = tuple[str, int, Callable[[MeasuredCell], str]]
"""Head, width, and the text of a cell."""


def measured_text(
    cells: Sequence[MeasuredCell], planned: Sequence[Cell], width: int = 80, *, elsewhere: str = ""
) -> str:
    """The figures of the cells, ending in a line feed; what distinguishes them is in the keys of the planned cells.

    `elsewhere`: where all cells are listed, so that the first of very many are enough here; empty: nowhere.
    ValueError under 80 columns.
    """
    if not cells:
        return "no run was finished, so that there are no figures\n"
    if width < NARROWEST:
        raise ValueError(f"width is {width} columns; expected {NARROWEST} or more")
    lines = _block(cells[0]) if len(cells) == 1 else _table(cells, planned, elsewhere)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _block(cell: MeasuredCell) -> list[str]:
    rate, ops = rate_of(cell, "rate_bytes_per_s"), rate_of(cell, "ops_per_s")
    rows: list[tuple[str, str]] = []
    if has_values(rate):
        rows.append(
            (
                "rate",
                _estimated(rate, f"{with_interval(rate, mib_per_s)} MiB/s   {point(rate, mb_per_s)} MB/s"),
            )
        )
    total = cell.ops_read + cell.ops_written + cell.ops_discarded + cell.ops_metadata
    seconds = sum(cell.elapsed_s)
    shown = _estimated(ops, f"{with_interval(ops, figure)} /s")
    rows.append(("operations", f"{shown}   {total:,} in {seconds:.3g} s"))
    if cell.warm_up_ops:
        moved = f"{counted(cell.warm_up_ops, 'operation')}, {cell.warm_up_bytes / 2**20:,.1f} MiB"
        rows.append(("warm-up", f"{moved}, in none of these figures"))
    if cell.runs > 1:
        rows += _run_rows(cell, *((rate, mb_per_s, "MB/s") if has_values(rate) else (ops, figure, "/s")))
    if cell.per_second_bytes:
        low, high = cell.per_second_bytes
        rows.append(("each second", f"{mib_per_s(low)} to {mib_per_s(high)} MiB/s"))
    rows += _latency_rows(cell)
    if any(cell.first_done_bytes_per_s):
        first = point(summarise(cell.first_done_bytes_per_s), mib_per_s)
        rows.append(("first done", f"{first} MiB/s until the first thread was done"))
    rows += _cost_rows(cell)
    return [f"  {name:<{_NAME}}{text}" for name, text in rows]


def _estimated(found: Summary, words: str) -> str:
    """The words of an estimate, or that there is none."""
    return f"not estimable: {completed_words(found)}" if is_partial(found) else words


def _run_rows(
    cell: MeasuredCell, found: Summary, words: Callable[[float], str], unit: str
) -> list[tuple[str, str]]:
    """The number of runs, and what else describes them: the median with its own interval, and the pooled rate."""
    rows = [("runs", f"{cell.runs}; {METHOD}, with their 95 % interval")]
    # What describes only the runs that did not fail would be too favourable.
    whole = found.n == found.asked
    if whole and (median := median_words(found, words, unit)):
        rows.append(("median", median))
    if whole and found.pooled is not None:
        rows.append(("pooled", f"{words(found.pooled)} {unit}: all work over all time"))
    return rows


def _latency_rows(cell: MeasuredCell) -> list[tuple[str, str]]:
    kinds = [kind for kind in WAITED_FOR if kind in cell.latency]
    opened = "response" in cell.latency
    rows = []
    for kind in kinds:
        name = "latency" if len(kinds) == 1 and not opened else LATENCY_KINDS[kind].latency
        rows += _quantiles(name if not opened or len(kinds) > 1 else "service", cell.latency[kind])
    if opened:
        rows += _quantiles("response", cell.latency["response"])
        rows.append(("", "(service: from the submission; response: from when it was due)"))
    sync = cell.latency.get("sync")
    if (commit := cell.latency.get("commit")) is not None:
        # The question is when a write is safe: the write into memory comes after it.
        synced = sync is not None and sync.count >= commit.count
        what, place = "writes are durable when they complete", []
        if (setting := cell.commit_setting) is not None:
            each = setting.writes
            writes = counted(round(each), "write") if each == round(each) else f"{each:.3g} writes"
            what = f"the start of {writes} to the end of the sync" if synced else what
            place = [("", f"({_place_words(setting)})")]
        rows = [*_quantiles("commit", commit, "commit"), ("", f"({what})"), *place, *rows]
    if sync is not None:
        rows += _quantiles("sync", sync, "sync")[:1]
        rows.append(("", f"({counted(sync.count, 'time')}, {quantile_words(sync, 'mean_ns')} each)"))
    return rows


_LAYOUTS: Final[dict[Layout, str]] = {
    "append": "appended to a new file",
    "preallocated": "into allocated, unwritten blocks of a file",
    "overwrite": "over written blocks of a file",
    "device": "to a device, without a file",
}


def _place_words(setting: CommitSetting) -> str:
    """How many commits are made at once, and where they go: "2 threads, depth 1, over written blocks of a file"."""
    return f"{counted(setting.threads, 'thread')}, depth {setting.depth}, {_LAYOUTS[setting.layout]}"


def _quantiles(name: str, latency: Latency, unit: str = "operation") -> list[tuple[str, str]]:
    """The quantiles that there are enough operations for; a second row lists the others."""
    known = [word for word, field in _QUANTILES.items() if getattr(latency, field) is not None]
    words = [f"{word} {quantile_words(latency, _QUANTILES[word])}" for word in known]
    rows = [(name, "   ".join([*words, f"max {quantile_words(latency, 'max_ns')}"]))]
    if latency.unfinished:
        rows.append(("", f"(≥: at least; {counted(latency.unfinished, unit)} failed or timed out)"))
    missing = [word for word in _QUANTILES if word not in known]
    if missing:
        rows.append(("", f"({counted(latency.count, unit)}, too few; {_needed(missing)})"))
    return rows


def _needed(quantiles: Sequence[str]) -> str:
    """Number of operations that quantiles need: "p99 needs 1,000, p99.9 10,000"."""
    needs = [f"{word} {operations_needed(SHARES[_QUANTILES[word]]):,}" for word in quantiles]
    return ", ".join([needs[0].replace(" ", " needs ", 1), *needs[1:]])


def _cost_rows(cell: MeasuredCell) -> list[tuple[str, str]]:
    rows = []
    if cell.cpu_ns_per_op is not None and cell.cpu_cores is not None:
        own = f", {duration(cell.overhead_ns_per_op)} the engine" if cell.overhead_ns_per_op else ""
        rows.append(
            (
                "CPU",
                f"{duration(cell.cpu_ns_per_op)} per operation{own}; {cell.cpu_cores:.2f} processors busy",
            )
        )
    if cell.saved_percent:
        saved = ", ".join(f"{name} {max(percent, 0):.0f} %" for name, percent in cell.saved_percent.items())
        twice = "" if cell.duplicate_percent is None else f"; {cell.duplicate_percent:.0f} % duplicate blocks"
        rows.append(("data written", f"{saved} saved{twice}"))
    if cell.ops_compared:
        cost = (
            "" if cell.verify_ns_per_compared is None else f", {duration(cell.verify_ns_per_compared)} each"
        )
        rows.append(
            ("compared", f"{counted(cell.ops_compared, 'read')}, all as written{cost} (outside latencies)")
        )
    if cell.device:
        rows.append(("device", _device(cell)))
    if _shows_memory(cell):
        rows.append(("from memory", f"{memory_words(cell)} of what was read"))
    if lost := lost_words(cell):
        rows.append(("power cut", lost))
    if cell.limited_by:
        rows.append(("limited by", ", ".join(cell.limited_by)))
    amplification = write_amplification(cell.counters)
    if amplification is not None:
        medium, done = ("flash", "programmed") if FLASH in cell.counters else ("medium", "written to it")
        rows.append((medium, f"{amplification:.2f} bytes {done} for each byte written"))
    return rows


def lost_writes(cell: MeasuredCell) -> int | None:
    """The writes that the power cuts after the runs lost; None without power cuts."""
    return cell.counters.get("power_cut_writes_lost")


def lost_words(cell: MeasuredCell) -> str:
    """What the power cuts lost: "12 writes lost, 48.0 KiB, by 5 cuts"; on a modelled host, of the synced ones."""
    lost = lost_writes(cell)
    if lost is None:
        return ""
    cuts = counted(cell.runs, "cut")
    if (synced := cell.counters.get("power_cut_writes_synced")) is not None:
        return f"{lost_of(lost, synced)} lost by {cuts}"
    size = cell.counters.get("power_cut_bytes_lost", 0)
    return f"{counted(lost, 'write')} lost, {size / 1024:,.1f} KiB, by {cuts}"


def _device(cell: MeasuredCell) -> str:
    """Counters of the device, including the I/O of other programs."""
    found = cell.device
    kinds = (("reads", "read", "read_bytes"), ("writes", "write", "write_bytes"))
    words = [
        f"{counted(found[count], noun)} {found[size] / 2**20:,.1f} MiB"
        for count, noun, size in kinds
        if found[count]
    ]
    busy = found["busy_ms"] / 1000 / sum(cell.elapsed_s) if sum(cell.elapsed_s) else 0.0
    return ", ".join(words or ["no read, no write"]) + f", {100 * min(busy, 1.0):.0f} % busy"


def _table(every: Sequence[MeasuredCell], planned: Sequence[Cell], elsewhere: str) -> list[str]:
    cells = every[:ROWS_SHOWN] if elsewhere else every
    columns = [(head, column_width(least, map(text, cells)), text) for head, least, text in columns_of(cells)]
    known = labels_of(planned)
    head, names = headed(planned, [cell.cell for cell in cells])
    labels = [known[cell.cell] for cell in cells]
    room = NARROWEST - sum(width for _, width, _ in columns)
    longest = max(len(head), *(len(name) for name in names))
    fits = longest <= room
    label_width = longest if fits else 2
    first = head if fits else ""
    lines = [f"{first:<{label_width}}" + "".join(f"{head:>{width}}" for head, width, _ in columns)]
    lines.append("-" * len(lines[0]))
    for cell, name, label in zip(cells, names, labels, strict=True):
        figures = "".join(f"{text(cell):>{width}}" for _, width, text in columns)
        lines += [f"{name:>{label_width}}{figures}"] if fits else [label, " " * label_width + figures]
    if len(cells) < len(every):
        lines += _wrapped(f"and {len(every) - len(cells)} more cells; {elsewhere}")
    lines.append("")
    kind = _shown_kind(cells)
    opened = kind == "response"
    words = "a commit, from its first write to the end of its sync" if kind == "commit" else "an operation"
    if opened:
        words += ", from when it was due"
        words += "" if any(_shows_memory(cell) for cell in cells) else "; serv p99: from its submission"
    cost = "; CPU/op: processor time of one" if any(cell.cpu_ns_per_op is not None for cell in cells) else ""
    last = "p99.9" if opened or any(_shows_memory(cell) for cell in cells) else "max"
    lines += _wrapped(f"p50 to {last}: latency of {words}{cost}.")
    if _only_names(cells):
        lines += _wrapped(
            "time: wall time of a run, from the first start to the last end of its tasks; a geometric mean."
        )
    shown = [cell.latency[kind] for cell in cells if kind in cell.latency]
    missing = [w for w, field in _QUANTILES.items() if any(getattr(found, field) is None for found in shown)]
    if missing:
        lines += _wrapped(f"-: too few operations; {_needed(missing)}.")
    if kind == "commit":
        places = dict.fromkeys(_place_words(cell.commit_setting) for cell in cells if cell.commit_setting)
        lines += _wrapped(f"Commits: {'; or '.join(places)}.") if places else []
    if any(found.at_least for found in shown):
        lines += _wrapped("≥: at least, as some failed or timed out, and would have taken longer.")
    if any(_shows_memory(cell) for cell in cells):
        lines += _wrapped("memory: share of the bytes read that came from memory, not from the device.")
    if any(cell.runs > 1 for cell in cells):
        lines += _wrapped(
            f"Rates are {METHOD}; ±: half their 95 % interval."
            + (f" {WIDE}" if any(is_wide(rate_of(cell, "ops_per_s")) for cell in cells) else "")
        )
    if any(lost_writes(cell) is not None for cell in cells):
        lines += _wrapped("lost: writes that a power cut after each run lost, of all runs together.")
    lines += _wrapped(partial_words((known[cell.cell], rate_of(cell, "ops_per_s")) for cell in cells))
    lines += _limits(every, [known[cell.cell] for cell in every])
    return lines if lines[-1] else lines[:-1]


def answer(cells: Sequence[RatedCell]) -> str:
    """Summarise a measurement in one sentence with its certainty.

    The rate of a cell, or the lowest and highest of several: in IOPS where all cells have operations of one size, else
    in MB/s, because the largest operations are always the fewest.

    Says so where there was one run of each cell, since nothing is known of their spread then, and where the intervals
    of the two ends overlap, since their order is not certain. A second sentence lists cells in which a run failed or
    did nothing. Empty where nothing was done, and where some cells have only IOPS and others only bytes per second,
    which have no order.
    """
    done = [cell for cell in cells if any(cell.ops_per_s) or any(cell.rate_bytes_per_s)]
    counted, moved = (
        all(any(getattr(cell, rates)) for cell in done) for rates in ("ops_per_s", "rate_bytes_per_s")
    )
    if not done or not (counted or moved):
        return ""
    counted = counted and not (moved and _differ_in_size(done))
    name = "ops_per_s" if counted else "rate_bytes_per_s"
    found = [(rate_of(cell, name), cell) for cell in done]
    found += [(rate_of(cell, "ops_per_s"), cell) for cell in cells if cell not in done]
    partial = [f"{cell.cell} ({completed_words(rate)})" for rate, cell in found if is_partial(rate)]
    missing = f"Not estimable, since a run failed or did nothing: {'; '.join(partial)}." if partial else ""
    known = [(rate, cell) for rate, cell in found if rate.geometric_mean is not None]
    return " ".join(filter(None, (_range_words(known, counted=counted), missing)))


def _range_words(known: Sequence[tuple[Summary, RatedCell]], *, counted: bool) -> str:
    """The rate of one cell, or of the lowest and the highest of several."""
    if not known:
        return ""
    single = max(cell.runs for _, cell in known) == 1
    opening = f"One run of each cell{_UNKNOWN_SPREAD}" if single else ""
    if len(known) == 1:
        opening = f"One run{_UNKNOWN_SPREAD}" if single else ""
        return f"{opening}{_rate_words(known[0][1], counted=counted)}, at {known[0][1].cell}."
    ordered = sorted(known, key=lambda pair: pair[0].geometric_mean or 0.0)
    (least, low), (most, high) = ordered[0], ordered[-1]
    overlap = least.mean_ci95 and most.mean_ci95 and least.mean_ci95[1] >= most.mean_ci95[0]
    first = "from" if single else "From"
    at = ", at" if counted else " at"
    ends = [
        f"{_rate_words(cell, counted=counted, alone=not counted)}{at} {cell.cell}" for cell in (low, high)
    ]
    return f"{opening}{first} {ends[0]}, to {ends[1]}." + (
        " The intervals of the two overlap: which is higher is not certain." if overlap else ""
    )


def _differ_in_size(cells: Sequence[RatedCell]) -> bool:
    """Whether cells move different numbers of bytes with an operation."""
    sizes = [
        sum(cell.rate_bytes_per_s) / len(cell.rate_bytes_per_s) / (sum(cell.ops_per_s) / len(cell.ops_per_s))
        for cell in cells
    ]
    return max(sizes) > _SAME_SIZE * min(sizes)


def _rate_words(cell: RatedCell, *, counted: bool, alone: bool = False) -> str:
    """The rate with its interval: "564 IOPS, 2.3 MB/s (95 % interval 8.02 to 3,552 IOPS, 5 runs)".

    Where cells are not ordered by operations (`counted`), in MB/s first. `alone`: in that unit only.
    """
    known = {
        "IOPS": (figure, rate_of(cell, "ops_per_s")),
        "MB/s": (mb_per_s, rate_of(cell, "rate_bytes_per_s")),
    }
    unit, other = ("IOPS", "MB/s") if counted else ("MB/s", "IOPS")
    words, found = known[unit]
    moved = ""
    if known[other][1].geometric_mean is not None and not alone:
        moved = f", {point(known[other][1], known[other][0])} {other}"
    interval = ""
    if found.mean_ci95 is not None:
        low, high = found.mean_ci95
        ends = f"95 % interval {words(low)} to {words(high)} {unit}"
        spread = "no spread between the runs" if words(low) == words(high) else ends
        interval = f" ({spread}, {cell.runs} runs)"
    return f"{point(found, words)} {unit}{moved}{interval}"


def columns_of(cells: Sequence[MeasuredCell]) -> list[Column]:
    """The columns that these cells have figures for."""
    repeated = any(cell.runs > 1 for cell in cells)
    kind = _shown_kind(cells)
    opened = kind == "response"
    timed = any(cell.cpu_ns_per_op is not None for cell in cells)
    columns: list[Column] = [
        ("MiB/s", 8, lambda cell: point(rate_of(cell, "rate_bytes_per_s"), mib_per_s)),
        ("MB/s", 8, lambda cell: point(rate_of(cell, "rate_bytes_per_s"), mb_per_s)),
    ]
    if _only_names(cells):
        columns = [
            ("time", 9, lambda cell: point(summarise(cell.elapsed_s), lambda time_s: duration(1e9 * time_s)))
        ]
    if repeated:
        columns.append(("±", 7, lambda cell: half_width(rate_of(cell, "ops_per_s"), figure)))
    columns.append(("IOPS", 9, lambda cell: point(rate_of(cell, "ops_per_s"), figure)))
    columns += [
        ("p50", 8, lambda cell: _quantile(cell, kind, "p50_ns")),
        ("p99", 8, lambda cell: _quantile(cell, kind, "p99_ns")),
        ("p99.9", 8, lambda cell: _quantile(cell, kind, "p99_9_ns")),
    ]
    if any(_shows_memory(cell) for cell in cells):
        columns.append(("memory", 8, memory_words))
    elif opened:
        columns.append(("serv p99", 9, lambda cell: _quantile(cell, "all", "p99_ns")))
    else:
        columns.append(("max", 8, lambda cell: _quantile(cell, kind, "max_ns")))
    if any(lost_writes(cell) is not None for cell in cells):
        columns.append(("lost", 8, lambda cell: "-" if (lost := lost_writes(cell)) is None else f"{lost:,}"))
    if timed and not (repeated and opened):
        columns.append(("CPU/op", 8, lambda cell: duration(cell.cpu_ns_per_op)))
    return columns


def _shown_kind(cells: Sequence[MeasuredCell]) -> str:
    """The latencies of the columns: of commits where all cells have them and only write, else of operations."""
    if all("commit" in cell.latency and not cell.ops_read for cell in cells):
        return "commit"
    return "response" if any("response" in cell.latency for cell in cells) else "all"


def _only_names(cells: Sequence[MeasuredCell]) -> bool:
    """Whether all cells work on names and move no bytes: their wall time has the place of the rates in bytes."""
    return all(cell.ops_metadata and not any(cell.rate_bytes_per_s) for cell in cells)


def _shows_memory(cell: MeasuredCell) -> bool:
    """Whether the share of reads that memory served is large enough for a column."""
    return bool(cell.memory_percent) and max(cell.memory_percent) >= MEMORY_PERCENT_MIN


def memory_words(cell: MeasuredCell) -> str:
    """The share of what was read that came from memory, the median of the runs: "24 %"; "-" when not known."""
    return f"{statistics.median(cell.memory_percent):.0f} %" if cell.memory_percent else "-"


def _quantile(cell: MeasuredCell, kind: str, name: str) -> str:
    latency = cell.latency.get(kind)
    return "-" if latency is None else quantile_words(latency, name)


def quantile_words(latency: Latency, name: str) -> str:
    """A quantile, "≥ 30 s" where it is the least that it can be; "-" where too few lie beyond it."""
    return f"{'≥ ' if name in latency.at_least else ''}{duration(getattr(latency, name))}"


def _limits(cells: Sequence[MeasuredCell], labels: Sequence[str]) -> list[str]:
    found: dict[str, list[str]] = {}
    for cell, label in zip(cells, labels, strict=True):
        if cell.limited_by:
            found.setdefault(", ".join(cell.limited_by), []).append(label)
    if len(found) == 1 and sum(len(group) for group in found.values()) == len(cells):
        return [f"limited by: {next(iter(found))}"]
    text = "; ".join(f"{limit} at {_some(group)}" for limit, group in found.items())
    return _wrapped(f"limited by: {text}") if found else []


def _some(labels: Sequence[str]) -> str:
    """The first labels, and how many more there are."""
    if len(labels) <= _LABELS_SHOWN:
        return ", ".join(labels)
    return f"{', '.join(labels[:_LABELS_SHOWN])} and {len(labels) - _LABELS_SHOWN} more cells"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, NARROWEST, break_on_hyphens=False)
