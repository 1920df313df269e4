"""A small call of a drop-in command that keeps no study starts none of the libraries that make and draw reports."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

LINES = {
    "iozone": "iozone -s 4k -r 4k -i 0 -f file",
    "ior": "ior -w -t 4k -b 4k -o file",
    "mdtest": "mdtest -F -n 1 -d place",
    "metarates": "metarates -d . -n 1 -C -u",
    "fio": "fio --name=x --filename=file --rw=write --bs=4k --size=4k --ioengine=psync",
    "dd": "dd if=/dev/zero of=file bs=4k count=1",
}
HEAVY = {"numpy", "scipy", "duckdb", "jinja2", "vl_convert"}
"""Each takes a tenth of a second or tens of megabytes."""
WITHOUT_STUDIES = {"ior": {"msgspec"}, "mdtest": {"msgspec"}}
"""What only the values of studies need; it takes a tenth of a small call."""


@pytest.mark.parametrize("tool", LINES)
def test_a_small_call_imports_nothing_that_makes_reports(tool: str, tmp_path: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "mileage", *LINES[tool].split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    imported = set(re.findall(r"\| +([a-z0-9_]+)$", done.stderr, re.MULTILINE))
    assert "mileage" in imported
    assert imported & (HEAVY | WITHOUT_STUDIES.get(tool, set())) == set()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("mileage-")]


STARTS = """
import sys
sys.addaudithook(lambda event, values: event == "subprocess.Popen" and sys.stderr.write(f"started {values[0]}\\n"))
from mileage.__main__ import main
main()
"""


def started(words: str, folder: Path) -> list[str]:
    """Programs that a command starts."""
    command = [sys.executable, "-c", STARTS, *words.split()]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    return re.findall(r"^started .*?(\w+)\W*$", done.stderr, re.MULTILINE)


def test_only_a_study_that_is_kept_asks_programs_for_their_versions(tmp_path: Path) -> None:
    assert started(LINES["iozone"], tmp_path) == []
    assert "losetup" in started(f"{LINES['iozone']} --study kept", tmp_path)
    assert list((tmp_path / "kept/environment").glob("*.json"))
