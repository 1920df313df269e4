"""Values that a command prints as JSON; the reasons of a refusal among them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from mileage.errors import Refused


def print_json(value: object, *, others: Callable[[Any], Any] | None = None) -> None:
    """Print a value as JSON, indented; `others`: what stands for a value that JSON does not have."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value, enc_hook=others), indent=2))


def print_refusal(refusal: Refused) -> None:
    """Print the reasons of a refusal as JSON where the command line asks for it; standard error has them in words."""
    words = sys.argv[1:]
    if "--json" in (words[: words.index("--")] if "--" in words else words):
        reasons = [reason.to_json() for reason in refusal.refusals]
        print_json({"refused": {"source": getattr(refusal, "source", None), "faults": reasons}})
