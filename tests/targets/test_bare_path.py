"""A path without a scheme becomes the target that it is, in every place where a target is given."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mileage.errors import Refused
from mileage.targets.bare_path import with_scheme
from tests.command import mileage


def test_a_directory_a_file_and_links_to_them(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "a:b").write_bytes(b"x")
    assert with_scheme(str(tmp_path)) == f"dir:{tmp_path}"
    assert with_scheme(f"{tmp_path}/file") == f"file:{tmp_path}/file"
    assert with_scheme(f"{tmp_path}/link") == f"dir:{tmp_path}/link"
    assert with_scheme(f"{tmp_path}/a:b") == f"file:{tmp_path}/a:b"


@pytest.mark.xdist_group("devices")
def test_a_block_device_and_a_link_to_it(loop_device: Path, tmp_path: Path) -> None:
    (tmp_path / "by-id").symlink_to(loop_device)
    assert with_scheme(str(loop_device)) == f"block:{loop_device}"
    assert with_scheme(f"{tmp_path}/by-id") == f"block:{tmp_path}/by-id"


@pytest.mark.parametrize("text", ["dir:/nowhere", "virtual:plain-64gib", "null:", "loop:16MiB", "", "  "])
def test_what_has_a_scheme_stays_as_it_is(text: str) -> None:
    assert with_scheme(text) == text


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("missing", ("does not exist", "mkdir -p", "dir:", "file:")),
        ("pipe", ("is a named pipe",)),
        ("/dev/null", ("is a character device",)),
        ("/dev/no-such-disk", ("lsblk",)),
        ("plain-64gib", ("virtual:plain-64gib",)),
        ("drr:/mnt", ("unknown scheme 'drr'",)),
    ],
)
def test_what_is_no_target_is_refused_with_what_it_may_be(
    name: str, expected: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Refused) as refusal:
        with_scheme(name)
    assert all(words in refusal.value.message for words in expected)


def test_commands_print_what_a_path_was_taken_for(tmp_path: Path) -> None:
    done = mileage("measure", "-t", str(tmp_path), "--for", "50ms", "--size", "1MiB")
    assert done.returncode == 0, done.stderr
    assert f"target {tmp_path} is a directory: dir:{tmp_path}" in done.stderr
    assert f"on dir:{tmp_path}" in done.stdout.replace("\n", "")
    assert f"dir:{tmp_path}" in mileage("plan", "degradation", "--quick", "-t", str(tmp_path)).stdout
    assert f"dir:{tmp_path} passes every guard" in mileage("doctor", str(tmp_path)).stdout


def test_a_study_file_names_bare_paths_too(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    text = """name = "s"
target = "PLACE"
[[stage]]
name = "m"
measure = ["m"]
[measure.m]
workload = "random_write"
record = "4KiB"
stop = { operations = 10 }
"""
    study.write_text(text.replace("PLACE", str(tmp_path)))
    assert f"dir:{tmp_path}" in mileage("plan", str(study)).stdout
    study.write_text(text.replace("PLACE", f"{tmp_path}/missing"))
    refused = mileage("plan", str(study))
    assert refused.returncode == 2
    assert "line 2: target" in refused.stderr
    assert "does not exist" in refused.stderr


def test_levels_of_a_factor_may_be_bare_paths(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    study = tmp_path / "study.toml"
    study.write_text(f"""name = "s"
[[stage]]
name = "m"
measure = ["m"]
[measure.m]
workload = "random_write"
record = "4KiB"
stop = {{ operations = 10 }}
[factor.drive]
levels = {{ one = "{tmp_path}/a", two = "{tmp_path}/b" }}
[compare]
arms = "drive"
""")
    done = mileage("plan", str(study))
    assert done.returncode == 0, done.stderr
    assert f"dir:{tmp_path}/a" in done.stdout
