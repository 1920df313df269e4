"""Terminal text of a study: checks, changed tests, identity, and the verdict as the last lines.

Plain lines, no escape codes.

Scope: a page that can be pasted into a letter: nothing is wider than asked. A terminal shows the end of a text, so the
verdict is there, and what speaks for it (passed checks, unchanged tests) is a count: the page and `verbose` have all.
Refuses widths under 60 columns, where the table would lose its columns.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Final

from mileage.judge import CellVerdict, Comparison
from mileage.judge.effects_apart import EffectsApart
from mileage.report.aspects import undrawn_tests
from mileage.report.effects_apart import effect_lines, effects_sentence
from mileage.report.model_band import band_lines
from mileage.report.published_results import brief, published_lines
from mileage.report.sentence import class_words, sides_sentence, verdict_sentence
from mileage.report.standings import standing_lines
from mileage.report.torture_sentences import shape_lines
from mileage.report.view import (
    StudyView,
    beyond_headline_of,
    cleaned,
    cleaned_comparison,
    cleaned_text,
    headline_of,
)
from mileage.report.wording import (
    BARELY,
    CHECK_GLYPHS,
    arithmetic_percent,
    barely_words,
    correction_note,
    counted,
    distinct_names,
    interval,
    largest_changes,
    overall,
    passed_line,
    percent,
    plain,
    quantity,
    row_name,
    verdict_words,
)
from mileage.terminal import columns_of, command_lines, cut, padded, wrapped

_Groups = Sequence[Sequence[CellVerdict]]
"""The cells of a table, those of the headline first."""
NARROWEST: Final = 60
_CHANGE: Final = 9
_INTERVAL: Final = 18
_VERDICT: Final = 21
_VALUE: Final = 12
_WITH_VALUES: Final = 100
"""Columns from which the table has both arms' means."""
_ARITHMETIC: Final = 9
_WITH_ARITHMETIC: Final = 110
"""Columns from which it has the difference of the arithmetic means, too."""
_MOST_ROWS: Final = 60
"""Rows of a group of cells; the page and the tables have all."""
_MEANS: Final = "Change: of geometric means, as it is judged; arithm.: of arithmetic means."
_MOST_CELLS: Final = 12
"""Cells whose levels are listed."""
_MOST_UNDECIDED: Final = 5
"""Undecided cells that are listed."""
_CHANGED: Final = ("faster", "slower", "not conclusive")
_WITHIN: Final = ("real but irrelevant", "same")
_INTERNAL: Final = ("plan", "seal", "gap ", "target", "devices", "seed")
"""Beginnings of the keys of an identity that a verdict does not need, or that its first line and its command have."""
_FIRST: Final = ("bad", "warn", "unknown", "ok")
"""The checks in the order in which they are read: what speaks against a verdict comes first."""


def render_text(view: StudyView, width: int = 80, *, verbose: bool = False) -> str:
    """The summary in lines of at most `width` columns, ending in a line feed. ValueError under 60.

    `verbose`: every check, test and explanation, and the figures that identify the study folder.
    """
    _check_width(width)
    view = cleaned(view)
    if view.apart is not None:
        return _apart_text(view, view.apart, width)
    comparison = view.comparison
    failed = f"{view.runs_failed:,}" if view.runs_failed else "none"
    runs = f"{view.runs_total:,} run{'' if view.runs_total == 1 else 's'}, {failed} failed"
    groups = (headline_of(comparison), beyond_headline_of(comparison))
    table = _table(comparison, groups, width) if verbose else _changed_tests(comparison, groups, width)
    parts = [
        [
            *wrapped(
                f"{view.name}: {comparison.candidate} against {comparison.baseline} on {view.target}", width
            ),
            *wrapped(f"{view.question} {runs}.", width),
        ],
        _checks(view, width, verbose=verbose),
        table,
        wrapped(plain(overall(comparison)), width),
        band_lines(comparison, width),
        published_lines(view.published, width) if view.published is not None else [],
        _standings(view, width) if view.standings else [],
        _inside(view, width) if view.shapes else [],
        _notes(view, width, verbose=verbose),
        _changes(view, width) if view.environment_changes else [],
        [
            *_identity(view, width, verbose=verbose),
            *wrapped("Repeat it:", width),
            *command_lines(view.command, width),
        ],
        wrapped(plain(brief(view.published)), width) if view.published is not None else [],
        wrapped(verdict_sentence(comparison), width),
    ]
    lines = chain.from_iterable([*part, ""] for part in parts if any(part))
    return "\n".join(line.rstrip() for line in lines).rstrip("\n") + "\n"


def _apart_text(view: StudyView, apart: EffectsApart, width: int) -> str:
    """The separate effects of two causes on one screen; the page has the rest."""
    runs = f"{view.runs_total:,} runs, {view.runs_failed or 'none'} failed"
    lines = [
        *wrapped(f"{view.name}: {view.question} {runs}.", width),
        *effect_lines(apart, width),
        *[
            line
            for check in view.trust
            if check.state == "bad"
            for line in wrapped(f"[!] {check.name}: {check.text}", width)
        ],
        "",
        *wrapped(effects_sentence(apart), width),
    ]
    return "\n".join(line.rstrip() for line in lines)


def paragraphs(text: str, width: int = 80) -> str:
    """Paragraphs, parted by empty lines, in lines of at most `width` columns."""
    rendered = ["\n".join(wrapped(part, width)) for part in cleaned_text(text).split("\n\n") if part.strip()]
    return "\n\n".join(rendered) + "\n"


def comparison_table(comparison: Comparison, width: int = 80) -> str:
    """The table of a comparison's cells, worst first, as in the summary. ValueError under 60 columns."""
    _check_width(width)
    comparison = cleaned_comparison(comparison)
    groups = (headline_of(comparison), beyond_headline_of(comparison))
    return "\n".join(line.rstrip() for line in _table(comparison, groups, width))


def _checks(view: StudyView, width: int, *, verbose: bool) -> list[str]:
    """The checks, what speaks against a verdict first; the passed ones as a count, and no tables, unless `verbose`."""
    passed = [check for check in view.trust if check.state == "ok"]
    shown = [check for check in view.trust if verbose or check.state != "ok"]
    name_width = min(20, max((columns_of(check.name) for check in shown), default=0))
    lines: list[str] = []
    for check in sorted(shown, key=lambda check: _FIRST.index(check.state)):
        head = f"[{plain(CHECK_GLYPHS[check.state])}] {padded(check.name, name_width)}  "
        indent = " " * columns_of(head)
        text = check.text if verbose or check.state == "bad" else _first_clause(check.text)
        lines += wrapped(text, width, first=head, indent=indent)
        lines += [f"{indent}{line}" for line in _aligned(check.table if verbose else [], width - len(indent))]
    if passed and not verbose:
        lines.append(passed_line(len(passed)))
    return lines


def _first_clause(text: str) -> str:
    return text.split("; ", 1)[0].removesuffix(".")


def _notes(view: StudyView, width: int, *, verbose: bool) -> list[str]:
    """The notes; of the explanations the first, of the test that changed most, unless `verbose`."""
    explained = view.explanations if verbose else [f"{_first_clause(one)}." for one in view.explanations[:1]]
    notes = [*view.notes, *explained, *undrawn_tests(view)]
    return [line for note in notes for line in wrapped(note, width)]


def _identity(view: StudyView, width: int, *, verbose: bool) -> list[str]:
    """What was measured and with what, on a line or two; a missing seal is always reported."""
    shown = {
        key: value
        for key, value in view.identity.items()
        if verbose or not key.startswith(_INTERNAL) or (key == "seal" and value.startswith("none"))
    }
    return wrapped("; ".join(f"{key}: {value}" for key, value in shown.items()), width)


def _aligned(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """A small table: the first column to the left, the others to the right, each line cut to `width` columns."""
    widths = [max(map(columns_of, column)) for column in zip(*rows, strict=True)]
    return [
        cut(
            "  ".join(
                [padded(row[0], widths[0])]
                + [" " * (w - columns_of(text)) + text for text, w in zip(row[1:], widths[1:], strict=True)]
            ),
            width,
        )
        for row in rows
    ]


def _standings(view: StudyView, width: int) -> list[str]:
    """Rankings of all levels, grouped by device class where the classes differ."""
    classes = view.evidence.device_classes
    rendered = "; ".join(f"{level}: {words}" for level, words in classes.items() if level)
    head = [*wrapped(f"Class of device: {rendered}.", width), ""] if rendered else []
    left = len(view.standings) - _MOST_CELLS
    more = [f"The first {_MOST_CELLS} tests; the other {left:,} are in the page."] if left > 0 else []
    return [*head, *standing_lines(view.standings[:_MOST_CELLS], view.factor, width), *more]


def _inside(view: StudyView, width: int) -> list[str]:
    lines = ["Rate during the torture:"]
    for line in shape_lines(view.shapes):
        lines += wrapped(line, width, first="  ", indent="    ")
    return lines


def _check_width(width: int) -> None:
    if width < NARROWEST:
        raise ValueError(f"width is {width} columns; expected {NARROWEST} or more")


def _changed_tests(comparison: Comparison, groups: _Groups, width: int) -> list[str]:
    """The table of the tests that changed and of a few undecided ones, and the number of the others."""
    undecided = largest_changes(
        [c for group in groups for c in group if c.verdict == "undecided"], len(comparison.cells)
    )
    listed = undecided[:_MOST_UNDECIDED]
    shown = [[c for c in group if c.verdict in _CHANGED or c in listed] for group in groups]
    within = sum(c.verdict in _WITHIN for group in groups for c in group)
    lines = _table(comparison, shown, width) if any(shown) or not comparison.cells else []
    counts = [
        f"{counted(within, 'test')} without a relevant change" if within else "",
        f"{counted(len(undecided) - len(listed), 'more test')} undecided"
        if len(undecided) > len(listed)
        else "",
    ]
    if any(counts):
        lines += wrapped(f"{'; '.join(filter(None, counts))}: see the page, or --verbose.", width)
    return lines


def _table(comparison: Comparison, groups: _Groups, width: int) -> list[str]:
    if not comparison.cells:
        return wrapped(
            f"No test was measured in both {comparison.baseline} and {comparison.candidate}.", width
        )
    values = width >= _WITH_VALUES
    arithmetic = width >= _WITH_ARITHMETIC
    name_width = width - _CHANGE - _INTERVAL - _VERDICT - 3 - (2 * (_VALUE + 1) if values else 0)
    name_width -= _ARITHMETIC + 1 if arithmetic else 0
    arms = distinct_names(comparison.baseline, comparison.candidate)
    means = "".join(f"{cut(arm, _VALUE):>{_VALUE}} " for arm in arms) if values else ""
    means += f"{'arithm.':>{_ARITHMETIC}} " if arithmetic else ""
    head = f"{means}{'change':>{_CHANGE}} {'95 % interval':>{_INTERVAL}} {'verdict':<{_VERDICT}}"
    lines = [*_classes(comparison, width), f"{'test':<{name_width}} {head}"]
    lines.append("-" * width)
    for group in groups:
        for cell in largest_changes(group, _MOST_ROWS):
            names = wrapped(row_name(cell) or "-", name_width)
            rendered = _means(cell) if values else ""
            rendered += f"{plain(arithmetic_percent(cell)):>{_ARITHMETIC}} " if arithmetic else ""
            rendered += f"{plain(percent(cell.ratio)):>{_CHANGE}} {plain(interval(cell.ci95, cell.ratio)):>{_INTERVAL}}"
            mark = ", barely" if barely_words(cell) else ""
            lines.append(f"{padded(names[0], name_width)} {rendered} {verdict_words(cell)}{mark}")
            lines += [f"  {cut(rest, name_width - 2)}" for rest in names[1:]]
        if left := len(group) - _MOST_ROWS if len(group) > _MOST_ROWS else 0:
            lines += wrapped(
                f"The {_MOST_ROWS} of {len(group):,} tests that changed most; the other {left:,} are in the page and "
                "in tables/cells.csv, and `mileage compare FOLDER --json` prints all.",
                width,
            )
    if arithmetic:
        lines += ["", *wrapped(_MEANS, width)]
    if any(barely_words(cell) for group in groups for cell in group):
        lines += ["", *wrapped(BARELY, width)]
    if note := correction_note(comparison):
        lines += ["", *wrapped(plain(note), width)]
    return lines


def _means(cell: CellVerdict) -> str:
    means = (quantity(cell.metric, mean) for mean in (cell.mean_baseline, cell.mean_candidate))
    return "".join(f"{plain(mean):>{_VALUE}} " for mean in means)


def _classes(comparison: Comparison, width: int) -> list[str]:
    """What differs between the sides, above the table; the classes of the devices among it."""
    one, other = class_words(comparison)
    rendered = f"Class of device: {comparison.baseline} {one}, {comparison.candidate} {other}." if one else ""
    rendered = f"{sides_sentence(comparison)} {rendered}".strip()
    return [*wrapped(plain(rendered), width), ""] if rendered else []


def _changes(view: StudyView, width: int) -> list[str]:
    lines = ["Changed during the study:"]
    for change in view.environment_changes:
        lines += wrapped(change, width, first="  ", indent="    ")
    return lines
