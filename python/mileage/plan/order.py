"""Every random choice of a plan, derived from the one recorded seed.

Scope: a number for each purpose, by SHA-256 over the study's seed and the names of the purpose; so a
run's seed does not depend on how many others there are.

A measured run's seed depends on cycle, block and cell, not on stage or arm: the same block before and after
the torture, and in the torture and the sham arm, visits the same places in the same order, and its cells come
in the same order. The members of a pair then differ in the state of the target only.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence


def derive(seed: int, *purpose: str | int) -> int:
    """A number from 0 to 2^63-1 for a purpose such as ("measure", 1, 2, "iops.random_read 4 KiB")."""
    text = "\0".join(str(part) for part in (seed, *purpose))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def measure_seed(seed: int, cycle: int, block: int, cell: str) -> int:
    """The seed of a measured run: the same in every stage and arm of its cycle."""
    return derive(seed, "measure", cycle, block, cell)


def torture_seed(seed: int, cycle: int, stage: str, table: str, number: int = 1) -> int:
    """The seed of a round of a torture or preparation: the same in both arms of its cycle."""
    later = (number,) if number > 1 else ()
    return derive(seed, "torture", cycle, stage, table, *later)


def block_order(seed: int, cycle: int, block: int, cells: Sequence[str]) -> list[str]:
    """The cells of a randomised block, each once; cells that two stages share have the same order in both."""
    return sorted(cells, key=lambda cell: (derive(seed, "order", cycle, block, cell), cell))


def setting_order(seed: int, cycle: int, block: int, stem: str, units: Sequence[str]) -> list[str]:
    """Random order of the factor settings within one block, each exactly once; drawn separately for each test."""
    if len(units) < 2:
        return list(units)
    return sorted(units, key=lambda unit: (derive(seed, "setting", cycle, block, stem, unit), unit))
