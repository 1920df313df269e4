"""The page: one HTML file that opens without a network and says the verdict before anything else.

Scope: the order in which a stranger asks: what came out, how much in each cell, the one chart that explains it, the
checks that warn, and how to repeat it. Everything else is folded below a list of contents. Names come from
strangers: every text is escaped by the template, a content policy in the page forbids all loading, and the
only script is the one whose hash the policy names. Two renderings of one view are identical.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mileage.judge import CellVerdict
from mileage.report import standings, wording
from mileage.report.aspects import aspect_title, drawn_tests, undrawn_tests
from mileage.report.dark_mode import night_style
from mileage.report.detail_tables import downloads, favours, highlight_rows, value_rows, wear_rows
from mileage.report.difference_tables import PrintedTable, difference_tables, printed_table
from mileage.report.effects_apart import (
    effect_cells,
    effect_heads,
    effect_paragraphs,
    effect_rows,
    first_sentence,
    subject_words,
)
from mileage.report.gallery import (
    FIRST_SCREEN_ROWS,
    NAMES,
    NARROW,
    Picture,
    dashed_words,
    gallery,
    in_sections,
    units_counted,
)
from mileage.report.glossary import TERMS, explained
from mileage.report.model_band import CAUTION, band_cells, band_ranges, band_rows
from mileage.report.published_results import brief, here, shown_rows
from mileage.report.sentence import design_words, note_words
from mileage.report.standings import standing_rows
from mileage.report.torture_sentences import shape_lines
from mileage.report.view import StudyView, ValidityCheck, cleaned, shown_cells
from mileage.report.workload_charts import CHANGE, stands_alone
from mileage.store.environment import NOTE_PREFIX, SHOWN_MOMENTS, is_volatile

if TYPE_CHECKING:
    from jinja2 import Environment

_EMPHASIS: Final = "\x01"
_SENTENCE_END: Final = re.compile(r"\. (?=[A-Z])")
_CORRECTIONS: Final = (
    "Headline: p adjusted by Holm for the cells of the headline",
    "Beyond the headline: p adjusted by Benjamini-Hochberg for all cells",
)
_ATTENTION: Final = ("bad", "warn", "unknown")


def render_html(view: StudyView, pictures: Mapping[str, Picture] | None = None, *, drawn: bool = True) -> str:
    """The whole page as text, to be stored as UTF-8. Takes about two seconds, most of it drawing.

    `pictures` are those of `gallery` of the cleaned view, where they are drawn already. With `drawn` False the page has
    no pictures and says so.
    """
    from markupsafe import Markup

    view = cleaned(view)
    if pictures is None:
        pictures = gallery(view) if drawn else {}
    shown = min(FIRST_SCREEN_ROWS, len(view.headline))
    lead = wording.largest_changes(view.headline, shown)
    script, script_hash = script_of("report.js", "series.js")
    below = _below(view)
    explaining = _explaining(view, pictures)
    placed = in_sections(pictures, explaining)
    aspects = _aspects(view, pictures)
    template = templates().get_template("report.html.j2")
    return template.render(
        view=view,
        comparison=view.comparison,
        subject=subject_words(view),
        design=design_words(view.comparison),
        sentence=_sentence(first_sentence(view, _EMPHASIS).replace(" %", "\N{NO-BREAK SPACE}%")),
        **_apart(view),
        shown=shown,
        corrections=_CORRECTIONS if view.comparison.headline else _CORRECTIONS[::-1],
        corrected=any(wording.decided_by_correction(c) for c in lead),
        bands=_bands(view.headline),
        units_counted=units_counted(view),
        dashed=dashed_words(view),
        overall=wording.overall(view.comparison),
        rows=[_table_row(view, c) for c in wording.by_effect(view.headline)],
        other_rows=[_table_row(view, c) for c in wording.by_effect(view.beyond_headline)],
        axes=list(dict.fromkeys(name for place in view.evidence.places.values() for name in place)),
        standings=standing_rows(view.standings, view.factor),
        standings_rule=standings.RULE,
        paragraphs=[p for p in re.split(r"\n\s*\n", view.method) if p.strip()],
        barely=wording.BARELY if any(map(wording.barely_words, shown_cells(view.comparison))) else "",
        aspects=aspects,
        changes=[name for name in pictures if name.endswith(CHANGE)],
        **below,
        **_pictures(pictures),
        explaining=explaining,
        placed=placed,
        sections=_sections(view, below, pictures, placed, aspects),
        drawn=drawn,
        grouped_checks=grouped_checks(view.trust),
        terms=[term for term in TERMS if "report" in term.where],
        night=Markup(night_style()),
        script=script,
        script_hash=script_hash,
    )


def _apart(view: StudyView) -> dict[str, Any]:
    """The table of two causes and the lines below it; empty for a study of one."""
    apart = view.apart
    if apart is None:
        return {"effect_heads": (), "effect_rows": [], "effect_paragraphs": []}
    return {
        "effect_heads": effect_heads(apart),
        "effect_rows": [effect_cells(row, apart) for row in effect_rows(apart)],
        "effect_paragraphs": effect_paragraphs(apart),
    }


def grouped_checks(checks: Sequence[ValidityCheck]) -> list[list[ValidityCheck]]:
    """The checks to look at, and those that passed."""
    return [[check for check in checks if (check.state in _ATTENTION) == loud] for loud in (True, False)]


def _below(view: StudyView) -> dict[str, Any]:
    """Content below the pictures. Highlights of few cells would repeat what the forest plot shows."""
    many = len(view.headline) > FIRST_SCREEN_ROWS
    environment = environment_rows(view.environments)
    classes = view.evidence.device_classes
    return {
        "undrawn_tests": undrawn_tests(view),
        "environment": [row for row in environment if row[2]],
        "unchanging": [row for row in environment if not row[2]],
        "notes": note_lines(view.environments),
        "shapes": shape_lines(view.shapes),
        "highlights": highlight_rows(view) if many else [],
        "favours": favours(view) if many else [],
        "values": value_rows(view),
        "published_brief": "" if view.published is None else brief(view.published),
        "published_rows": [] if view.published is None else shown_rows(view.published),
        "here": "" if view.published is None else here(view.published),
        "band_rows": band_rows(view.comparison),
        "band_cells": band_cells(view.comparison),
        "band_ranges": band_ranges(view.comparison),
        "band_caution": CAUTION,
        "wear": wear_rows(view),
        "downloads": downloads(view),
        "device_class": "; ".join(f"{name}: {words}" if name else words for name, words in classes.items()),
        "device_classes": classes,
        "classed": bool(classes) and "" not in classes,
    }


_EXPLAINING: Final = ("levels", "headline_runs", "before_after")


def _explaining(view: StudyView, pictures: Mapping[str, Picture]) -> str:
    """The one picture that stands next to the verdict, by its name; empty where there is none.

    Between two stages it is what happened there; of several levels all of them; else the course of the runs.
    """
    if view.apart is not None:
        return ""
    names = ("torture", *_EXPLAINING) if view.comparison.kind == "stages" else _EXPLAINING
    return next((name for name in names if name in pictures), "")


class Aspect(NamedTuple):
    """A section of the page: its anchor, its heading, the names of its pictures, and its tables."""

    anchor: str
    title: str
    pictures: list[str]
    tables: list[PrintedTable]


def _aspects(view: StudyView, pictures: Mapping[str, Picture]) -> list[Aspect]:
    """Throughput, IOPS, metadata and time, each with its tests; none for a study of one test."""
    tests = drawn_tests(view)
    tables = difference_tables(view)
    return [
        Aspect(
            f"aspect-{aspect}",
            aspect_title(aspect),
            [t.file for t in tests if t.aspect == aspect and t.file in pictures and stands_alone(view, t)],
            [printed_table(table, view.evidence.places) for table in tables if table.aspect == aspect],
        )
        for aspect in dict.fromkeys(test.aspect for test in tests)
    ]


def _sections(
    view: StudyView,
    below: Mapping[str, Any],
    pictures: Mapping[str, Picture],
    placed: Mapping[str, list[str]],
    aspects: Sequence[Aspect],
) -> dict[str, str]:
    """The folded sections that have content, as headings by their anchors."""
    several = placed["changes"] or any(name.endswith(CHANGE) for name in pictures)
    torture = view.comparison.kind == "stages" or "torture" in pictures or placed["torture"]
    titles = {
        "cells": ("All tests", True),
        **{aspect.anchor: (aspect.title, True) for aspect in aspects},
        "runs": ("All runs", True),
        "changes": (f"All levels of {view.factor}" if view.factor else "Changes by size and setting",
                    several or view.standings),
        "torture": ("Inside the torture stage" if view.torture else "Over time",
                    torture or below["shapes"] or below["wear"] or view.evidence.layouts),
        "published": ("Published and here", below["published_rows"]),
        "band": ("Variants of the drive model", below["band_rows"]),
        "highlights": ("Largest changes of each test", below["highlights"] or below["favours"]),
        "environment": ("Environment", True),
        "method": ("Method", True),
        "data": ("Data files", below["downloads"]),
        "glossary": ("Glossary", True),
    }  # fmt: skip
    return {anchor: title for anchor, (title, content) in titles.items() if content}


def _pictures(drawn: Mapping[str, Picture]) -> dict[str, Any]:
    """The drawings, let into the page as they are, and their captions, which are escaped like all text."""
    from markupsafe import Markup

    return {
        "pictures": dict.fromkeys(NAMES) | {name: Markup(picture.svg) for name, picture in drawn.items()},
        "captions": dict.fromkeys(NAMES, "") | {name: picture.caption for name, picture in drawn.items()},
        "axes_of": {name: picture.axes for name, picture in drawn.items() if picture.axes},
        "layouts": [name for name in drawn if name.startswith("layout_") and not name.endswith(NARROW)],
    }


@cache
def script_of(*names: str) -> tuple[Any, str]:
    """Combine files into the only script of the page, and return it with its hash for the content policy."""
    from markupsafe import Markup

    folder = resources.files("mileage.report").joinpath("templates")
    text = "".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names)
    return Markup(text), base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def templates() -> "Environment":
    """Environment of the page's templates; it escapes every inserted text."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("mileage.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals |= {"check_glyphs": wording.CHECK_GLYPHS, "check_words": wording.CHECK_WORDS}
    found.filters["term"] = explained
    return found


def _sentence(sentence: str) -> tuple[list[tuple[str, bool]], str]:
    """The first sentence in pieces, those to be emphasised marked True, and whatever follows it."""
    end = _SENTENCE_END.search(sentence)
    first, rest = (sentence, "") if end is None else (sentence[: end.start() + 1], sentence[end.end() :])
    pieces = [(piece, bool(i % 2)) for i, piece in enumerate(first.split(_EMPHASIS)) if piece]
    return pieces, rest.replace(_EMPHASIS, "")


def _bands(cells: Sequence[CellVerdict]) -> str:
    """The margins of relevance in use: "2 %" or "2 % or 5 %"."""
    return " or ".join(
        f"{margin * 100:g}\N{NO-BREAK SPACE}%" for margin in sorted({c.relevance for c in cells})
    )


def _table_row(view: StudyView, cell: CellVerdict) -> dict[str, Any]:
    def both(value: float | None) -> tuple[str, str]:
        return wording.quantity(cell.metric, value), wording.second_quantity(cell.metric, value)

    return {
        "name": wording.row_name(cell),
        "places": json.dumps(
            {**view.evidence.places.get(cell.cell, {}), "cell": cell.cell}, ensure_ascii=False
        ),
        "sorting": ["" if key is None else repr(key) for key in _sorting(cell)],
        "note": note_words(cell, view.comparison),
        "verdict": cell.verdict,
        "words": wording.verdict_words(cell).partition(" ")[2],
        "glyph": wording.VERDICT_GLYPHS[cell.verdict],
        "baseline": both(cell.mean_baseline),
        "candidate": both(cell.mean_candidate),
        "change": wording.percent(cell.ratio),
        "arithmetic": wording.arithmetic_percent(cell),
        "barely": wording.barely_words(cell),
        "ratio": wording.ratio(cell.ratio),
        "interval": wording.interval(cell.ci95, cell.ratio),
        "p": wording.p_value(cell.p_adjusted),
        "p_raw": wording.p_value(cell.p_raw),
        "sham": wording.percent(cell.sham_ratio),
        "mde": wording.NOT_AVAILABLE if cell.mde is None else f"{cell.mde * 100:.1f}\N{NO-BREAK SPACE}%",
        "runs": f"{cell.n_baseline} / {cell.n_candidate}",
    }


def _sorting(cell: CellVerdict) -> tuple[float | None, ...]:
    """Sort keys of the numeric columns."""
    low = cell.ci95[0] if cell.ci95 else None
    means = (cell.mean_baseline, cell.mean_candidate, cell.sham_ratio, cell.mde)
    return (cell.ratio, low, cell.p_adjusted, *means, min(cell.n_baseline, cell.n_candidate))


def note_lines(snapshots: Sequence[tuple[str, Mapping[str, str]]]) -> list[tuple[str, str]]:
    """What a study states of the machine, as (name, text); a text that differs, with where it was stated."""
    rows = [row for row in environment_rows(snapshots) if row[0].startswith(NOTE_PREFIX)]
    return [
        (
            key.removeprefix(NOTE_PREFIX),
            "; ".join(
                f"{stage}: {text or 'not stated'}" for (stage, _), text in zip(snapshots, texts, strict=True)
            )
            if differs
            else texts[0],
        )
        for key, texts, differs in rows
    ]


def environment_rows(snapshots: Sequence[tuple[str, Mapping[str, str]]]) -> list[tuple[str, list[str], bool]]:
    """One (key, value per stage, differs) row per fact, those that differ first.

    Other volatile facts than `SHOWN_MOMENTS`, such as the load, differ between any two snapshots; they are in the study
    folder.
    """
    keys = dict.fromkeys(
        key for _, facts in snapshots for key in facts if key in SHOWN_MOMENTS or not is_volatile(key)
    )
    rows = [(key, [facts.get(key, "") for _, facts in snapshots]) for key in keys]
    marked = [(key, values, len(set(values)) > 1) for key, values in rows]
    return sorted(marked, key=lambda row: not row[2])
