"""Journals as a forger, or an earlier version, would have them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from mileage.store.seal import SEALED_MEMBERS, checksum, first_after, sealed_line


def _bare(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name not in SEALED_MEMBERS}


def seal_again(folder: Path, lines: list[bytes] | None = None) -> None:
    """Write these lines, by default those that are there, with all checksums computed again."""
    journal = folder / "journal.jsonl"
    after = ""
    found = []
    for line in journal.read_bytes().splitlines() if lines is None else lines:
        sealed = line + b"\n"
        try:
            entry = _bare(json.loads(line))
            if not found and entry["format"] == 1:
                raise ValueError("an unsealed journal stays one")
            for name in entry.get("files", ()):
                entry["files"][name] = checksum((folder / name).read_bytes())
            if not found:
                after = first_after(str(entry["plan"]))
            sealed, after = sealed_line(entry, after)
        except (ValueError, TypeError, KeyError, AttributeError, OSError):
            # No entry any more: it stays as it is.
            pass
        found.append(sealed)
    journal.write_bytes(b"".join(found))


def unseal(folder: Path) -> None:
    """Make the journal one of version 0.1.0."""
    journal = folder / "journal.jsonl"
    entries = [_bare(json.loads(line)) for line in journal.read_bytes().splitlines()]
    entries[0]["format"] = 1
    entries[0].pop("files", None)
    kept = [entry for entry in entries if entry["kind"] != "files"]
    journal.write_bytes(b"".join(msgspec.json.encode(entry) + b"\n" for entry in kept))
