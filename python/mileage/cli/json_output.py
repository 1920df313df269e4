"""Values that a command prints as JSON, the faults of a study that is refused among them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click


def print_json(value: object) -> None:
    """Print a value as JSON, indented."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))


@contextmanager
def faults_as_json(wanted: bool) -> Iterator[None]:
    """Where JSON is wanted, print the faults of a study that is refused inside, and pass the refusal on."""
    from mileage.errors import Refused

    try:
        yield
    except Refused as refusal:
        if wanted:
            found = getattr(refusal, "faults", None)
            source = getattr(refusal, "source", None)
            print_json({"refused": {"source": source, "faults": found or [{"text": str(refusal)}]}})
        raise
