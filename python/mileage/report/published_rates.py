"""Published rates next to those of the simulated drives: a table for the terminal, the same as a page, and the score.

Scope: one row per rate. The score is the share of rates within 15 % of what was published, for the rates that
were held out before any figure was fitted and for all rates.
What it refuses: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from mileage.model.published_rate import HIT_WITHIN, REASON_ABOVE, PublishedRate, rate_text
from mileage.report.datasheet import confidence_word
from mileage.terminal import wrapped

_HEAD: Final = (
    "Rates that makers and reviewers published of the drives that ship with Mileage, and what the virtual drives do at",
    "the same conditions. `mileage drive rates --page FILE` simulates all of them and writes this page.",
    "",
    "A rate *fits* a figure: that figure is not published, and was given the value with which the drive reaches the",
    "rate (`mileage drive fit`, [Fit a drive](../how-to/fit-a-drive.md)). A rate that is *held out* was set aside",
    "before any figure was fitted (`profiles/held_out_rates.toml`): it is a prediction. Other rates are only compared.",
)


class RateRow(NamedTuple):
    """One published rate of a drive and that of the simulated drive, in the same unit."""

    drive: str
    rate: PublishedRate
    simulated: float


class Score(NamedTuple):
    """Number of rates within 15 %, of some."""

    hits: int
    rates: int

    def __str__(self) -> str:
        share = f" ({self.hits / self.rates:.0%})" if self.rates else ""
        return f"{self.hits} of {self.rates} within {HIT_WITHIN:.0%}{share}"


def score_of(rows: Sequence[RateRow]) -> Score:
    """The score of some rows."""
    return Score(sum(row.rate.is_hit(row.simulated) for row in rows), len(rows))


def score_lines(rows: Sequence[RateRow]) -> list[str]:
    """The score of the held-out rates and, where there are others, of all but the fitted ones, and of all."""
    held = [row for row in rows if row.rate.held_out]
    if len(held) == len(rows):
        return [f"Held out: {score_of(held)}."]
    predicted = [row for row in rows if not row.rate.fits]
    return [
        f"Held out: {score_of(held)}.",
        f"Not fitted: {score_of(predicted)}.",
        f"All: {score_of(rows)}.",
    ]


def rates_text(rows: Sequence[RateRow], width: int) -> str:
    """The table in columns, the score, and why rates are missed."""
    lines: list[str] = []
    cells = [_cells(row) for row in rows]
    columns = ("rate", "quoted", "simulated", "ratio", "")
    widths = [max(len(row[at]) for row in [*cells, columns]) for at in range(len(columns))]
    drive = ""
    for row, texts in zip(rows, cells, strict=True):
        if row.drive != drive:
            drive = row.drive
            lines += ["", drive, _columns(columns, widths)]
        lines.append(_columns(texts, widths))
    lines += ["", *score_lines(rows)]
    missed = list(_misses(rows))
    if missed:
        lines += ["", f"More than {REASON_ABOVE:.0%} off, and why:"]
        lines += [line for text in missed for line in wrapped(text, width, first="  ", indent="    ")]
    return "\n".join(lines).lstrip("\n") + "\n"


def _columns(texts: Sequence[str], widths: Sequence[int]) -> str:
    name, *numbers, role = texts
    cells = [f"{name:<{widths[0]}}"]
    cells += [f"{text:>{width}}" for text, width in zip(numbers, widths[1:-1], strict=True)]
    return "  ".join(["", *cells, role]).rstrip()


def _cells(row: RateRow) -> tuple[str, str, str, str, str]:
    rate = row.rate
    state = f"; {rate.state}" if rate.state else ""
    return (
        f"{rate.in_short}{state}",
        rate.quoted,
        rate_text(row.simulated, rate.unit),
        f"{rate.ratio(row.simulated):.2f}",
        rate.role,
    )


def _misses(rows: Sequence[RateRow]) -> Iterator[str]:
    for row in rows:
        if abs(row.rate.ratio(row.simulated) - 1) > REASON_ABOVE:
            reason = row.rate.why_off or "the profile gives no reason"
            yield f"{row.drive}, {row.rate.in_short}, {row.rate.quoted}: {reason}"


def rates_page(rows: Sequence[RateRow]) -> str:
    """Markdown page: published rates of each drive next to the simulated ones, with sources and reasons for misses."""
    lines = ["# Quoted and simulated rates", "", *_HEAD, "", *(f"- {line}" for line in score_lines(rows))]
    lines += [
        "",
        "| drive | rate | quoted | simulated | ratio | role | source |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        source = f"{row.rate.source} ({confidence_word(row.rate.confidence)})".replace("|", "/")
        lines.append(f"| {row.drive} | {' | '.join(_cells(row))} | {source} |")
    missed = list(_misses(rows))
    if missed:
        lines += ["", f"Rates that are missed by more than {REASON_ABOVE:.0%}, and why:", ""]
        lines += [f"- {text}" for text in missed]
    return "\n".join(lines) + "\n"
