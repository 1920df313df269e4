"""The study folder: what execute writes and judge and report read.

`journal.jsonl` is the truth: one line per finished run, on the disk before the next run starts. The tables are
derived from it and can be made again at any time. Nothing here measures, judges or draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mileage.lazy_names import lazy_names

if TYPE_CHECKING:
    from mileage.record.cell_measurements import Latency, MeasuredCell, measured_cells
    from mileage.record.folder import StudyFolder
    from mileage.record.journal import FORMAT, Journal, left_out, read_journal
    from mileage.record.outcome import Outcome, outcome_of
    from mileage.record.tables import sample_rows, write_tables
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "mileage.record.folder": ("StudyFolder",),
            "mileage.record.journal": ("FORMAT", "Journal", "left_out", "read_journal"),
            "mileage.record.cell_measurements": ("Latency", "MeasuredCell", "measured_cells"),
            "mileage.record.outcome": ("Outcome", "outcome_of"),
            "mileage.record.tables": ("sample_rows", "write_tables"),
        },
    )

__all__ = [
    "FORMAT",
    "Journal",
    "Latency",
    "MeasuredCell",
    "Outcome",
    "StudyFolder",
    "left_out",
    "measured_cells",
    "outcome_of",
    "read_journal",
    "sample_rows",
    "write_tables",
]
