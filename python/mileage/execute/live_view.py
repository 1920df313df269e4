"""Live view of what runs, for every command: lines on a terminal, redrawn twice a second; elsewhere a line a minute.

Scope: the position in the plan, what is measured now, the recent rate, the last run's latency and drive counters, and
the time left; of a search for the highest rate, whose length is not known, only what is measured and the rate; of
several studies that run after each other, how many are done. A
separate thread draws; a run pays one addition per poll. NO_COLOR, a dumb terminal, a pipe and a file get no colours and
no moving lines: they get one line a minute, so that a short command prints nothing.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from mileage.execute.progress import Progress
from mileage.log import is_log_on
from mileage.model.run_record import RunRecord
from mileage.plan import Plan, PlannedRun
from mileage.plan.estimate import remaining_s
from mileage.plan.quantiles import quantile_is_supported
from mileage.plan.sizes import duration, format_bytes
from mileage.terminal import ascii_of, beneath, cut, harmless, is_coloured, one_line

if TYPE_CHECKING:
    from rich.live import Live


DRAWN_PER_S: Final = 2
LINE_EVERY_S: Final = 60.0
_WIDEST: Final = 120


class Terminal(Progress):
    """Writes to standard error; a context manager that restores the terminal on the way out."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        *,
        labels: Mapping[str, str] | None = None,
        endless: bool = False,
    ) -> None:
        """Writes nothing before :meth:`start`, so that a refusal is printed alone.

        `labels`: what a cell is called here, by its label. `endless`: how much is left is not known.
        """
        self._clock = clock
        self._standing = StudyStatus(clock)
        self._moving = is_coloured(sys.stderr) and not is_log_on()
        self._live: Live | None = None
        self._labels = labels or {}
        self._endless = endless
        self._lined_s = self._began_s = clock()

    def __enter__(self) -> Terminal:
        """Begin with an empty view."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the lines away."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def start(self, plan: Plan, spent_s: Mapping[int, float], lanes: int) -> None:
        """Show the lines."""
        self._standing.start(plan, spent_s, lanes)
        if not self._moving or self._live is not None:
            return
        self._live = live_lines(self.lines)
        self._live.start()

    def stage(self, text: str) -> None:
        """Name the stage."""
        self._standing.stage = one_line(text)

    def run(self, run: PlannedRun) -> None:
        """Name the cell."""
        self._standing.run(run)
        if run.role == "measure":
            self._standing.cell = self._labels.get(run.cell, run.cell)

    def advance(self, byte_count: int) -> None:
        """Count."""
        self._standing.advance(byte_count)
        self._maybe_line()

    def finished(self, run: PlannedRun, record: RunRecord) -> None:
        """Count the run, and keep what it showed."""
        self._standing.finished(run, record)

    def note(self, text: str) -> None:
        """Print a message above the progress lines that are redrawn."""
        if self._live is not None:
            self._live.console.print(harmless(text), markup=False, soft_wrap=True)
        else:
            print(text, file=sys.stderr, flush=True)

    def print(self, text: str) -> None:
        """Print to standard output, above the lines."""
        if self._live is not None and sys.stdout.isatty():
            self._live.console.print(harmless(text), markup=False, soft_wrap=True)
        else:
            print(text, flush=True)

    def _maybe_line(self) -> None:
        """Print a progress line once a minute; used where the output is no terminal."""
        if self._moving or self._clock() - self._lined_s < LINE_EVERY_S:
            return
        self._standing.look()
        self._lined_s = self._clock()
        print(f"  {self.line()}", file=sys.stderr, flush=True)

    def line(self) -> str:
        """Progress as one line for a log."""
        standing = self._standing
        minutes = int(self._clock() - self._began_s) // 60
        rate = standing.rate.rpartition(" ")
        parts = [f"{minutes} min", standing.stage, one_line(standing.cell), *self._how_far()]
        parts.append(f"{rate[0].rpartition(' ')[2]} {rate[2]}" if rate[2] else "")
        return ", ".join(part for part in parts if part)

    def lines(self, width: int) -> list[str]:
        """The view as lines of at most `width` columns."""
        standing = self._standing
        standing.look()
        plan = standing.plan
        virtual = plan is not None and plan.facts.virtual
        name = "" if plan is None else f"{plan.study.name} on {plan.study.target}"
        rows = [
            ("cell", standing.cell),
            ("simulating" if virtual else "rate", standing.rate),
            *standing.last(),
        ]
        return [
            cut(one_line(f"{standing.stage or 'starting'}: {name}"), width),
            *([] if self._endless else [bar(standing.share() or 0.0, width)]),
            *([] if self._endless else [cut("  ".join(self._how_far()), width)]),
            *[cut(f"{name:<11} {one_line(text)}", width) for name, text in rows if text],
        ]

    def _how_far(self) -> list[str]:
        standing = self._standing
        if standing.plan is None or self._endless:
            return []
        share = standing.share()
        parts = [] if share is None else [f"{100 * share:.0f} %"]
        return [*parts, f"{standing.runs_done:,} of {len(standing.plan.runs):,} runs", standing.left()]


class CountedProgress:
    """A job that is no study, shown in the same way: what is done of a known total; a context manager.

    The time left is that of what is done so far, in proportion; it is shown from the first step on.
    """

    def __init__(
        self, name: str, total: int, clock: Callable[[], float] = time.monotonic, *, unit: str = "studies"
    ) -> None:
        """`unit`: what is counted; "bytes" are printed as a size, with their rate."""
        self._name = name
        self._total = max(total, 1)
        self._unit = unit
        self._clock = clock
        self._done = 0
        self._lined_s = self._began_s = clock()
        self._live = live_lines(self.lines) if is_coloured(sys.stderr) and not is_log_on() else None

    def __enter__(self) -> CountedProgress:
        """Show the lines."""
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the lines away."""
        if self._live is not None:
            self._live.stop()

    def step(self, name: str) -> None:
        """A part of the job begins."""
        self._name = name

    def advance(self, count: int = 1) -> None:
        """Count `count` more finished items, and print a line of progress where there is no live view."""
        self._done += count
        if self._live is None and self._clock() - self._lined_s >= LINE_EVERY_S:
            self._lined_s = self._clock()
            minutes = int(self._clock() - self._began_s) // 60
            print(f"  {minutes} min, {', '.join(self._how_far())}", file=sys.stderr, flush=True)

    def advance_to(self) -> Callable[[int, int], bool]:
        """A function for a simulation to call with the bytes and operations that it has done; it never asks to stop."""
        before = self._done

        def poll(byte_count: int, _operations: int) -> bool:
            self.advance(before + byte_count - self._done)
            return False

        return poll

    def lines(self, width: int) -> list[str]:
        """The view as lines of at most `width` columns."""
        return [
            cut(one_line(self._name), width),
            bar(self._done / self._total, width),
            cut("  ".join(self._how_far()), width),
        ]

    def _how_far(self) -> list[str]:
        spent_s = self._clock() - self._began_s
        parts = [f"{100 * self._done / self._total:.0f} %"]
        if self._unit == "bytes":
            parts.append(f"{format_bytes(self._done)} of {format_bytes(self._total)}")
            parts += [f"{self._done / spent_s / 1e6:,.0f} MB/s"] if spent_s > 0 else []
        else:
            parts.append(f"{self._done:,} of {self._total:,} {self._unit}")
        if 0 < self._done < self._total:
            parts.append(f"about {duration(spent_s / self._done * (self._total - self._done))} left")
        return parts


def bar(share: float, width: int) -> str:
    """A bar of which a share is full, two columns narrower than `width`."""
    full = int(min(share, 1.0) * (width - 2))
    return "━" * full + "─" * (width - 2 - full)


def live_lines(lines: Callable[[int], list[str]]) -> Live:
    """A display on standard error that draws lines of at most the width that it gives them, until it is stopped."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(file=beneath(sys.stderr), highlight=False)

    def drawn() -> Any:
        plain = "\n".join(lines(min(console.width, _WIDEST)))
        encoding = (getattr(sys.stderr, "encoding", "") or "").lower()
        text = Text(plain if encoding.startswith("utf") else ascii_of(plain), no_wrap=True)
        text.highlight_regex(r"^.*", "bold")
        text.highlight_regex(r"━+", "cyan")
        return text

    return Live(
        console=console,
        get_renderable=drawn,
        refresh_per_second=DRAWN_PER_S,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )


# Status of a running study: position, rate, the last run's figures, time left.
# Scope: sums that the threads of the runs add to and that a view reads periodically. Every figure is computed when it
# is read, so that a run pays one addition only. Refuses to guess: a figure that is not known yet is omitted.

RATES_KEPT: Final = 24
_BARS: Final = "▁▂▃▄▅▆▇█"
_COUNTED: Final = (
    ("gc_pages_moved", "pages moved"),
    ("blocks_erased", "blocks erased"),
    ("idle_collections", "collections while idle"),
)
_SHARE_OF_TIME: Final = 200.0
"""The time left is worked out again when this many times what it cost has gone by."""


class StudyStatus:
    """A running study; safe to use from several threads. `clock` returns monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin without information."""
        self._clock = clock
        self._lock = threading.Lock()
        self.plan: Plan | None = None
        self.stage = ""
        self.cell = ""
        self.runs_done = 0
        self._lanes = 1
        self._spent_s: dict[int, float] = {}
        self._began_s: dict[int, float] = {}
        self._bytes = 0
        self._looked = (clock(), 0)
        self._rates: deque[float] = deque(maxlen=RATES_KEPT)
        self._last: tuple[str, RunRecord] | None = None
        self._shown_last: tuple[object, list[tuple[str, str]]] = (None, [])
        self._left: tuple[float, float, float] | None = None

    def start(self, plan: Plan, spent_s: Mapping[int, float], lanes: int) -> None:
        """Start or resume the study; `spent_s` holds the durations of the finished runs, in seconds."""
        with self._lock:
            self.plan, self._lanes = plan, lanes
            self._spent_s = dict(spent_s)
            self.runs_done = len(spent_s)

    def run(self, run: PlannedRun) -> None:
        """A run begins."""
        with self._lock:
            self.cell = run.cell or run.role
            self._began_s[run.index] = self._clock()

    def advance(self, byte_count: int) -> None:
        """Add completed bytes."""
        with self._lock:
            self._bytes += byte_count

    def finished(self, run: PlannedRun, record: RunRecord) -> None:
        """A run is done and journalled."""
        with self._lock:
            began_s = self._began_s.pop(run.index, None)
            if began_s is not None:
                self._spent_s[run.index] = self._clock() - began_s
            self.runs_done += 1
            if record.elapsed_ns and (run.role != "idle"):
                self._last = (run.cell or run.role, record)

    def look(self) -> None:
        """Take the rate since the last look, if that was long enough ago to have one."""
        now_s = self._clock()
        with self._lock:
            before_s, before = self._looked
            if now_s - before_s < 0.1:
                return
            self._rates.append((self._bytes - before) / (now_s - before_s))
            self._looked = (now_s, self._bytes)

    @property
    def rate(self) -> str:
        """The rates of the last looks as a line of bars from 0 to the largest, and the last one in words."""
        rates = list(self._rates)
        if not any(rates):
            return ""
        most = max(rates)
        bars = "".join(_BARS[min(int(rate / most * len(_BARS)), len(_BARS) - 1)] for rate in rates)
        return f"{bars} {format_bytes(int(rates[-1]))}/s"

    def left_s(self) -> float | None:
        """Estimated seconds until the report is written; recomputed periodically."""
        if self.plan is None:
            return None
        now_s = self._clock()
        if self._left is None or now_s - self._left[0] > max(2.0, _SHARE_OF_TIME * self._left[2]):
            with self._lock:
                spent_s = dict(self._spent_s)
                in_flight_s = max((now_s - began_s for began_s in self._began_s.values()), default=0.0)
            cost_s = time.process_time()
            left_s = remaining_s(self.plan, spent_s, lanes=self._lanes)
            self._left = (now_s, max(left_s - in_flight_s, 0.0), time.process_time() - cost_s)
        return max(self._left[1] - (now_s - self._left[0]), 0.0)

    def share(self) -> float | None:
        """Elapsed fraction of the estimated duration, 0 to 1."""
        left_s = self.left_s()
        if left_s is None:
            return None
        now_s = self._clock()
        with self._lock:
            over_s = (
                sum(self._spent_s.values()) + sum(now_s - at for at in self._began_s.values())
            ) / self._lanes
        return over_s / (over_s + left_s) if over_s + left_s > 0 else 0.0

    def left(self) -> str:
        """The time left in words: "about 4 min left"; empty where it is not known."""
        left_s = self.left_s()
        return "" if left_s is None else f"about {duration(left_s)} left"

    def last(self) -> list[tuple[str, str]]:
        """Figures of the last finished run as names and texts: its latency and drive counters."""
        if self._last is None:
            return []
        if self._shown_last[0] is not self._last:
            cell, record = self._last
            self._shown_last = (self._last, _shown(cell, record))
        return self._shown_last[1]


def _shown(cell: str, record: RunRecord) -> list[tuple[str, str]]:
    rows = [("last run", f"{cell}: {_speed(record)}")]
    if latency := _latency(record):
        rows.append(("latency", latency))
    if counted := _counted(record):
        rows.append(("drive", counted))
    return rows


def _speed(record: RunRecord) -> str:
    rate = f"{format_bytes(int(record.rate_bytes_per_s))}/s, " if record.bytes_moved else ""
    return f"{rate}{record.ops_per_s:,.0f} operations/s"


def _latency(record: RunRecord) -> str:
    histogram = record.service
    if not histogram.count:
        return ""
    parts = [
        (name, histogram.quantile_ns(share))
        for name, share in (("p50", 0.5), ("p99", 0.99))
        if quantile_is_supported(histogram.count, share)
    ]
    text = "  ".join(f"{name} {_time(value)}" for name, value in parts if value is not None)
    return f"{text}  max {_time(histogram.max_ns)}".lstrip()


def _time(time_ns: int) -> str:
    for unit, per_unit in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if time_ns >= per_unit:
            return f"{time_ns / per_unit:.3g} {unit}"
    return f"{time_ns} ns"


def _counted(record: RunRecord) -> str:
    counters, busy_ms = record.counters, record.usage.device.get("busy_ms")
    parts = []
    if (amplification := record.write_amplification) is not None:
        parts.append(f"write amplification {amplification:.2f}")
    parts += [f"{counters[name]:,} {words}" for name, words in _COUNTED if counters.get(name)]
    if busy_ms and record.elapsed_ns:
        parts.append(f"{min(100.0, busy_ms * 1e8 / record.elapsed_ns):.0f} % busy")
    return ", ".join(parts)
