"""The benchmark of drop-in commands: what it compares of a layout, and the command lines of both tools."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from benchmarks.dropins.__main__ import HELD, LINES, commands, shapes

ROW = "            1024      64   921705  1294520  8061038  7306780"


def test_columns_are_compared_by_where_figures_end() -> None:
    assert shapes(ROW) == shapes(ROW.replace("921705", "  1705"))
    assert shapes(ROW) != shapes(ROW.replace("   921705", "  921705"))
    assert shapes("head\n") == []


def test_both_are_given_the_same_words() -> None:
    asked = Namespace(
        mpirun="mpirun",
        record="1m",
        size="4m",
        files=9,
        iterations=3,
        tasks=2,
        iozone=Path("/x/iozone"),
        ior=Path("/x/ior"),
        mdtest=Path("/x/mdtest"),
    )
    own, dropin = commands(asked, "iozone")
    assert own[1:] == dropin[4:]
    for line in LINES:
        if line == "iozone":
            continue
        own, dropin = commands(asked, line)
        assert own[4:-2] == dropin[6:]
        assert own[3] == f"/x/{dropin[3]}"
    assert (own[:3], dropin[4:6]) == (["mpirun", "-np", "2"], ["--tasks", "2"])


def test_a_row_has_its_bar_in_one_line() -> None:
    rows = ["iozone.write", "ior.read", "mdtest.file_stat", "mdtest.dir_create", "mdtest.tree_remove"]
    held = {row: [line for line in LINES if HELD.match(f"{line}: {row}")] for row in rows}
    assert held == {row: [line] for row, line in zip(rows, LINES, strict=True)}
