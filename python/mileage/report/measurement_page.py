"""The page of a study that compares nothing: what was measured in each cell, and how to repeat it.

Scope: the same style as the page of a comparison. Names come from strangers: every text is escaped by the template,
and a content policy forbids all loading and every script but the page's own. Two renderings of one value are identical.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import msgspec

from mileage.judge import summarise
from mileage.report.cell_estimates import estimate_columns, estimate_row, partial_words, rate_of
from mileage.report.chart_data import ChartData
from mileage.report.dark_mode import night_style
from mileage.report.figures import write_pictures
from mileage.report.gallery import NARROW, Picture
from mileage.report.html import environment_rows, note_lines, script_of, templates
from mileage.report.measurement_charts import measured_pictures
from mileage.report.measurement_text import columns_of, lost_words, lost_writes
from mileage.report.rate_curves import MOST_BARS, curve_names
from mileage.report.view import cleaned_evidence, cleaned_text
from mileage.store import MeasuredCell
from mileage.store.safe_directory import Directory
from mileage.store.text_cells import csv_text


class MeasuredPage(msgspec.Struct, frozen=True):
    """All data of the HTML page of a measurement that compares nothing."""

    name: str
    question: str
    target: str
    setting: tuple[str, ...]
    cells: tuple[MeasuredCell, ...]
    runs_total: int
    runs_failed: int
    method: str
    command: str
    identity: dict[str, str]
    answer: str = ""
    """First sentence: the measured rate and its certainty; empty where nothing was measured."""
    unfinished: tuple[str, ...] = ()
    """Sentences about weaknesses of the figures: missing or failed runs, disturbances."""
    evidence: ChartData = ChartData()
    environments: list[tuple[str, dict[str, str]]] = []
    """One (stage, facts) pair for each snapshot of the machine."""
    factor: str = ""
    """Name of the factor whose levels `evidence` has."""
    checked: str = ""
    """For `mileage check` the text that it printed: the drive, its health, its class; empty for other measurements."""


def render_measured(
    page: MeasuredPage, pictures: Sequence[Picture] | None = None, *, drawn: bool = True
) -> str:
    """The whole page as text, to be stored as UTF-8.

    `pictures`: where they are drawn already. With `drawn` False the page has none and says so.
    """
    from markupsafe import Markup

    page = _cleaned(page)
    if pictures is None:
        pictures = measured_pictures(page.evidence, page.factor) if drawn else ()
    columns, curves = columns_of(page.cells), curve_names(page.evidence.curves)
    script, script_hash = script_of("series.js")
    environment = environment_rows(page.environments)
    return (
        templates()
        .get_template("measured.html.j2")
        .render(
            page=page,
            drawings={picture.name: Markup(picture.svg) for picture in pictures},
            curves=[(p.name, p.caption) for p in pictures if p.name in curves],
            shown=[
                (p.name, p.caption, p.axes)
                for p in pictures
                if not p.name.endswith(NARROW) and p.name not in curves
            ],
            folds_table=len(page.cells) > MOST_BARS,
            script=script,
            script_hash=script_hash,
            drawn=drawn,
            night=Markup(night_style()),
            environment=[row for row in environment if row[2]],
            unchanging=[row for row in environment if not row[2]],
            notes=note_lines(page.environments),
            paragraphs=[part for part in page.method.split("\n\n") if part.strip()],
            heads=[head for head, _, _ in columns],
            lost=[f"Power cut, {cell.cell}: {words}." for cell in page.cells if (words := lost_words(cell))],
            partial=""
            if page.answer
            else partial_words((cell.cell, rate_of(cell, "ops_per_s")) for cell in page.cells),
            rows=[(cleaned_text(cell.cell), [text(cell) for _, _, text in columns]) for cell in page.cells],
        )
    )


def _cleaned(page: MeasuredPage) -> MeasuredPage:
    """The same page, with control characters in all shown texts replaced by escapes."""
    return msgspec.structs.replace(
        page,
        name=cleaned_text(page.name),
        question=cleaned_text(page.question),
        target=cleaned_text(page.target),
        setting=tuple(map(cleaned_text, page.setting)),
        method=cleaned_text(page.method),
        command=cleaned_text(page.command),
        identity={cleaned_text(key): cleaned_text(value) for key, value in page.identity.items()},
        answer=cleaned_text(page.answer),
        unfinished=tuple(map(cleaned_text, page.unfinished)),
        evidence=cleaned_evidence(page.evidence),
        factor=cleaned_text(page.factor),
        checked="\n".join(map(cleaned_text, page.checked.splitlines())),
        environments=[
            (cleaned_text(stage), {cleaned_text(key): cleaned_text(value) for key, value in facts.items()})
            for stage, facts in page.environments
        ],
    )


def measured_csv(cells: tuple[MeasuredCell, ...]) -> str:
    """CSV text of the measured figures: one row per test, units in the column names; empty: not known.

    Rates and times are geometric means of the runs, and have their interval, the median with its own, and the pooled
    rate next to them. `memory_percent` is the median of the runs.
    """
    rows = []
    latencies = ("p50_ns", "p90_ns", "p99_ns", "p99_9_ns", "max_ns")
    bytes_head, ops_head = estimate_columns("rate", "bytes_per_s"), estimate_columns("ops", "per_s")
    head = ("stage", "cell", "runs", *bytes_head, *ops_head, "elapsed_s")
    of_commits = ("p50_ns", "p99_ns", "max_ns")
    tail = ("cpu_ns_per_op", "memory_percent", "limited_by", "failed", "power_cut_writes_lost")
    for cell in cells:
        whole = cell.latency.get("response") or cell.latency.get("all")
        rates = (*estimate_row(rate_of(cell, "rate_bytes_per_s")), *estimate_row(rate_of(cell, "ops_per_s")))
        elapsed = summarise(cell.elapsed_s).geometric_mean
        quantiles = (None if whole is None else getattr(whole, name) for name in latencies)
        commit = cell.latency.get("commit")
        commits = (None if commit is None else getattr(commit, name) for name in of_commits)
        memory = statistics.median(cell.memory_percent) if cell.memory_percent else None
        rest = (cell.cpu_ns_per_op, memory, " ".join(cell.limited_by), cell.failed, lost_writes(cell))
        rows.append((cell.stage, cell.cell, cell.runs, *rates, elapsed, *quantiles, *commits, *rest))
    quantile_heads = (*(f"latency_{name}" for name in latencies), *(f"commit_{name}" for name in of_commits))
    return csv_text((*head, *quantile_heads, *tail), rows)


def write_measured(page: MeasuredPage, folder: Directory, *, drawn: bool) -> None:
    """Write the page, its pictures as SVG and PNG into `figures/`, and `tables/measured.csv`.

    With `drawn` False there are no pictures.
    """
    folder.write("tables/measured.csv", measured_csv(page.cells).encode())
    if not drawn:
        folder.write("report.html", render_measured(page, drawn=False).encode())
        return
    page = _cleaned(page)
    pictures = measured_pictures(page.evidence, page.factor)
    if pictures:
        write_pictures(pictures, f"{page.name} on {page.target}", folder)
    folder.write("report.html", render_measured(page, pictures).encode())
