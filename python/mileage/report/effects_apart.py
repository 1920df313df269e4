"""Two causes apart and together, as a sentence, a table and lines: which of them reproduces what was published.

Scope: the words of `EffectsApart`. A cause reproduces a published change whose verdict its effect has, at a size within
a factor of two; what no effect reproduces is open, and what a cause changes although it was published as unchanged is
against that cause. Without a source the sentence says what each cause changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from mileage.judge import CellVerdict
from mileage.judge.comparison import Comparison
from mileage.judge.effects_apart import EffectsApart, headline_cells
from mileage.model.published_result import PublishedResult
from mileage.report.caveat_words import caveat_words, listed
from mileage.report.published_results import agreement, figure_words
from mileage.report.sentence import verdict_sentence
from mileage.report.view import StudyView
from mileage.report.wording import interval, percent, plain, row_name
from mileage.terminal import wrapped

OPEN: Final = "open"
BOTH: Final = "both"
_SAID_ELSEWHERE: Final = ("simulated", "model-variants", "one-cycle", "one-run")


class EffectRow(NamedTuple):
    """A test: what was published of it, and what each cause and both change."""

    name: str
    published: PublishedResult | None
    effects: tuple[CellVerdict | None, ...]
    """The first cause alone, the second alone, both."""
    doses: dict[str, CellVerdict]
    """The second cause at its other levels."""
    given: tuple[int, ...]
    """Of a published change: the effects (0, 1, 2) that agree with it."""
    against: tuple[int, ...]
    """Of what was published as unchanged: the causes (0, 1) that change it."""
    moved: bool
    """Whether it was published as changed."""


def effect_rows(apart: EffectsApart) -> list[EffectRow]:
    """The tests of the headline: the largest published changes first, then the largest effects."""
    effects = [headline_cells(effect) for effect in apart.effects]
    doses = {level: headline_cells(effect) for level, effect in apart.doses.items()}
    printed = _printed(apart)
    rows = []
    for cell in dict.fromkeys(cell for effect in effects for cell in effect):
        own = tuple(effect.get(cell) for effect in effects)
        at_doses = {level: found[cell] for level, found in doses.items() if cell in found}
        name = next(row_name(one) for one in own if one is not None)
        found = printed.get(cell)
        if found is None:
            rows.append(EffectRow(name, None, own, at_doses, (), (), moved=False))
            continue
        compared = [result.results[found] for result in apart.published]
        reading = compared[0].published_reading
        moved = reading in ("slower", "faster")
        given = tuple(at for at, one in enumerate(compared) if moved and agreement(one) is True)
        changed = [at for at in (0, 1) if compared[at].found_reading in ("slower", "faster")]
        against = tuple(changed) if reading == "same" else ()
        rows.append(EffectRow(name, compared[0].published, own, at_doses, given, against, moved))
    return sorted(rows, key=lambda row: (row.published is None, -_printed_size(row), -_effect_size(row)))


def _printed(apart: EffectsApart) -> dict[str, int]:
    """Position of the published result of each test that has one."""
    places: dict[str, int] = {}
    for source in apart.published:
        places |= {one.cell: at for at, one in enumerate(source.results) if one.cell}
    return places


def _printed_size(row: EffectRow) -> float:
    return abs(row.published.middle or 0.0) if row.published is not None else 0.0


def _effect_size(row: EffectRow) -> float:
    return max((abs((cell.ratio or 1.0) - 1) for cell in row.effects if cell is not None), default=0.0)


def first_sentence(view: StudyView, emphasis: str = "") -> str:
    """What a report begins with: the separate effects of two causes, else the verdict."""
    if view.apart is not None:
        return effects_sentence(view.apart, emphasis)
    return verdict_sentence(view.comparison, emphasis)


def subject_words(view: StudyView) -> str:
    """What a report is about, for its title: "after against before", "drive and host apart"."""
    if view.apart is not None:
        return f"{' and '.join(view.apart.causes)} apart"
    return f"{view.comparison.candidate} against {view.comparison.baseline}"


def effects_sentence(apart: EffectsApart, emphasis: str = "") -> str:
    """How many published changes each cause reproduces, with the interval of the largest; `emphasis` around it."""
    rows = effect_rows(apart)
    moved = [row for row in rows if row.moved]
    counted = moved or rows
    counts = [sum(_counts(row, at, published=bool(moved)) for row in counted) for at in (0, 1)]
    lead, other = (0, 1) if counts[0] > counts[1] else (1, 0)
    names = [f"{cause} alone ({words})" for cause, words in zip(apart.causes, apart.stands_for, strict=True)]
    number = [str(count) if count else "none" for count in counts]
    does = "reproduces" if moved else "changes"
    what = f"{len(counted)} {'published changes' if moved else 'tests'}"
    where = "in this simulation the" if apart.first.simulated else "the"
    start = (
        f"{where[0].upper()}{where[1:]}" if apart.first.unit == "cycle" else f"From one cycle only: {where}"
    )
    claim = (
        f"{emphasis}{start} {names[lead]} {does} {number[lead]} of {what}, the {names[other]} "
        f"{number[other]}{emphasis}"
    )
    largest = _largest(counted, lead, published=bool(moved))
    if largest is not None:
        one, two = _change(largest.effects[lead]), _change(largest.effects[other], with_interval=False)
        claim += f": {largest.name} {one} by the {apart.causes[lead]}, {two} by the {apart.causes[other]}"
        claim += "" if largest.published is None else f", published {figure_words(largest.published)}"
    still = sum(row.moved and not row.given for row in rows)
    claim += f"; {still} remain{'s' if still == 1 else ''} open" if still else ""
    against = [row for row in rows if row.against]
    if against:
        causes = " and the ".join(dict.fromkeys(apart.causes[at] for row in against for at in row.against))
        claim += f", {len(against)} speak{'s' if len(against) == 1 else ''} against the {causes}"
    vetoes = _caveats(apart, veto=True)
    if vetoes:
        return f"Not conclusive because {listed(vetoes)}. What was measured: {claim}."
    return f"{claim}."


def _counts(row: EffectRow, cause: int, *, published: bool) -> bool:
    """Whether a cause reproduces a published change, or, without a source, changes the test."""
    if published:
        return cause in row.given
    cell = row.effects[cause]
    return cell is not None and cell.verdict in ("slower", "faster")


def _largest(rows: Sequence[EffectRow], cause: int, *, published: bool) -> EffectRow | None:
    own = [row for row in rows if _counts(row, cause, published=published)]
    return max(own, key=lambda row: abs((row.effects[cause].ratio or 1.0) - 1), default=None)  # type: ignore[union-attr]


def _change(cell: CellVerdict | None, *, with_interval: bool = True) -> str:
    """A change with its interval: "-21.9 % (95 % CI -22.0 to -21.8 %)"."""
    if cell is None or cell.ratio is None:
        return "not measured"
    if cell.ci95 is None or not with_interval:
        return plain(percent(cell.ratio))
    ends = interval(cell.ci95, cell.ratio)
    return plain(f"{percent(cell.ratio)} ({'' if cell.ci95[0] == cell.ci95[1] else '95 % CI '}{ends})")


def _caveats(apart: EffectsApart, *, veto: bool) -> list[str]:
    """What forbids a conclusion, or limits it: each kind once, as the effects share their runs."""
    found = {
        caveat.code: caveat_words(caveat, effect)
        for effect in apart.effects
        for caveat in effect.caveats
        if (caveat.is_veto if veto else caveat.severity == "limits" and caveat.code not in _SAID_ELSEWHERE)
    }
    return list(found.values())


def effect_heads(apart: EffectsApart) -> tuple[str, ...]:
    """The heads of the table; below each cause stands what was changed."""
    columns_of_causes = (f"{cause}: {head}" for cause, head in zip(apart.causes, apart.heads, strict=True))
    return ("test", *(("published",) if apart.published else ()), *columns_of_causes, BOTH,
            *(("cause",) if apart.published else ()))  # fmt: skip


def effect_cells(row: EffectRow, apart: EffectsApart) -> tuple[str, ...]:
    """A row of the table in texts."""
    changes = ("–" if cell is None else plain(percent(cell.ratio)) for cell in row.effects)
    if not apart.published:
        return (row.name, *changes)
    printed = "–" if row.published is None else figure_words(row.published)
    return (row.name, printed, *changes, cause_words(row, apart))


def cause_words(row: EffectRow, apart: EffectsApart) -> str:
    """The cause of a published change; "open", or of what was published as unchanged the cause that changes it."""
    if row.against:
        return f"not {' or '.join(apart.causes[at] for at in row.against)}"
    if not row.moved:
        return ""
    alone = [apart.causes[at] for at in row.given if at < len(apart.causes)]
    return " or ".join(alone) or (BOTH if row.given else OPEN)


def effect_paragraphs(apart: EffectsApart) -> list[str]:
    """What the last column means, what must be known of the levels, the limits of the figures, and their source."""
    found = []
    if apart.published:
        against = next((apart.causes[at] for row in effect_rows(apart) for at in row.against), None)
        also = f"; not {against}: published as unchanged" if against else ""
        means = "what alone has the published sign and its size within a factor of 2; open: neither"
        found.append(f"Cause: {means}{also}.")
    if apart.note:
        found.append(apart.note)
    found += [f"{words[:1].upper()}{words[1:]}." for words in _caveats(apart, veto=False)]
    return [*found, _units(apart.first), *([source_words(apart)] if apart.published else [])]


def _units(effect: Comparison) -> str:
    number, unit = effect.units_candidate, effect.unit
    counted = f"{number} {unit}{'' if number == 1 else 's'} of each arm"
    if unit != "cycle":
        return f"One cycle only, so that nothing shows whether it repeats ({counted})."
    return f"{counted}{', simulated; no interval covers the model' if effect.simulated else ''}."


def source_words(apart: EffectsApart) -> str:
    """Where the published figures were printed; empty without a source."""
    if not apart.published:
        return ""
    source = apart.published[0].source
    return f"Published: {source.source[0].rstrip('.') if source.source else source.name}."


def effect_lines(apart: EffectsApart, width: int) -> list[str]:
    """The table and what is said below it, as lines of at most `width` columns, without an empty one at the end."""
    heads = [_parted(head) for head in effect_heads(apart)]
    rows = [effect_cells(row, apart) for row in effect_rows(apart)]
    rest = [tuple(head[at] for head in heads)[1:] for at in (0, 1)] + [row[1:] for row in rows]
    sizes = [max(map(len, column)) for column in zip(*rest, strict=True)]
    room = max(width - sum(sizes) - 2 * len(sizes), 16)
    names = [[head[0]] for head in (("",), ("test",))] + [wrapped(row[0], room) for row in rows]
    size = max(len(name[0]) for name in names)
    lines = []
    for name, texts in zip(names, rest, strict=True):
        lines.append("  ".join([name[0].ljust(size), *map(str.ljust, texts, sizes)]))
        lines += [f"  {more}" for more in name[1:]]
    return [
        *lines,
        "",
        *wrapped(
            plain(" ".join(text for text in effect_paragraphs(apart) if text != source_words(apart))), width
        ),
    ]


def _parted(head: str) -> tuple[str, str]:
    """A head in two lines: a cause above, what was changed below."""
    first, colon, second = head.partition(": ")
    return (f"{first}:", second) if colon else ("", head)
