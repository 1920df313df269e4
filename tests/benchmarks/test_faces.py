"""The benchmark of faces beside tools: what it compares of a layout, and the command lines that it gives both."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from benchmarks.faces.__main__ import commands, shapes

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
    )
    own, face = commands(asked, "iozone")
    assert own[1:] == face[4:]
    own, face = commands(asked, "ior")
    assert own[4:-2] == face[6:]
    assert (own[:3], face[4:6]) == (["mpirun", "-np", "2"], ["--tasks", "2"])
