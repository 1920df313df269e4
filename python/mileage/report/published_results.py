"""A published study next to its repetition, as words, rows and CSV.

Scope: the sentence, the scores, a row for each published result. Plain lines of at most the width asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from mileage.judge.published_score import CLOSE, FACTOR, Agreement, PublishedComparison, Share, is_near
from mileage.model.published_result import CHANGE, FITTED, RATIO, ComparedResult, PublishedResult
from mileage.report.wording import plain
from mileage.store.text_cells import csv_text
from mileage.terminal import wrapped

ROWS_MAX: Final = 40
"""Disagreements that a terminal lists."""
NO_FIGURE: Final = {"same": "no difference", "changed": "changed", "not stated": "not stated", "": ""}


_SCORES: Final[dict[Agreement, str]] = {
    "change-sign": "changed cells: right sign",
    "change-size": f"changed cells: size within a factor of {FACTOR:g}",
    "verdict": "verdicts: equal",
    "rate-close": f"rates: within {100 * CLOSE:g} %",
    "rate-factor": f"rates: within a factor of {FACTOR:g}",
}


class ResultRow(NamedTuple):
    """A published result in texts; `agrees` is None where nothing was found or nothing is stated."""

    cell: str
    published: str
    found: str
    difference: str
    readings: str
    agrees: bool | None
    use: str
    place: str
    why: str


def here(found: PublishedComparison) -> str:
    """What the study's own figures are called."""
    return "simulated" if found.simulated else "measured"


def row_of(one: ComparedResult) -> ResultRow:
    """The row of a result."""
    published = one.published
    why = "; ".join(filter(None, (published.why_off, published.note)))
    if one.found is None:
        words = (figure_words(published), "–", "", f"{one.published_reading} | –")
        return ResultRow(published.name, *words, None, published.use, published.place, one.missing or why)
    if published.unit == CHANGE:
        middle = published.middle
        difference = "" if middle is None else f"{one.found - middle:+.1f} points"
        readings = f"{one.published_reading} | {one.found_reading}"
        found = f"{one.found:+.1f} %"
    else:
        ratio = one.found / (published.middle or 1.0)
        difference, readings, found = f"{ratio:.2f} times", "", _amount(one.found, published.unit)
    return ResultRow(
        published.name, figure_words(published), found, difference, readings, agreement(one),
        published.use, published.place, why,
    )  # fmt: skip


def figure_words(published: PublishedResult) -> str:
    """The printed figure or range with its unit, or the statement."""
    low, high = published.low, published.high
    if low is None or high is None:
        return NO_FIGURE[published.statement]
    spread = "" if published.spread_percent is None else f" ± {published.spread_percent:g}"
    if published.unit == CHANGE:
        ends = f"{low:+g}" if low == high else f"{low:+g} to {high:+g}"
        return f"{ends}{spread} %"
    return _amount(low, published.unit) if low == high else f"{low:g} to {_amount(high, published.unit)}"


def _amount(value: float, unit: str) -> str:
    return f"{value:.2f} times" if unit == RATIO else f"{value:,.4g} {unit}"


def agreement(one: ComparedResult) -> bool | None:
    """Whether a result agrees: equal verdicts and, of a change, its size within a factor of two; a rate within 15 %."""
    published = one.published
    if one.found is None:
        return None
    if published.unit != CHANGE:
        return abs(one.found / (published.middle or 1.0) - 1) <= CLOSE
    if one.published_reading in ("not stated", "undecided"):
        return None
    if one.published_reading != one.found_reading:
        return False
    low, high = published.low, published.high
    return one.published_reading == "same" or low is None or is_near(low, one.found, high=high)


def sentence(found: PublishedComparison) -> str:
    """What the scores say, in sentences."""
    signs, near, verdicts, close, factor = found.scores
    word = "simulation" if found.simulated else "study"
    parts = []
    if signs.of:
        parts.append(
            f"of {signs.of} predicted changes the {word} has the sign of {signs.agree} and the size, within a factor "
            f"of {FACTOR:g}, of {near.agree}"
        )
    if verdicts.of:
        parts.append(
            f"{verdicts.agree} of {verdicts.of} verdicts are equal ({verdicts.nothing_changes} would be if nothing "
            "changed)"
        )
    if close.of:
        parts.append(
            f"{close.agree} of {close.of} predicted rates are within {100 * CLOSE:g} %, {factor.agree} within a factor "
            f"of {FACTOR:g}"
        )
    first = "; ".join(parts) or "nothing that was predicted could be compared"
    fitted = sum(one.published.is_fitted for one in found.results)
    missing = sum(one.found is None for one in found.results)
    notes = [f"fitted figures, which do not count: {fitted}"] if fitted else []
    notes += [f"published results that have no counterpart in this study: {missing}"] if missing else []
    end = "".join(f" {note[:1].upper()}{note[1:]}." for note in notes)
    return f"{first[:1].upper()}{first[1:]}.{end}"


def brief(found: PublishedComparison) -> str:
    """What was printed of the tests of the study, next to what came out, for the page of the study itself."""
    own = [one for one in found.results if one.found is not None]
    changes = [one for one in own if one.published_reading in ("slower", "faster", "same")]
    rates = [one for one in own if one.published.unit != CHANGE and not one.published.is_fitted]
    parts = []
    if changes:
        moved = [one for one in changes if one.published_reading != "same"]
        ends = [end for one in moved for end in (one.published.low, one.published.high) if end is not None]
        by = f", by {min(ends):+g} to {max(ends):+g} %" if ends else ""
        same_way = sum(one.published_reading == one.found_reading for one in moved)
        still = sum(one.found_reading == "same" for one in changes if one.published_reading == "same")
        rest = f"{still} of the other {len(changes) - len(moved)}" if moved else f"{still} of them"
        agreed = f"{same_way or 'none'} of them did, and " if moved else ""
        parts.append(
            f"{len(moved) or 'none'} of these {len(changes)} tests changed{by}; here {agreed}{rest} stayed the same"
        )
    if rates:
        near = sum(agreement(one) is True for one in rates)
        parts.append(
            f"{near} of {len(rates)} rates are within {100 * CLOSE:g} % of what is {here(found)} here"
        )
    source = found.source.source[0].rstrip(".") if found.source.source else found.source.name
    return f"Published ({source}): {'; '.join(parts) or 'none of these tests'}."


def shown_rows(found: PublishedComparison) -> list[ResultRow]:
    """The results that the study has a counterpart of, the largest published changes first."""
    own = [one for one in found.results if one.found is not None]
    return [row_of(one) for one in sorted(own, key=lambda one: -abs(one.published.middle or 0.0))]


def _fitted(row: ResultRow) -> str:
    return " (fitted)" if row.use.startswith(FITTED) else ""


def published_lines(found: PublishedComparison, width: int) -> list[str]:
    """The results of a study's own tests as lines of its text, ending with an empty one."""
    rows = shown_rows(found)
    table = [
        ("published", "printed", here(found)),
        *((row.cell, row.published, row.found + _fitted(row)) for row in rows[:ROWS_MAX]),
    ]
    left = len(rows) - ROWS_MAX
    more = f"and {left} more: mileage compare STUDY --published {found.source.name}" if left > 0 else ""
    return [*_columns(table, width), *wrapped(more, width), ""] if more else [*_columns(table, width), ""]


def score_rows(shares: Sequence[Share]) -> list[tuple[str, str, str, str]]:
    """Name, agreements, those of "nothing changes", and whether it is beaten."""
    rows = []
    for share in (share for share in shares if share.of):
        nothing = "–" if share.nothing_changes is None else f"{share.nothing_changes} of {share.of}"
        beaten = {None: "–", True: "beaten", False: "not beaten"}[share.beats_nothing]
        agree = f"{share.agree} of {share.of} ({100 * share.agree / share.of:.0f} %)"
        rows.append((_SCORES[share.kind], agree, nothing, beaten))
    return rows


def published_results_text(found: PublishedComparison, width: int = 80) -> str:
    """Everything as text of at most `width` columns (60 or more): the sentence, the scores, what disagrees."""
    lines = [f"{found.study} next to what was published"]
    lines += [line for text in found.source.source for line in wrapped(text, width)]
    lines += ["", *wrapped(sentence(found), width), ""]
    heads = ("of what was predicted", "agree", "if nothing changed", "")
    lines += _columns([heads, *score_rows(found.scores)], width)
    off = [row for row in map(row_of, found.results) if row.agrees is False]
    if off:
        word = here(found)
        rows = [("what disagrees", "published", word)]
        rows += [(row.cell, row.published, row.found) for row in off[:ROWS_MAX]]
        lines += ["", *_columns(rows, width)]
    if len(off) > ROWS_MAX:
        lines += wrapped(f"and {len(off) - ROWS_MAX} more; --out NEW writes a page and a table of all", width)
    return "\n".join(plain(line).rstrip() for line in lines) + "\n"


def _columns(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Columns as wide as their texts; the first is on a line of its own where all do not fit."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    if sum(widths) + 2 * len(widths) <= width:
        return ["  ".join(text.ljust(size) for text, size in zip(row, widths, strict=True)) for row in rows]
    lines = []
    for row in rows:
        lines += wrapped(row[0], width)
        lines += wrapped("  ".join(filter(None, row[1:])), width, first="    ", indent="    ")
    return lines


def published_results_csv(found: PublishedComparison) -> str:
    """A row for each published result, with figures as numbers."""
    word = here(found)
    heads = ("cell", "published_low", "published_high", word, "unit", "published_verdict", f"{word}_verdict",
             "agrees", "use", "place", "why")  # fmt: skip
    rows = []
    for one in found.results:
        row, published = row_of(one), one.published
        agrees = "" if row.agrees is None else str(row.agrees).lower()
        rows.append(
            (row.cell, published.low, published.high, one.found, published.unit, one.published_reading,
             one.found_reading, agrees, row.use, row.place, row.why)
        )  # fmt: skip
    return csv_text(heads, rows)
