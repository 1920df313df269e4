"""Numbers and sizes as values of options.

Scope: what `click.IntRange` and `click.FloatRange` do, for numbers that every part of Mileage can take: whole numbers
within 64 bits, and finite ones.
What it refuses: numbers beyond that, NaN and infinity. click compares NaN with the ends of a range, which it passes.
"""

from __future__ import annotations

import math
from typing import Any, Final

import click

WHOLE_MAX: Final = 2**63 - 1
NUMBER_MAX: Final = 1e18
_SHOWN: Final = 30
"""Characters of a refused value that are repeated."""


class WholeNumber(click.IntRange):
    """A whole number within its range, by default 0 to 2^63-1."""

    def __init__(self, min: int = 0, max: int | None = None) -> None:
        super().__init__(min, max)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number. Raises click.BadParameter."""
        # Python reads at most 4,300 digits, and says so in a sentence about itself.
        if len(str(value).lstrip("+-0")) > len(str(WHOLE_MAX)):
            self.fail(f"{_cut(value)} is not a whole number up to {self.max or WHOLE_MAX:,}", param, ctx)
        found: int = super().convert(value, param, ctx)
        if found > WHOLE_MAX:
            self.fail(f"{found} is more than {WHOLE_MAX:,}", param, ctx)
        return found


class Number(click.FloatRange):
    """A finite number within its range, by default up to 10^18."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number. Raises click.BadParameter."""
        found: float = super().convert(value, param, ctx)
        if not math.isfinite(found) or abs(found) > NUMBER_MAX:
            self.fail(f"{_cut(value)} is not a number up to {NUMBER_MAX:g}", param, ctx)
        return found

    def _describe_range(self) -> str:
        return "" if self.min is None and self.max is None else super()._describe_range()


class Size(click.ParamType[int]):
    """A size in bytes such as 4KiB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The bytes. Raises click.BadParameter."""
        from mileage.plan.sizes import parse_bytes

        if isinstance(value, int):
            return value
        try:
            return parse_bytes(value)
        except ValueError as error:
            self.fail(str(error).replace(repr(value), repr(_cut(value))), param, ctx)


target_option: Final = click.option(
    "--target",
    "-t",
    metavar="T",
    help="What is measured: a path, virtual:NAME (a simulated drive), loop:SIZE (a device made from a file) or "
    "null: (nothing, for the cost of Mileage itself); default: the study's own.",
)
seed_option: Final = click.option(
    "--seed", type=WholeNumber(), metavar="N", help="Seed of all random choices; default: the study's own."
)
scale_option: Final = click.option(
    "--scale",
    metavar="1/N",
    help="Divide sizes and counts of the study, virtual drives and the memory of their hosts by N; default: the "
    "study's own, or 1.",
)
file_option: Final = click.option(
    "--file", metavar="SIZE", help="Size of the work file in a directory; default: the study's own."
)
DRIVE_WRITES: Final = Number(min=0, max=1e6, min_open=True)
"""Capacities that are written: no flash memory endures more program and erase cycles than that."""


def _cut(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"
