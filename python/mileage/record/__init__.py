"""The study folder: what execute writes and judge and report read.

`journal.jsonl` is the truth: one line per finished run, on the disk before the next run starts. The tables are
derived from it and can be made again at any time. Nothing here measures, judges or draws.
"""

from mileage.record.folder import StudyFolder
from mileage.record.journal import FORMAT, Journal, left_out, read_journal
from mileage.record.measured import Latency, MeasuredCell, measured_cells
from mileage.record.outcome import Outcome, outcome_of
from mileage.record.tables import sample_rows, write_tables

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
