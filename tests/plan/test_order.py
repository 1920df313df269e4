"""Randomised blocks: each cell once, drawn from the seed, the same in both members of a pair."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from mileage.plan.expansion import block_order, derive, measure_seed, torture_seed

SEEDS = st.integers(0, 2**63 - 1)
CELLS = st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=12, unique=True)


@given(SEEDS, st.integers(1, 9), st.integers(1, 9), CELLS)
def test_a_block_holds_each_cell_once(seed: int, cycle: int, block: int, cells: list[str]) -> None:
    order = block_order(seed, cycle, block, cells)
    assert sorted(order) == sorted(cells)
    assert order == block_order(seed, cycle, block, list(reversed(cells)))


@given(SEEDS, CELLS, st.data())
def test_fewer_cells_come_in_the_same_order(seed: int, cells: list[str], data: st.DataObject) -> None:
    some = data.draw(st.lists(st.sampled_from(cells), unique=True))
    order = block_order(seed, 1, 1, cells)
    assert block_order(seed, 1, 1, some) == [cell for cell in order if cell in some]


def test_every_order_is_about_equally_likely() -> None:
    orders = Counter(tuple(block_order(2010, 1, block, "abc")) for block in range(6000))
    assert len(orders) == 6
    squares = sum((count - 1000) ** 2 / 1000 for count in orders.values())
    assert squares < 20.5  # chi-square with 5 degrees of freedom exceeds it once in 1000


@given(SEEDS)
def test_purposes_do_not_share_numbers(seed: int) -> None:
    numbers = [
        measure_seed(seed, cycle, block, cell) for cycle in (1, 2) for block in (1, 2) for cell in "ab"
    ]
    numbers += [
        torture_seed(seed, cycle, stage, "fill") for cycle in (1, 2) for stage in ("prepare", "torture")
    ]
    assert len(set(numbers)) == len(numbers)
    assert all(0 <= number < 2**63 for number in numbers)


def test_numbers_are_the_same_on_every_machine() -> None:
    assert derive(2010, "measure", 1, 1, "iops.random_read 4 KiB") == 2210136290532253902
    assert derive(1, "ab", "c") != derive(1, "a", "bc")
