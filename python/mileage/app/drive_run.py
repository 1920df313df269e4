"""The page of one workload on a virtual drive.

Scope: the course of the run from its record, with what the drive counted.
What it refuses: a folder that has something in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mileage.analysis.chart_data import course_of
from mileage.app.comparison_report import new_folder
from mileage.model.run_record import RunRecord
from mileage.report.datasheet import DRAWN_COUNTERS
from mileage.report.drive_run_page import DriveRunPage, write_drive_run


def write_run_page(
    out: Path, drive: str, workload: str, record: RunRecord, gauges: Sequence[tuple[str, int]], command: str
) -> Path:
    """Write the page of a run into a new or empty folder, with its picture and a table of it; the page.

    Raises:
        Refused: `out` exists and has something in it, or cannot be made.
    """
    operations, seconds = record.ops_read + record.ops_written, record.elapsed_s
    megabytes = record.bytes_moved / 1e6
    per_s = f": {megabytes / seconds:,.1f} MB/s, {operations / seconds:,.0f} IOPS" if seconds else ""
    summary = [
        f"{operations:,} operations, {megabytes:,.1f} MB in {seconds:.3f} s of the drive's time{per_s}."
    ]
    if (amplification := record.write_amplification) is not None:
        summary.append(f"Write amplification {amplification:.3f}.")
    if record.error is not None:
        summary.append(f"The drive ended the run: {record.error.message}.")
    page = DriveRunPage(
        drive=drive,
        workload=workload,
        summary=tuple(summary),
        course=course_of(record, {key: f"{title}/s" for key, title in DRAWN_COUNTERS.items()}),
        counters=tuple((name, value) for name, value in record.counters.items() if value),
        gauges=tuple(gauges),
        command=command,
    )
    with new_folder(out, "--report") as folder:
        write_drive_run(page, folder)
    return out / "report.html"
