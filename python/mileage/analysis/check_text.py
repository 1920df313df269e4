"""Format the result of `mileage check` as a text block for a forum post: at most 72 columns, no colours, no tabs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from mileage.analysis.check_result import CheckResult, Row
from mileage.analysis.quoted_text import quoted_text
from mileage.judge import Comparison
from mileage.report.cell_estimates import half_width, partial_words, point
from mileage.report.sentence import verdict_sentence
from mileage.terminal import wrapped

WIDTH: Final = 72
_HEADING: Final = "mileage check"
_LABEL: Final = 9
_HALF: Final = 14
"""Columns of the interval."""


def check_text(found: CheckResult) -> str:
    """Format one check as text."""
    lines = [_HEADING.ljust(WIDTH - 20) + found.date_utc.rjust(20), "-" * WIDTH]
    lines += _identity(found)
    for direction in ("read", "write"):
        rows = [row for row in found.rows if row.direction == direction]
        if rows:
            head = f"{direction.capitalize()}"
            lines += ["", f"{head:<20}{'MB/s':>9}{'±':>{_HALF}}{'IOPS':>10}{'p50':>9}{'p99':>10}"]
            lines += [_row(row) for row in rows]
    wide = any(" to " in _half(row) for row in found.rows)
    half = "half their 95 % confidence interval, in % of the mean" + (
        ", or the interval itself" if wide else ""
    )
    words = f"Geometric means of {len(found.rows[0].iops)} runs; ±: {half}; p50, p99: latency"
    if any(time is None for row in found.rows for time in (row.p50_us, row.p99_us)):
        words += " (-: too few operations)"
    lines += ["", *wrapped(words, WIDTH), *_partial(found.rows)]
    if found.sheet is not None:
        lines += ["", *quoted_text(found.sheet, found.quoted, WIDTH)]
    lines += ["-" * WIDTH, *wrapped(found.verdict, WIDTH)]
    return "\n".join([*lines, *_remarks(found)]) + "\n"


def verdict_in(text: str) -> str:
    """The verdict of a text of a check, for the head of a page; empty where it has none.

    `report.fitness` has it before everything else, `check_text` and `pair_text` below the figures.
    """
    if not text.startswith(_HEADING):
        return " ".join(text.partition("-" * WIDTH)[0].split())
    _, rule, rest = text.rpartition("-" * WIDTH + "\n")
    lines: list[str] = []
    for line in rest.splitlines() if rule else ():
        if not line or line.startswith(("[!]", "Not tested")):
            break
        lines.append(line.strip())
    return " ".join(lines)


def _identity(found: CheckResult) -> list[str]:
    lines = []
    for word, text in (*found.drive, ("Health", _health(found))):
        lines += wrapped(text, WIDTH, first=f"{word:<{_LABEL}}", indent=" " * _LABEL)
    return lines


def _health(found: CheckResult) -> str:
    if found.health.state == "unknown":
        return "; ".join(filter(None, (found.health.text, found.health.advice)))
    return f"{found.health.state.upper() if found.health.problems else 'good'}: {found.health.text}"


def _row(row: Row) -> str:
    name = f"  {row.name} depth {row.depth}"
    rate, ops = point(row.rate, _rate), point(row.operations, "{:,.0f}".format)
    return f"{name:<20}{rate:>9}{_half(row):>{_HALF}}{ops:>10}{_us(row.p50_us):>9}{_us(row.p99_us):>10}"


def _partial(rows: Sequence[Row], of: str = "") -> list[str]:
    """The tests that have no estimate, `of` a target; no line for none."""
    text = partial_words((f"{row.label}{of}", row.rate) for row in rows)
    return wrapped(text, WIDTH) if text else []


def _half(row: Row) -> str:
    """Half the interval of a rate, or the interval itself; at most as wide as its column leaves room for."""
    text = half_width(row.rate, _end)
    for before, after in ((",", ""), (" to ", "-")):
        text = text if len(text) < _HALF else text.replace(before, after)
    return text


def _end(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}" if value >= 1 else f"{value:.2f}"


def _rate(value: float) -> str:
    return f"{value:,.1f}" if value >= 10 else f"{value:,.2f}"


def _us(value: float | None) -> str:
    if value is None:
        return "-"
    if value >= 1000:
        return f"{value / 1000:,.1f} ms" if value < 100_000 else f"{value / 1000:,.0f} ms"
    return f"{value:,.1f} µs" if value < 100 else f"{value:,.0f} µs"


def _remarks(found: CheckResult) -> list[str]:
    """What was noticed, in lines: those of one remark stand together in one text, which may have several lines."""
    words = [finding.text for finding in found.findings]
    words += [f"health: {remark}" for remark in found.health.remarks]
    words += [found.health.advice] if found.health.problems else []
    words += list(found.fit.reasons[1:])
    remarks = ["\n".join(wrapped(text, WIDTH, first="[!] ", indent="    ")) for text in words]
    for missing in found.not_tested:
        lines = wrapped(f"Not tested: {missing.text}", WIDTH, indent="  ")
        # A command stays in one line, so that it can be copied.
        remarks.append("\n".join([*lines, *(f"  {command}" for command in missing.commands)]))
    return remarks


def pair_text(one: CheckResult, other: CheckResult, comparison: Comparison | None) -> str:
    """Text of `mileage check A B`: two drives side by side, with the speed ratio B/A and its 95 % interval.

    `comparison`: the second judged against the first, where their runs took turns, so that a load that came or went
    touched both; None where one followed the other.
    """
    lines = [_HEADING.ljust(WIDTH - 20) + one.date_utc.rjust(20), "-" * WIDTH]
    for letter, found in (("A", one), ("B", other)):
        lines += [f"{letter}:", *_identity(found)]
    lines += ["", f"{'MB/s':<26}{'A':>11}{'B':>11}{'B / A':>9}{'95 %':>15}"]
    theirs = {row.label: row for row in other.rows}
    pairs = [(row, theirs[row.label]) for row in one.rows if row.label in theirs]
    lines += [_pair_row(row, match, paired=comparison is not None) for row, match in pairs]
    how = (
        "all of A, then all of B (load that changes looks like a difference)"
        if comparison is None
        else "in turn on A and B"
    )
    words = f"A, B: geometric means of {len(one.rows[0].iops)} runs, {how}; B / A: their ratio."
    if len(pairs) < max(len(one.rows), len(other.rows)):
        words += " Tests that can be run on only one of A and B are omitted."
    partial = [*_partial(one.rows, " of A"), *_partial(other.rows, " of B")]
    lines += ["", *wrapped(words, WIDTH), *partial, "-" * WIDTH]
    if comparison is not None:
        lines += [*wrapped(verdict_sentence(comparison), WIDTH), ""]
    remarks = [_remarks(found) for found in (one, other)]
    shared = [text for text in remarks[0] if text in remarks[1]]
    for letter, found, own in zip("AB", (one, other), remarks, strict=True):
        lines += wrapped(f"{letter}: {found.verdict}", WIDTH, indent="   ")
        lines += [text for text in own if text not in shared]
    lines += ["A and B:", *shared] if shared else []
    return "\n".join(lines) + "\n"


def _pair_row(row: Row, match: Row, *, paired: bool) -> str:
    name = f"  {row.direction:<5} {row.name} depth {row.depth}"
    rates = [point(found.rate, _rate) for found in (row, match)]
    ratio, ends = ratio_of(row, match, paired=paired)
    words = "-" if ends is None else f"{ends[0]:.2f} to {ends[1]:.2f}"
    shown = "-" if ratio is None else f"{ratio:.2f}"
    return f"{name:<26}{rates[0]:>11}{rates[1]:>11}{shown:>9}{words:>15}"


def ratio_of(one: Row, other: Row, *, paired: bool) -> tuple[float | None, tuple[float, float] | None]:
    """The ratio of two geometric means with its 95 % interval, by pairs or by Welch; no interval of single runs.

    None: one of the two is not estimable.
    """
    from mileage.judge.ratio import exp, one_sample, welch

    means = one.rate.geometric_mean, other.rate.geometric_mean
    if means[0] is None or means[1] is None:
        return None, None
    if min(len(one.mb_per_s), len(other.mb_per_s)) < 2:
        return means[1] / means[0], None
    logs = [[math.log(value) for value in row.mb_per_s] for row in (one, other)]
    found = one_sample([b - a for a, b in zip(*logs, strict=True)]) if paired else welch(logs[0], logs[1])
    low, high = found.interval(0.95)
    return means[1] / means[0], (exp(low), exp(high))
