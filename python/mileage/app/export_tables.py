"""The tables of `mileage export`: those of the journal and, if the plan can be read, those of the judgement."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from mileage.app.result import StudyResult, load
from mileage.errors import Refused
from mileage.plan.cell_keys import KEY_COLUMNS, key_rows
from mileage.report.caveat_words import caveat_words
from mileage.store import StudyFolder
from mileage.store.export_tables import Column, Row, Table, environment_table, journal_tables
from mileage.store.safe_directory import refuse_links
from mileage.store.text_cells import meant

_WHOLE = (
    *("n", "n_baseline", "n_candidate", "rank_first", "rank_last", "runs"),
    *("asked", "completed", "failed", "power_cut_writes_lost"),
)
_TEXTS = (
    *("cell", "measure", "metric", "verdict", "note", "notes", "arm", "level", "stage", "limited_by"),
    *("class", "class_baseline", "class_candidate", "device_class", "barely"),
)
_TRUTHS = ("rule_bars_apart", "rule_bar_clears_zero", "depends_on_method")
_IN_METRIC = ("mean", "mean_baseline", "mean_candidate")
_KEYS = {
    "cell": "its label, as in the other tables",
    "workload": "name of the workload",
    "work": "the workload in words common to several tools",
    "record_bytes": "size of one operation",
    "threads": "threads, processes or tasks at the same time",
    "depth": "operations outstanding per thread",
}
_MEANINGS = {
    "cells": "One row per judged cell and metric, as in the report.",
    "summaries": "The runs of each judged cell and metric in each arm.",
    "standings": "Every level of the compared factor, per cell.",
    "within": "Summaries of each arm: pooled throughput, and the standard error of each run's mean.",
    "measured": "One row per measured cell; rates and times are geometric means of the runs.",
}


def exported_tables(folder: Path) -> tuple[str, list[Table], list[str]]:
    """A title, the tables of a study folder, and a sentence on each thing that is missing from them.

    Raises:
        Refused: there is no study, or no table can be made of it.
    """
    found = StudyFolder(folder)
    refuse_links(folder)
    if not found.journal.is_file():
        raise Refused(
            folder,
            "is not a study folder: it has no journal.jsonl",
            advice="give the folder of a study",
            code="not-found",
        )
    content = found.content(around_damage=True)
    tables = [*journal_tables(content), environment_table(found.environments())]
    missing = [
        f"{found.environment / name}.json is damaged or edited." for name in found.damaged_environments()
    ]
    try:
        result = load(folder)
    except Refused as refusal:
        return f"Tables of {folder.name}", tables, [*missing, f"The comparison is missing: {refusal}"]
    missing += [f"Not whole: {caveat_words(one)}." for one in result.outcome().caveats]
    title = f"Tables of the study {result.plan.study.name} on {result.plan.study.target}"
    return title, [*tables, _cell_keys(result), *_judged(result)], missing


def _cell_keys(result: StudyResult) -> Table:
    columns = tuple(Column(name, kind, _KEYS[name]) for name, kind in KEY_COLUMNS.items())
    return Table("cell_keys", "One row per cell of the plan.", columns, lambda: iter(key_rows(result.plan)))


def _judged(result: StudyResult) -> Iterator[Table]:
    """Tables that the report writes into the folder `tables` of the study."""
    from mileage.analysis.run_variation import inside
    from mileage.analysis.view import measured_page
    from mileage.report.measurement_page import measured_csv
    from mileage.report.standings import standings_csv
    from mileage.report.tables import cells_csv, rows_csv, summaries_csv

    if result.plan.imported is not None:
        return
    if not result.compares:
        yield _of_csv("measured", measured_csv(measured_page(result.plan, result.folder).cells))
        return
    view = result.view()
    yield _of_csv("cells", cells_csv(view.comparison))
    yield _of_csv("summaries", summaries_csv(view.comparison))
    if view.standings:
        yield _of_csv("standings", standings_csv(view.standings, view.evidence.device_classes))
    within = inside(result.reading().arms)
    if within:
        yield _of_csv("within", rows_csv(within))


def _of_csv(name: str, text: str) -> Table:
    """A table of the report from its CSV text, which has all digits; its columns get their units and types."""
    header, *lines = csv.reader(io.StringIO(text))
    columns = tuple(Column(_named(word), _kind(word), _meaning(word)) for word in header)

    def rows() -> Iterator[Row]:
        for line in lines:
            yield {c.name: _value(c.kind, cell) for c, cell in zip(columns, line, strict=True)}

    return Table(name, _MEANINGS[name], columns, rows)


def _named(word: str) -> str:
    return f"{word}_in_metric_unit" if word in _IN_METRIC else word


def _meaning(word: str) -> str:
    return "in the unit that the column metric names" if word in _IN_METRIC else ""


def _kind(word: str) -> str:
    if word in _TEXTS:
        return "VARCHAR"
    if word in _TRUTHS:
        return "BOOLEAN"
    return "BIGINT" if word in _WHOLE else "DOUBLE"


def _value(kind: str, text: str) -> object:
    if kind == "VARCHAR":
        return meant(text)
    if text == "":
        return None
    if kind == "BOOLEAN":
        return text == "True"
    return int(text) if kind == "BIGINT" else float(text)
