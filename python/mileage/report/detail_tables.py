"""Content below the pictures: highlights per test, all values, the drive's wear, and downloads.

Scope: rows of text for the page's template. What a study has not, has no rows.
"""

from __future__ import annotations

import base64
import gzip
import math
import statistics
from collections.abc import Sequence
from typing import Any, Final

from mileage.judge import CellVerdict
from mileage.report import wording
from mileage.report.view import StudyView
from mileage.store.text_cells import csv_text

EMBEDDED_BYTES_MAX: Final = 1 << 20
"""More than this, compressed, is linked and not embedded."""
_PERCENT: Final = "\N{NO-BREAK SPACE}%"


def highlight_rows(view: StudyView) -> list[dict[str, str]]:
    """Per test the cell that lost most and the one that gained most, of the decided ones, with the spread of runs."""
    tests: dict[str, list[CellVerdict]] = {}
    for cell in view.headline:
        if cell.verdict in ("faster", "slower") and cell.ratio:
            tests.setdefault(view.evidence.test_of(cell.cell), []).append(cell)
    rows = []
    for test, cells in tests.items():
        ordered = wording.by_effect(cells)
        ends = (("largest loss", "slower", ordered[0]), ("largest gain", "faster", ordered[-1]))
        rows += [_highlight(test, case, cell) for case, wanted, cell in ends if cell.verdict == wanted]
    return rows


def _highlight(test: str, case: str, cell: CellVerdict) -> dict[str, str]:
    return {
        "test": test,
        "case": case,
        "cell": wording.row_name(cell),
        "change": wording.percent(cell.ratio),
        "interval": wording.interval(cell.ci95, cell.ratio),
        "spread": f"{_deviation(cell.values_baseline)} / {_deviation(cell.values_candidate)}",
        "runs": f"{cell.n_baseline} / {cell.n_candidate}",
    }


def _deviation(values: Sequence[float]) -> str:
    """Standard deviation (n - 1) of the natural logarithms of the values, in percent: the relative spread."""
    logs = [math.log(value) for value in values if value > 0]
    if len(logs) < 2:
        return wording.NOT_AVAILABLE
    return f"{100 * math.expm1(statistics.stdev(logs)):.1f}{_PERCENT}"


def favours(view: StudyView) -> list[str]:
    """Sentences about which differences favour which arm."""
    low, high = view.comparison.baseline, view.comparison.candidate
    sentences = []
    for arm, verdict in ((low, "slower"), (high, "faster")):
        cells = [cell for cell in wording.by_effect(view.headline) if cell.verdict == verdict]
        if cells:
            names = "; ".join(
                f"{wording.row_name(cell)} ({wording.percent(cell.ratio)})" for cell in cells[:20]
            )
            more = f"; and {len(cells) - 20} more" if len(cells) > 20 else ""
            sentences.append(f"The differences favour {arm} at {names}{more}.")
    return sentences


def value_rows(view: StudyView) -> list[dict[str, str]]:
    """Every value of every cell, in the order of the runs."""
    rows = []
    for cell in view.comparison.cells:
        scale = wording.scale_of(cell.metric, [*cell.values_baseline, *cell.values_candidate])
        rows.append(
            {
                "name": wording.row_name(cell),
                "unit": scale.unit,
                "baseline": _values(cell.values_baseline, scale.per_unit),
                "candidate": _values(cell.values_candidate, scale.per_unit),
            }
        )
    return rows


def _values(values: Sequence[float], per_unit: float) -> str:
    return " ".join(wording.five_digits(value / per_unit) for value in values)


def wear_rows(view: StudyView) -> list[tuple[str, list[tuple[str, str]]]]:
    """Each wear figure of the drive, before and after the torture of each cycle."""
    names = dict.fromkeys(wear.name for wear in view.evidence.wear)
    return [
        (
            name,
            [
                (f"{wear.before:,.0f}", f"{wear.after:,.0f}")
                for wear in view.evidence.wear
                if wear.name == name
            ],
        )
        for name in names
    ]


def values_csv(view: StudyView) -> str:
    """CSV text with a header: one row per measured value of the compared arms, in the metric's own unit."""
    rows = []
    comparison = view.comparison
    for cell in comparison.cells:
        arms = ((comparison.baseline, cell.values_baseline), (comparison.candidate, cell.values_candidate))
        for arm, values in arms:
            for number, value in enumerate(values, 1):
                rows.append((cell.cell, cell.measure, cell.metric, arm, number, value))
    return csv_text(("cell", "measure", "metric", "arm", "number", "value"), rows)


def downloads(view: StudyView) -> list[dict[str, Any]]:
    """Downloads of the page: embedded if they are small, otherwise links to files next to the page."""
    found = []
    offered = (("values.csv.gz", "every value of the comparison, CSV", values_csv(view)),
               ("plan.toml.gz", "the plan as it was run, TOML", view.evidence.plan_toml))  # fmt: skip
    for name, about, text in offered:
        packed = gzip.compress(text.encode(), 9, mtime=0)
        if text and len(packed) <= EMBEDDED_BYTES_MAX:
            address = "data:application/gzip;base64," + base64.b64encode(packed).decode()
            found.append({"name": name, "about": about, "address": address, "size": _size(len(packed))})
    for name, size in view.evidence.files:
        about = _FOLDER_FILES.get(name, "a file of the study folder")
        found.append({"name": name, "about": about, "address": "", "size": _size(size)})
    return found


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 1e5 else f"{count / 1e3:,.1f} kB"


_FOLDER_FILES: Final = {
    "samples.parquet": "one row per run and metric",
    "series.parquet": "rate and latency per interval of every run",
    "latency.parquet": "latencies of every run",
    "counters.parquet": "what the target counted in every run",
    "journal.jsonl": "everything, one line per run",
    "plan.json": "the plan with every run",
}
