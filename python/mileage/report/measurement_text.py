"""Terminal text of a measurement: a block of lines for one workload and size, a table for several.

Scope: plain lines of at most `width` columns, with every unit said: a stranger should be able to read them. Rates and
operations are medians over the runs, latencies are of all runs together. Refuses widths under 80 columns, where the
table would lose its columns.
"""

from __future__ import annotations

import statistics
import textwrap
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from mileage.model.operation_kind import LATENCY_KINDS, WAITED_FOR
from mileage.model.write_amplification import write_amplification
from mileage.plan import Cell
from mileage.plan.quantiles import operations_needed, quantile_is_supported
from mileage.plan.sizes import counted
from mileage.report.measurement_setup import headed, labels_of
from mileage.report.quantity import column_width, duration, figure, mb_per_s, mib_per_s
from mileage.store import Latency, MeasuredCell
from mileage.store.cell_measurements import SHARES

NARROWEST: Final = 80
_NAME: Final = 14
_LABELS_SHOWN: Final = 6
_UNKNOWN_SPREAD: Final = ", so the spread between runs is not known: "
_QUANTILES: Final = {"p50": "p50_ns", "p99": "p99_ns", "p99.9": "p99_9_ns"}

WIDE: Final = "LOW to HIGH: the interval itself, in IOPS, where half of it is more than the median."
ROWS_SHOWN: Final = 60
"""Cells that the terminal lists."""
MEMORY_PERCENT_MIN: Final = 0.5
"""Less than this share of the reads from memory is not shown."""
_SAME_SIZE: Final = 1.25
"""Ratio up to which bytes per operation are one size; medians of rates and of operations may be of different runs."""
Column = tuple[str, int, Callable[[MeasuredCell], str]]
"""Head, width, and the text of a cell."""


def measured_text(
    cells: Sequence[MeasuredCell], planned: Sequence[Cell], width: int = 80, *, elsewhere: str = ""
) -> str:
    """The figures of the cells, ending in a line feed; what distinguishes them is in the keys of the planned cells.

    `elsewhere`: where all cells are listed, so that the first of very many are enough here; empty: nowhere.
    ValueError under 80 columns.
    """
    if width < NARROWEST:
        raise ValueError(f"width is {width} columns; expected {NARROWEST} or more")
    lines = _block(cells[0]) if len(cells) == 1 else _table(cells, planned, elsewhere)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _block(cell: MeasuredCell) -> list[str]:
    rate, ops = spread_of(cell.rate_bytes_per_s), spread_of(cell.ops_per_s)
    rows: list[tuple[str, str]] = []
    if any(cell.rate_bytes_per_s):
        rows.append(("rate", f"{rate.formatted(mib_per_s)} MiB/s   {mb_per_s(rate.median)} MB/s"))
    total = cell.ops_read + cell.ops_written + cell.ops_discarded + cell.ops_metadata
    seconds = sum(cell.elapsed_s)
    rows.append(("operations", f"{ops.formatted(figure)} /s   {total:,} in {seconds:.3g} s"))
    if cell.warm_up_ops:
        moved = f"{counted(cell.warm_up_ops, 'operation')}, {cell.warm_up_bytes / 2**20:,.1f} MiB"
        rows.append(("warm-up", f"{moved}, in none of these figures"))
    if cell.runs > 1:
        rows.append(("runs", f"{cell.runs}; medians, and the 95 % interval of the mean"))
    if cell.per_second_bytes:
        low, high = cell.per_second_bytes
        rows.append(("each second", f"{mib_per_s(low)} to {mib_per_s(high)} MiB/s"))
    rows += _latency_rows(cell)
    if any(cell.first_done_bytes_per_s):
        first = spread_of(cell.first_done_bytes_per_s)
        rows.append(("first done", f"{mib_per_s(first.median)} MiB/s until the first thread was done"))
    rows += _cost_rows(cell)
    return [f"  {name:<{_NAME}}{text}" for name, text in rows]


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
    if "sync" in cell.latency:
        sync = cell.latency["sync"]
        rows.append(("sync", f"{counted(sync.count, 'time')}, {duration(sync.mean_ns)} each"))
    return rows


def _quantiles(name: str, latency: Latency) -> list[tuple[str, str]]:
    """The quantiles that there are enough operations for; a second row lists the others."""
    known = {word: field for word, field in _QUANTILES.items() if quantile_ns(latency, field) is not None}
    words = [f"{word} {duration(quantile_ns(latency, field))}" for word, field in known.items()]
    rows = [(name, "   ".join([*words, f"max {duration(latency.max_ns)}"]))]
    missing = [word for word in _QUANTILES if word not in known]
    if missing:
        rows.append(("", f"({counted(latency.count, 'operation')}, too few; {_needed(missing)})"))
    return rows


def _needed(quantiles: Sequence[str]) -> str:
    """Number of operations that quantiles need: "p99 needs 1,000, p99.9 10,000"."""
    needs = [f"{word} {operations_needed(SHARES[_QUANTILES[word]]):,}" for word in quantiles]
    return ", ".join([needs[0].replace(" ", " needs ", 1), *needs[1:]])


def quantile_ns(latency: Latency, field: str) -> int | None:
    """A field of the latencies in nanoseconds; None for a quantile that too few operations lie beyond."""
    share = SHARES.get(field)
    if share is not None and not quantile_is_supported(latency.count, share):
        return None
    return int(getattr(latency, field))


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
    if cell.limited_by:
        rows.append(("limited by", ", ".join(cell.limited_by)))
    amplification = write_amplification(cell.counters)
    if amplification is not None:
        rows.append(("flash", f"{amplification:.2f} bytes programmed for each byte written"))
    return rows


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
    opened = any("response" in cell.latency for cell in cells)
    words = "an operation"
    if opened:
        words += ", from when it was due"
        words += "" if any(_shows_memory(cell) for cell in cells) else "; serv p99: from its submission"
    cost = "; CPU/op: processor time of one" if any(cell.cpu_ns_per_op is not None for cell in cells) else ""
    last = "p99.9" if opened or any(_shows_memory(cell) for cell in cells) else "max"
    lines += _wrapped(f"p50 to {last}: latency of {words}{cost}.")
    if _only_names(cells):
        lines += _wrapped(
            "time: wall time of a run, from the first start to the last end of its tasks; a median."
        )
    kind = "response" if opened else "all"
    shown = [cell.latency[kind] for cell in cells if kind in cell.latency]
    missing = [
        w for w, field in _QUANTILES.items() if any(quantile_ns(found, field) is None for found in shown)
    ]
    if missing:
        lines += _wrapped(f"-: too few operations; {_needed(missing)}.")
    if any(_shows_memory(cell) for cell in cells):
        lines += _wrapped("memory: share of the bytes read that came from memory, not from the device.")
    if any(cell.runs > 1 for cell in cells):
        lines += _wrapped(
            "±: half the 95 % interval of the mean over the runs; rates are medians."
            + (f" {WIDE}" if any(spread_of(cell.ops_per_s).is_wide for cell in cells) else "")
        )
    lines += _limits(every, [known[cell.cell] for cell in every])
    return lines if lines[-1] else lines[:-1]


class RatedCell(Protocol):
    """The rates of a cell: one value per run, none where a rate is not known."""

    @property
    def cell(self) -> str: ...
    @property
    def runs(self) -> int: ...
    @property
    def rate_bytes_per_s(self) -> tuple[float, ...]: ...
    @property
    def ops_per_s(self) -> tuple[float, ...]: ...


def answer(cells: Sequence[RatedCell]) -> str:
    """Summarise a measurement in one sentence with its certainty.

    The rate of a cell, or the lowest and highest of several: in IOPS where all cells have operations of one size, else
    in MB/s, because the largest operations are always the fewest.

    Says so where there was one run of each cell, since nothing is known of their spread then, and where the intervals
    of the two ends overlap, since their order is not certain. Empty where nothing was done, and where some cells have
    only IOPS and others only bytes per second, which have no order.
    """
    done = [cell for cell in cells if any(cell.ops_per_s) or any(cell.rate_bytes_per_s)]
    counted, moved = (
        all(any(getattr(cell, rates)) for cell in done) for rates in ("ops_per_s", "rate_bytes_per_s")
    )
    if not done or not (counted or moved):
        return ""
    counted = counted and not (moved and _differ_in_size(done))
    single = max(cell.runs for cell in done) == 1
    opening = f"One run of each cell{_UNKNOWN_SPREAD}" if single else ""
    if len(done) == 1:
        opening = f"One run{_UNKNOWN_SPREAD}" if single else ""
        return f"{opening}{_rate_words(done[0], counted=counted)}, at {done[0].cell}."
    spreads = [(spread_of(cell.ops_per_s if counted else cell.rate_bytes_per_s), cell) for cell in done]
    spreads.sort(key=lambda pair: pair[0].median)
    (least, low), (most, high) = spreads[0], spreads[-1]
    overlap = least.high is not None and most.low is not None and least.high >= most.low
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
        spread_of(cell.rate_bytes_per_s).median / ops
        for cell in cells
        if (ops := spread_of(cell.ops_per_s).median)
    ]
    return bool(sizes) and max(sizes) > _SAME_SIZE * min(sizes)


def _rate_words(cell: RatedCell, *, counted: bool, alone: bool = False) -> str:
    """The median rate with its interval: "564 IOPS, 2.3 MB/s (95 % interval 8.02 to 3,552 IOPS, 5 runs)".

    Where cells are not ordered by operations (`counted`), in MB/s first. `alone`: in that unit only.
    """
    known = {
        "IOPS": (figure, cell.ops_per_s),
        "MB/s": (mb_per_s, cell.rate_bytes_per_s),
    }
    unit, other = ("IOPS", "MB/s") if counted else ("MB/s", "IOPS")
    words, spread = known[unit][0], spread_of(known[unit][1])
    moved = ""
    if any(known[other][1]) and not alone:
        moved = f", {known[other][0](spread_of(known[other][1]).median)} {other}"
    interval = ""
    if spread.low is not None and spread.high is not None:
        interval = f" (95 % interval {words(spread.low)} to {words(spread.high)} {unit}, {cell.runs} runs)"
    return f"{words(spread.median)} {unit}{moved}{interval}"


def columns_of(cells: Sequence[MeasuredCell]) -> list[Column]:
    """The columns that these cells have figures for."""
    repeated = any(cell.runs > 1 for cell in cells)
    opened = any("response" in cell.latency for cell in cells)
    timed = any(cell.cpu_ns_per_op is not None for cell in cells)
    kind = "response" if opened else "all"
    columns: list[Column] = [
        ("MiB/s", 8, lambda cell: mib_per_s(spread_of(cell.rate_bytes_per_s).median)),
        ("MB/s", 8, lambda cell: mb_per_s(spread_of(cell.rate_bytes_per_s).median)),
    ]
    if _only_names(cells):
        columns = [("time", 9, lambda cell: duration(1e9 * statistics.median(cell.elapsed_s)))]
    if repeated:
        columns.append(("±", 7, lambda cell: spread_of(cell.ops_per_s).share_or_interval(figure)))
    columns.append(("IOPS", 9, lambda cell: figure(spread_of(cell.ops_per_s).median)))
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
    if timed and not (repeated and opened):
        columns.append(("CPU/op", 8, lambda cell: duration(cell.cpu_ns_per_op)))
    return columns


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
    return "-" if latency is None else duration(quantile_ns(latency, name))


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


class SpreadText:
    """Median and confidence interval of runs as text; an interval needs two or more values, all above 0."""

    def __init__(self, values: Sequence[float]) -> None:
        self.median = statistics.median(values) if values else 0.0
        self.low: float | None = None
        self.high: float | None = None
        if len(values) > 1 and min(values) > 0:
            from mileage.judge import spread

            found = spread(values)
            self.low, self.high = found.low, found.high

    @property
    def is_wide(self) -> bool:
        """Whether half the interval exceeds the median, so that a percentage would mislead."""
        return self.low is not None and self.high is not None and self.high - self.low > 2 * self.median

    def share_or_interval(self, words: Callable[[float], str]) -> str:
        """Half the interval as a share of the median, "1.2 %"; the interval itself, "2 to 950", where that is wide.

        A single run has "-".
        """
        if self.low is None or self.high is None or self.median == 0:
            return "-"
        if self.is_wide:
            return f"{words(self.low)} to {words(self.high)}"
        half = 50 * (self.high - self.low) / self.median
        return f"{half:.0f} %" if half >= 10 else f"{half:.1f} %"

    def formatted(self, words: Callable[[float], str]) -> str:
        """The median, with the interval where there is one: "512 (498 to 521)"."""
        if self.low is None or self.high is None:
            return words(self.median)
        return f"{words(self.median)} ({words(self.low)} to {words(self.high)})"


def spread_of(values: Sequence[float]) -> SpreadText:
    """The spread of the runs' values, for people."""
    return SpreadText(values)
