"""Status of a running study: position, rate, the last run's figures, time left.

Scope: sums that the threads of the runs add to and that a view reads periodically. Every figure is computed when it is
read, so that a run pays one addition only. Refuses to guess: a figure that is not known yet is omitted.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

from mileage.model.run_record import RunRecord
from mileage.plan import Plan, PlannedRun
from mileage.plan.estimate import remaining_s
from mileage.plan.quantiles import quantile_is_supported
from mileage.plan.sizes import duration, format_bytes

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
