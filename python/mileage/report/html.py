"""The page: one HTML file that opens without a network and says the verdict before anything else.

Models the order in which a stranger asks: what came out, can it be trusted, how much in each cell; then the
runs behind it, the torture, the table, the environment, the method and how to repeat it. Names come from
strangers: every text is escaped by the template, a content policy in the page forbids all loading, and the
only script is the one whose hash the policy names. Two renderings of one view are identical.
"""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from mileage.judge import CellVerdict, verdict_sentence
from mileage.report import standings, wording
from mileage.report.charts import MOST_PANELS, before_after_svg, forest_svg, torture_svg, torture_words
from mileage.report.shapes import shape_lines
from mileage.report.standings import standing_rows
from mileage.report.view import StudyView, cleaned

if TYPE_CHECKING:
    from jinja2 import Environment

FIRST_SCREEN_ROWS: Final = 11
_EMPHASIS: Final = "\x01"
_SENTENCE_END: Final = re.compile(r"\. (?=[A-Z])")
_CORRECTIONS: Final = (
    "Headline: p adjusted by Holm for the cells of the headline",
    "Beyond the headline: p adjusted by Benjamini-Hochberg for all cells",
)
_COPY_SCRIPT: Final = """
document.getElementById("copy").addEventListener("click", function () {
  var command = document.getElementById("command"), button = this;
  var range = document.createRange(), selection = window.getSelection();
  range.selectNodeContents(command);
  selection.removeAllRanges();
  selection.addRange(range);
  var done = document.execCommand("copy");
  button.textContent = done ? "Copied" : "Selected: press Ctrl+C";
  setTimeout(function () { button.textContent = "Copy the command"; }, 3000);
});
"""


def render_html(view: StudyView) -> str:
    """The whole page as text, to be stored as UTF-8. Takes about a second, most of it drawing."""
    from markupsafe import Markup

    view = cleaned(view)
    lead = wording.most_telling(view.headline, FIRST_SCREEN_ROWS)
    shortened = len(lead) < len(view.headline)
    pictures = {
        "forest": forest_svg(view, lead, name="forest"),
        "whole_forest": forest_svg(view, view.headline, name="whole-forest") if shortened else None,
        "latency": forest_svg(view, view.beyond_headline, name="latency"),
        "before_after": before_after_svg(view, name="before-after"),
        "torture": torture_svg(view, name="torture"),
    }
    template = templates().get_template("report.html.j2")
    return template.render(
        view=view,
        comparison=view.comparison,
        sentence=_sentence(verdict_sentence(view.comparison, _EMPHASIS)),
        pictures={name: Markup(svg) if svg else None for name, svg in pictures.items()},
        shown=len(lead),
        panels=min(MOST_PANELS, len(view.headline)),
        corrections=_CORRECTIONS if view.comparison.headline else _CORRECTIONS[::-1],
        corrected=any(_decided_by_correction(c) for c in lead),
        bands=_bands(view.headline),
        overall=wording.overall(view.comparison),
        rows=[_table_row(c) for c in wording.by_effect(view.headline)],
        other_rows=[_table_row(c) for c in wording.by_effect(view.beyond_headline)],
        environment=_environment(view.environments),
        torture_words=wording.plain(torture_words(view)),
        shapes=shape_lines(view.shapes),
        standings=standing_rows(view.standings, view.factor),
        standings_rule=standings.RULE,
        paragraphs=[p for p in re.split(r"\n\s*\n", view.method) if p.strip()],
        lamp_glyphs=wording.LAMP_GLYPHS,
        lamp_words=wording.LAMP_WORDS,
        script=Markup(_COPY_SCRIPT),
        script_hash=base64.b64encode(hashlib.sha256(_COPY_SCRIPT.encode()).digest()).decode(),
    )


@cache
def templates() -> "Environment":
    """Where the page's templates come from; every text put into one is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("mileage.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _sentence(told: str) -> tuple[list[tuple[str, bool]], str]:
    """The first sentence in pieces, those to be emphasised marked True, and whatever follows it."""
    end = _SENTENCE_END.search(told)
    first, rest = (told, "") if end is None else (told[: end.start() + 1], told[end.end() :])
    pieces = [(piece, bool(i % 2)) for i, piece in enumerate(first.split(_EMPHASIS)) if piece]
    return pieces, rest.replace(_EMPHASIS, "")


def _decided_by_correction(cell: CellVerdict) -> bool:
    return cell.verdict == "undecided" and cell.ci95 is not None and (cell.ci95[0] > 1 or cell.ci95[1] < 1)


def _bands(cells: Sequence[CellVerdict]) -> str:
    """The margins of relevance in use: "2 %" or "2 % or 5 %"."""
    return " or ".join(
        f"{margin * 100:g}\N{NO-BREAK SPACE}%" for margin in sorted({c.relevance for c in cells})
    )


def _table_row(cell: CellVerdict) -> dict[str, Any]:
    def both(value: float | None) -> tuple[str, str]:
        return wording.quantity(cell.metric, value), wording.second_quantity(cell.metric, value)

    return {
        "name": wording.row_name(cell),
        "note": cell.note,
        "verdict": cell.verdict,
        "glyph": wording.VERDICT_GLYPHS[cell.verdict],
        "baseline": both(cell.mean_baseline),
        "candidate": both(cell.mean_candidate),
        "change": wording.percent(cell.ratio),
        "ratio": wording.ratio(cell.ratio),
        "interval": wording.interval(cell.ci95),
        "p": wording.p_value(cell.p_adjusted),
        "p_raw": wording.p_value(cell.p_raw),
        "sham": wording.percent(cell.sham_ratio),
        "mde": wording.NOT_AVAILABLE if cell.mde is None else f"{cell.mde * 100:.1f}\N{NO-BREAK SPACE}%",
        "runs": f"{cell.n_baseline} / {cell.n_candidate}",
    }


def _environment(snapshots: Sequence[tuple[str, Mapping[str, str]]]) -> list[tuple[str, list[str], bool]]:
    """One (key, value per stage, differs) row per fact, those that differ first."""
    keys = dict.fromkeys(key for _, facts in snapshots for key in facts)
    rows = [(key, [facts.get(key, "") for _, facts in snapshots]) for key in keys]
    told = [(key, values, len(set(values)) > 1) for key, values in rows]
    return sorted(told, key=lambda row: not row[2])
