"""Readers on files that a test writes."""

from __future__ import annotations

from pathlib import Path

from mileage.formats.input_file import open_source
from mileage.formats.readers import read_source
from mileage.formats.result import Result, ToolRun

SAMPLES = Path(__file__).parent / "samples"


def of(path: Path, layout: str | None = None) -> Result:
    """What the reader of a file makes of it."""
    return read_source(open_source(path), layout)


def of_text(folder: Path, text: str, layout: str | None = None) -> Result:
    """The same for a text."""
    path = folder / "file"
    path.write_text(text, encoding="utf-8")
    return of(path, layout)


def by_cell(result: Result) -> dict[str, ToolRun]:
    """The runs by their cells, each once."""
    found = {run.cell: run for run in result.runs}
    assert len(found) == len(result.runs)
    return found
