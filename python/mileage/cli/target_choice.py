"""A target as the user typed it, and the line that says what a bare path was taken for."""

from __future__ import annotations

import click


def chosen_target(text: str) -> str:
    """The target with its scheme; where that was not typed, what the path is is printed on standard error.

    Raises Refused.
    """
    from mileage.targets.bare_path import with_scheme

    found = with_scheme(text)
    if found != text:
        nouns = {"dir": "directory", "file": "file", "block": "block device"}
        scheme = found.partition(":")[0]
        click.echo(f"target {text} is a {nouns[scheme]}: {found}", err=True)
    return found


def optional_target(text: str | None) -> str | None:
    """The target that the text names, as `chosen_target` finds it; None if no text was given."""
    return None if text is None else chosen_target(text)
