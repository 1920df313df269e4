"""`mileage query`: SQL over the tables of many studies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from mileage.cli.json_output import print_json


@click.command("query")
@click.argument("sql")
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, a list of objects.")
@click.option("--allow-files", is_flag=True, help="Allow SQL to read and write other files.")
def command(sql: str, folders: tuple[Path, ...], as_json: bool, allow_files: bool) -> None:
    """Run SQL over the tables samples, series, latency, counters, studies and cell_keys
    of study FOLDERs, or of all studies below the given folders (default: here).

    \b
    mileage query "SELECT cell, metric, stage, median(value) FROM samples GROUP BY ALL" study-1
    mileage query "SELECT study, runs, finished FROM studies"
    """
    from mileage.store.query import Query, study_folders

    query = Query(study_folders(folders or (Path(),)), allow_files=allow_files)
    columns, rows = query.sql(sql)
    for note in (*query.notes, *_mixed_metrics(sql)):
        click.echo(f"mileage: {note}", err=True)
    if as_json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows], others=str)
        return
    texts = [[_shown(value) for value in row] for row in rows]
    widths = [max(map(len, [name, *(row[at] for row in texts)])) for at, name in enumerate(columns)]
    right = [
        all(isinstance(row[at], int | float) for row in rows) and bool(rows) for at in range(len(columns))
    ]
    for line in (columns, *texts):
        cells = [
            text.rjust(width) if number else text.ljust(width)
            for text, width, number in zip(line, widths, right, strict=True)
        ]
        click.echo("  ".join(cells).rstrip())


def _mixed_metrics(sql: str) -> Iterator[str]:
    """A note on a query of sample values that does not look at `metric`, which states what a value is."""
    words = set(re.findall(r"\w+", sql.lower()))
    if {"samples", "value"} <= words and "metric" not in words:
        yield (
            "[!] value is a rate or a latency, in the unit that metric ends with (rate_bytes_per_s, ops_per_s, "
            "latency_p99_ns, ...); this query mixes them, and the stages if it "
            "names none: SELECT cell, metric, stage, ... GROUP BY ALL"
        )


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return ", ".join(f"{key}={level}" for key, level in value.items())
    return str(value)
