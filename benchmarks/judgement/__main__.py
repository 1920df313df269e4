"""A million samples over a thousand cells: summaries, comparison, correction and the report's text, each timed.

    python -m benchmarks.judgement [--samples N] [--cells N]

Prints processor time and the memory of the process; the goal is 10 s and 1 GiB for everything together.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from mileage.judge import Comparison, Sample, compare_arms
from mileage.judge.summary import summarise
from mileage.report import comparison_table

T = TypeVar("T")
GOAL_S = 10.0
GOAL_MIB = 1024.0


def say(line: str) -> None:
    """One line, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def samples(count: int, cells: int, seed: int) -> tuple[list[Sample], list[Sample]]:
    """Two arms of equal size; in every tenth cell the second is 3 % slower."""
    rng = np.random.default_rng(seed)
    blocks = max(count // (2 * cells), 2)
    arms: tuple[list[Sample], list[Sample]] = ([], [])
    for cell in range(cells):
        drift = rng.normal(0, 0.02, blocks)
        for number, arm in enumerate(arms):
            level = 0.97 if number and cell % 10 == 0 else 1.0
            values = 1e8 * level * np.exp(drift + rng.normal(0, 0.03, blocks))
            name = f"throughput.write {cell} KiB"
            arm.extend(
                Sample(len(arm) + block, 1, "torture", "measured", block, "throughput", name, "rate_bytes_per_s",
                       float(value), True)
                for block, value in enumerate(values, 1)
            )  # fmt: skip
    return arms


def timed(name: str, work: Callable[[], T]) -> tuple[T, float]:
    """What the work gives, and the processor time in seconds that it took."""
    start = time.process_time()
    found = work()
    used_s = time.process_time() - start
    say(f"{name:<44}{used_s:>8.2f} s")
    return found, used_s


def main() -> int:
    """Print the table; the exit status is 1 when a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judgement")
    parser.add_argument(
        "--samples", type=int, default=1_000_000, help="samples of both arms together (1000000)"
    )
    parser.add_argument("--cells", type=int, default=1_000, help="cells (1000)")
    given = parser.parse_args()
    low, high = samples(given.samples, given.cells, seed=1)
    held_mib = _mib()
    say(f"{len(low) + len(high):,} samples over {given.cells:,} cells; they take {held_mib:,.0f} MiB")

    def judge() -> Comparison:
        return compare_arms(low, high, relevance={}, paired=True, labels=("one", "other"))

    judged, total_s = timed("comparison, Holm and Benjamini-Hochberg", judge)
    for name, work in (
        ("summaries of both arms of every cell", lambda: [
            summarise(values) for cell in judged.cells for values in (cell.values_baseline, cell.values_candidate)
        ]),
        ("table for the terminal", lambda: comparison_table(judged)),
    ):  # fmt: skip
        total_s += timed(name, work)[1]
    slower = sum(cell.verdict == "slower" for cell in judged.cells)
    peak_mib = _mib()
    say(f"{'all':<44}{total_s:>8.2f} s of {GOAL_S:g}; {peak_mib:,.0f} MiB of {GOAL_MIB:,.0f} at most")
    say(f"slower in {slower} cells; {len(range(0, given.cells, 10))} are")
    return int(total_s > GOAL_S or peak_mib > GOAL_MIB)


def _mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
