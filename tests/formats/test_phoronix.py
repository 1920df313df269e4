"""Phoronix Test Suite's composite.xml: each raw value a repetition; compared with what ElementTree reads."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from mileage.errors import Refused
from tests.formats.made_results import PHORONIX
from tests.formats.sample_reader import of_text

FACTORS = {"IOPS": ("ops_per_s", 1), "MB/s": ("rate_bytes_per_s", 10**6), "Seconds": ("elapsed_s", 1)}


def test_each_raw_value_is_a_run_in_the_unit_of_its_scale(tmp_path: Path) -> None:
    expected = []
    for result in ElementTree.fromstring(PHORONIX).iter("Result"):
        scale = result.findtext("Scale")
        for entry in result.iter("Entry"):
            texts = (entry.findtext("RawString") or entry.findtext("Value") or "").split(":")
            if scale in FACTORS:
                field, factor = FACTORS[scale]
                expected += [(field, float(text) * factor, entry.findtext("Identifier")) for text in texts]
    read = of_text(tmp_path, PHORONIX)
    fields = ("rate_bytes_per_s", "ops_per_s", "elapsed_s")
    found = [(name, getattr(run, name), run.levels["system"]) for run in read.runs for name in fields]
    assert [one for one in found if one[1] is not None] == expected
    assert (read.tool, read.version) == ("phoronix", "10.8.4")
    assert read.machine["hardware"] == "Processor: A & B"


def test_the_cell_is_test_and_description_and_kinds_follow_the_scale(tmp_path: Path) -> None:
    runs = of_text(tmp_path, PHORONIX).runs
    assert {(run.cell, run.kind) for run in runs} == {
        ("phoronix.fio-2.1.0 Type: Random Read - Block Size: 4KB, IOPS", "iops"),
        ("phoronix.iozone-1.9.6 Record Size: 4Kb - Disk Test: Write Performance, MB/s", "throughput"),
        ("phoronix.unpack-linux-1.2.0 linux-5.19.tar.xz, Seconds", "time"),
    }
    assert "the mean of its repetitions only" in next(run for run in runs if run.ops_per_s == 41000).notes[0]


def test_a_scale_that_is_not_known_is_reported(tmp_path: Path) -> None:
    result = of_text(tmp_path, PHORONIX)
    assert [(entry.line, entry.text, entry.why.rpartition(" ")[2]) for entry in result.unread] == [
        (63, "pgbench-1.14.0", "'TPS'")
    ]


def test_two_scales_of_one_test_are_two_cells(tmp_path: Path) -> None:
    """The suite's fio has IOPS and MB/s below one description."""
    second = PHORONIX.replace("<Title>IOzone</Title>", "<Title>Flexible IO Tester</Title>").replace(
        "pts/iozone-1.9.6", "pts/fio-2.1.0"
    )
    second = second.replace(
        "Record Size: 4Kb - Disk Test: Write Performance", "Type: Random Read - Block Size: 4KB"
    )
    runs = of_text(tmp_path, second).runs
    name = "phoronix.fio-2.1.0 Type: Random Read - Block Size: 4KB"
    kinds = {(run.cell, run.kind) for run in runs if run.cell.startswith(name)}
    assert kinds == {(f"{name}, IOPS", "iops"), (f"{name}, MB/s", "throughput")}


def test_a_proportion_that_its_scale_cannot_have_is_reported(tmp_path: Path) -> None:
    """The suite says whether higher (HIB) or lower (LIB) is better."""
    for scale, word, other in (("IOPS", "HIB", "LIB"), ("Seconds", "LIB", "HIB")):
        text = PHORONIX.replace("<Proportion>HIB</Proportion>\n", "")
        found = [
            of_text(
                tmp_path,
                text.replace(
                    f"<Scale>{scale}</Scale>", f"<Scale>{scale}</Scale>\n<Proportion>{one}</Proportion>"
                ),
            )
            for one in (word, other)
        ]
        assert len(found[0].runs) - len(found[1].runs) == (4 if scale == "IOPS" else 2)
        assert f"expected the Proportion {word} of a figure in {scale}" in found[1].unread[0].why


def test_entities_and_documents_on_one_line_are_refused(tmp_path: Path) -> None:
    result = of_text(tmp_path, PHORONIX.replace("A &amp; B", "&bomb;"))
    assert "&bomb;" in result.unread[0].text
    with pytest.raises(Refused, match="no result of the Phoronix Test Suite"):
        of_text(tmp_path, PHORONIX.replace("\n", ""))


def test_a_torn_file_keeps_its_whole_results(tmp_path: Path) -> None:
    result = of_text(tmp_path, PHORONIX[: PHORONIX.index("<RawString>8.3")])
    assert len(result.runs) == 6
    assert result.lost == ["the result that begins in line 50 has no end"]
