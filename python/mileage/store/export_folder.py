"""The folder of saved tables: new, whole, or not there.

Scope: a folder in a scratch directory next to it, which is renamed when everything in it is on the disk; what a crash
leaves of that is removed by the next one. Refuses to write where something is already.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from mileage.errors import Refused, RunFailed
from mileage.scratch import scratch_directory
from mileage.store.export_tables import Table
from mileage.store.export_writers import FORMATS
from mileage.store.text_cells import written
from mileage.targets.door import refuse_folder

_RULES = r"""Numbers have all their digits. An empty cell means: not known. An empty text is `""`.

In CSV and Markdown a text is written so that it does nothing to who opens it, and can be read back exactly:

- a backslash is doubled, and a control character, a line feed, a mark of direction, or a space at either end is
  written `\uXXXX`, as in JSON;
- a text that a spreadsheet would calculate (it begins with `=`, `+`, `-` or `@`), or that begins with an apostrophe,
  has an apostrophe before it, which does not belong to it;
- in Markdown, signs that Markdown or HTML obey have a backslash before them.

JSON and Parquet hold texts as they are.
"""


def refuse_existing(out: Path) -> None:
    """Refuse a place where something is already, or that has no folder to stand in."""
    if out.is_symlink() or (out.exists() and not (out.is_dir() and not any(out.iterdir()))):
        raise Refused(
            out, "exists", advice="nothing is written over: name a new folder with --out", code="exists"
        )
    refuse_folder("--out", out)


def write_tables(
    word: str, tables: Sequence[Table], out: Path, *, title: str, missing: Sequence[str] = ()
) -> list[Path]:
    """Write tables in a format into a new folder, with a README that says what they are; the files' final paths.

    `missing`: sentences on what is not in them.

    Raises:
        Refused: something is there already.
        RunFailed: the folder could not be written; nothing of it is left.
    """
    ending, write = FORMATS[word]

    def fill(part: Path) -> None:
        for table in tables:
            write(table, part / f"{table.name}.{ending}")
        (part / "README.md").write_text(_readme(ending, tables, title, missing), encoding="utf-8")

    return _write_folder(out, fill)


def write_files(files: Iterable[tuple[str, bytes]], readme: str, out: Path) -> list[Path]:
    """Write files of given names into a new folder, with a README; the files' final paths. Raises as `write_tables`."""

    def fill(part: Path) -> None:
        for name, content in files:
            (part / name).write_bytes(content)
        (part / "README.md").write_text(readme, encoding="utf-8")

    return _write_folder(out, fill)


def _write_folder(out: Path, fill: Callable[[Path], None]) -> list[Path]:
    """Fill a scratch folder, bring it onto the disk, and rename it. Raises as `write_tables`."""
    refuse_existing(out)
    try:
        with scratch_directory(out.absolute().parent) as scratch:
            part = scratch / "tables"
            part.mkdir()
            fill(part)
            for path in part.iterdir():
                _force(path)
            _force(part)
            # Replace an empty folder only: anything else that appeared meanwhile is not ours.
            os.rename(part, out)
            _force(out.absolute().parent)
    except OSError as cause:
        raise RunFailed.from_os_error(f"writing {out}", cause) from cause
    return sorted(out.iterdir())


def _force(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _readme(ending: str, tables: Sequence[Table], title: str, missing: Sequence[str]) -> str:
    parts = [f"# {_one_line(title)}\n"]
    parts += [f"{_one_line(sentence)}\n" for sentence in missing]
    for table in tables:
        parts.append(f"## {table.name}.{ending}\n\n{table.meaning}\n")
        described = [
            (column, f": {_one_line(column.meaning)}" if column.meaning else "") for column in table.columns
        ]
        parts.append(
            "\n".join(f"- `{written(c.name)}` ({c.kind.lower()}){meaning}" for c, meaning in described) + "\n"
        )
    return "\n".join([*parts, "## How values are written\n", _RULES])


def _one_line(text: str) -> str:
    return written(text).replace("<", "&lt;").replace("`", "'")
