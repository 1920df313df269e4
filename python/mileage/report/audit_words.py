"""The words of audits, disturbances and rates of memory, by the kind of what was found.

Scope: `Audit` and `MemoryRate` of `mileage.judge`, which carry figures only. A kind without words is an error of the
program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from mileage.judge.audit import Audit
from mileage.judge.memory_rate import MemoryRate
from mileage.report.caveat_words import disturbance_words
from mileage.targets.io_limits import limit_words

Figures = Mapping[str, Any]


def audit_words(found: Audit | MemoryRate) -> str:
    """The words of an audit next to its name, or of a rate that comes from memory."""
    return _WORDS[found.kind](found.figures)


def _text(template: str) -> Callable[[Figures], str]:
    return lambda figures: template.format(**figures)


def _disturbance(kind: str) -> Callable[[Figures], str]:
    return lambda figures: f"{disturbance_words(kind, figures)}; most in {figures['cell']}"


def _late_answers(figures: Figures) -> str:
    p50, p99, most = (figures[f"late_{which}_ns"] / 1000 for which in ("p50", "p99", "max"))
    statement = (
        f"the drive is simulated, and its answers were late: half by {p50:,.0f} us, 1 % by {p99:,.0f} us, one by"
        f" {most:,.0f} us in the worst run ({figures['cell']})"
    )
    if not figures["late_runs"]:
        return statement
    return (
        f"{statement}; half of them by more than {figures['limit_share']:.0%} of the time between two answers in"
        f" {figures['late_runs']} of {figures['runs']} runs, which are slower than the drive"
    )


def _heat(figures: Figures) -> str:
    parts = []
    if "rise_celsius" in figures:
        parts.append(
            f"the drive was {figures['highest_celsius']:.0f} C warm at most; "
            f"runs began within {figures['rise_celsius']:.0f} C"
        )
    if "throttles" in figures:
        count = figures["throttles"]
        parts.append(
            f"processors slowed down for heat {count} times" if count else "no processor slowed down for heat"
        )
    return "; ".join(parts)


def _stream_rate(figures: Figures) -> str:
    lasted = f" for {_time_words(figures['elapsed_s'])}" if "elapsed_s" in figures else ""
    return (
        f"{figures['cell']} moved {figures['stream_bytes_per_s'] / 1e9:,.1f} GB/s in one stream{lasted}, "
        "without direct I/O: more likely the page cache than a device"
    )


def _time_words(time_s: float) -> str:
    """A time without an exponent: "129 µs", "3.2 s"."""
    scale, unit = next(
        ((1 / n, u) for n, u in ((1, "s"), (1e3, "ms"), (1e6, "µs")) if time_s * n >= 1), (1e-9, "ns")
    )
    return f"{time_s / scale:.3g} {unit}"


_WORDS: Final[Mapping[str, Callable[[Figures], str]]] = {
    "no-closed-loop": _text("no closed-loop run to check"),
    "rate-latency-contradict": _text("{cell}: mean latency x rate is {queue_share:.2f} of the queue depth"),
    "rate-latency-agree": _text(
        "rates and latencies agree: mean latency x rate is at most {queue_share:.3f} of the queue depth"
    ),
    "load-generator": _text(
        "partly the load generator: in a run of {cell} only {queue_share:.0%} of the queue depth was in use on "
        "average, so the device may do more than this rate"
    ),
    "submission-not-recorded": _text("{cell}: the latency of submission is not recorded"),
    "rate-latency-unclear": _text("{cell}: rate and latency contradict each other"),
    "device": _text("the device: at least {queue_share:.1%} of the queue depth was in use on average"),
    "group-limit": lambda figures: f"the control group's limit of {limit_words(figures)} ({figures['cell']})",
    "no-run": _text("no run to check"),
    "device-behind": _text(
        "{cell}: the device, which did {due_share:.1%} of the operations that were due; the others wait"
    ),
    "requested-rate": _text("the requested rate: at least {due_share:.1%} of the operations due were done"),
    "reads-not-counted": _text("not counted: no run that read through the kernel's accounting"),
    "memory-share": _text("{memory_share:.1%} of the bytes read came from memory at most ({cell})"),
    "memory-file-system": _text("{target} is a {file_system}, which is memory: no device is measured"),
    "device-not-counted": _text("the device's own counters were not read"),
    "foreign-share": _text(
        "bytes of other programs on the device: at most {foreign_share:.1%} of the run's ({cell})"
    ),
    "not-reported": _text("the kernel does not report it"),
    **{kind: _disturbance(kind) for kind in ("steal", "other-load", "memory-pressure")},
    "late-answers": _late_answers,
    "no-sensor": _text("no sensor of the drive, no count of throttling"),
    "heat": _heat,
    "moved-in-memory": _text(
        "{memory_share:.0%} of the bytes of {cell} were read from or written to memory, not the device"
    ),
    "answer-time": _text("{cell} took {answer_ns:,.0f} ns for each operation, which only memory does"),
    "stream-rate": _stream_rate,
}
