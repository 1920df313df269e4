"""What is written, measured by the core, against Python's own zlib on the same bytes."""

import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from mileage import _core

BYTES = 1 << 20
CONTENTS: list[Any] = [
    "incompressible",
    "iozone_diagnostic",
    "fio_scrambled",
    "fio_constant",
    {"mixed": {"compressible_percent": 75, "duplicate_percent": 20}},
    {"iozone_dedup": {"within_percent": 75, "across_percent": 75, "compress_percent": 75}},
]


def workload(content: Any) -> str:
    return json.dumps(
        {
            "pattern": "sequential",
            "read_percent": 0,
            "record_bytes": 65536,
            "span_start_bytes": 0,
            "span_bytes": BYTES,
            "depth": 1,
            "threads": 1,
            "stop": {"bytes": BYTES, "operations": None, "time_ns": None},
            "seed": 5,
            "content": content,
            "sync": "none",
            "sync_timed": False,
        }
    )


def zlib_1(data: bytes, piece_bytes: int) -> int:
    pieces = (data[start : start + piece_bytes] for start in range(0, len(data), piece_bytes))
    return sum(len(zlib.compress(piece, 1)) for piece in pieces)


@pytest.mark.parametrize("content", [content for content in CONTENTS if content != "fio_constant"], ids=str)
def test_a_record_says_what_the_file_really_holds(tmp_path: Path, content: Any) -> None:
    path = tmp_path / "data"
    options = json.dumps({"direct": False, "create": True})
    answer = json.loads(_core.run_file(path, workload(content), options))
    written, data = answer["content"], path.read_bytes()
    assert len(data) == BYTES
    # Where all blocks are made alike, an eighth of them stands for all.
    uneven = content == "iozone_diagnostic" or "iozone_dedup" in content
    assert written["sample_bytes"] == (BYTES if uneven else BYTES // 8)
    for packed in written["packed"]:
        theirs, ours = zlib_1(data, packed["piece_bytes"]), packed["zlib_bytes"]
        assert ours / written["sample_bytes"] == pytest.approx(theirs / BYTES, rel=0.01)
    blocks = [data[start : start + 4096] for start in range(0, BYTES, 4096)]
    assert (written["blocks"], written["blocks_distinct"]) == (len(blocks), len(set(blocks)))


def test_a_record_says_that_all_writes_are_alike(tmp_path: Path) -> None:
    path = tmp_path / "data"
    options = json.dumps({"direct": False, "create": True})
    written = json.loads(_core.run_file(path, workload("fio_constant"), options))["content"]
    data = path.read_bytes()
    assert data == data[:65536] * (BYTES // 65536)
    assert (written["blocks"], written["blocks_distinct"], written["sample_bytes"]) == (256, 16, 65536)
    for packed in written["packed"]:
        assert packed["zlib_bytes"] == pytest.approx(zlib_1(data[:65536], packed["piece_bytes"]), rel=0.01)


@pytest.mark.parametrize("content", CONTENTS, ids=str)
def test_what_a_content_saves_is_known_without_a_run(content: Any) -> None:
    saved = json.loads(_core.content_saved(workload(content)))
    whole = saved["packed"][-1]
    percent = 100 * (1 - whole["zlib_bytes"] / saved["sample_bytes"])
    expected = {"incompressible": 0.0, "fio_scrambled": 3.1, "fio_constant": 0.0, "iozone_diagnostic": 66.5}
    nominal = (
        expected[content]
        if isinstance(content, str)
        else {"mixed": 75.0, "iozone_dedup": 55.7}[next(iter(content))]
    )
    assert whole["piece_bytes"] == 65536
    assert percent == pytest.approx(nominal, abs=0.5 if content == "fio_scrambled" else 1.5)


def test_a_workload_that_cannot_be_done_has_no_content() -> None:
    with pytest.raises(ValueError, match="compressible_percent is 101"):
        _core.content_saved(workload({"mixed": {"compressible_percent": 101, "duplicate_percent": 0}}))
