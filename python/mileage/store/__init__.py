"""The study folder: what execute writes and judge and report read.

`journal.jsonl` is the truth: one line per finished run, on the disk before the next run starts. The tables are
derived from it and can be made again at any time. Nothing here measures, judges or draws.

The tables for other programs are here as well: `export_tables` says which there are, with the unit in each column's
name; `text_cells` how a value is written as text; `export_folder` writes CSV, Parquet, JSON and Markdown
into a new folder that appears whole or not at all. They need the journal alone, so the runs
of a study whose plan is damaged can still be exported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mileage.lazy_names import lazy_names

if TYPE_CHECKING:
    from mileage.store.cell_measurements import Latency, MeasuredCell, measured_cells
    from mileage.store.journal import FORMAT, Journal, read_journal, skipped_runs
    from mileage.store.study_folder import StudyFolder
    from mileage.store.study_outcome import Outcome, outcome_of
    from mileage.store.tables import sample_rows, write_tables
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "mileage.store.study_folder": ("StudyFolder",),
            "mileage.store.journal": ("FORMAT", "Journal", "read_journal", "skipped_runs"),
            "mileage.store.cell_measurements": ("Latency", "MeasuredCell", "measured_cells"),
            "mileage.store.study_outcome": ("Outcome", "outcome_of"),
            "mileage.store.tables": ("sample_rows", "write_tables"),
        },
    )

__all__ = [
    "FORMAT",
    "Journal",
    "Latency",
    "MeasuredCell",
    "Outcome",
    "StudyFolder",
    "measured_cells",
    "outcome_of",
    "read_journal",
    "sample_rows",
    "skipped_runs",
    "write_tables",
]
