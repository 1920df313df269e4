"""What cannot be done is refused: one clear line, exit status 2, nothing written."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import command

STUDY = """
name = "small"
question = "?"
target = "virtual:plain-64gib"
[[stage]]
name = "before"
measure = ["iops"]
[[stage]]
name = "torture"
torture = ["churn"]
[[stage]]
name = "after"
measure = "before"
[measure.iops]
workload = "iops.random_write"
record = "4KiB"
repeat = 2
stop = { operations = 100 }
[torture.churn]
workload = "iops.random_write"
record = "4KiB"
amount = "16MiB"
"""


def mileage(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return command.mileage(*args, cwd=cwd)


def tree(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.lstat().st_mtime_ns for path in sorted(folder.rglob("*"))}


Refuses = Callable[..., str]


@pytest.fixture
def refuses(tmp_path: Path) -> Refuses:
    """Run `mileage` and demand a refusal in one line that writes nothing; returns the line."""

    def check(*args: str) -> str:
        before = tree(tmp_path)
        result = mileage(*args, cwd=tmp_path)
        lines = result.stderr.strip().splitlines()
        assert result.returncode == 2, result.stderr
        assert len(lines) == 1, result.stderr
        assert lines[0].startswith("mileage: ")
        assert result.stdout == ""
        assert tree(tmp_path) == before
        return lines[0]

    return check


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("nonsense:x", "nonsense"),
        ("plain-64gib", "did you mean the virtual drive virtual:plain-64gib?"),
        ("virtual:intel-x25e", "intel-x25e-64gb"),
        ("virtual:intel-x25e-64gb@no-such-host", "phenom-8gib"),
        ("dir:/no/such/directory", "does not exist"),
        ("file:/no/such/directory/file", "does not exist"),
        ("block:/dev/no-such-device", "/dev/no-such-device"),
        ("dir:/proc", "/proc"),
    ],
)
def test_targets(refuses: Refuses, target: str, words: str) -> None:
    assert words in refuses("run", "degradation", "--quick", "--target", target)


def test_a_read_only_directory(refuses: Refuses, tmp_path: Path) -> None:
    folder = tmp_path / "fixed"
    folder.mkdir(mode=0o555)
    assert "read-only" in refuses("run", "--quick", "--target", f"dir:{folder}")


@pytest.mark.skipif(not os.path.exists("/dev/vda"), reason="needs a mounted block device /dev/vda")
def test_a_mounted_block_device(refuses: Refuses) -> None:
    for scheme in ("block", "file"):
        assert "mounted" in refuses("run", "--quick", "--target", f"{scheme}:/dev/vda")


def test_a_target_without_room(refuses: Refuses, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY.replace("[[stage]]", '[state]\nfile = "9TiB"\n[[stage]]', 1))
    assert "9 TiB" in refuses("run", str(study), "--target", f"dir:{tmp_path}")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("repeat = 2", "repeet = 2", "repeat"),
        ("repeat = 2", 'repeat = "often"', "repeat"),
        ('record = "4KiB"\nrepeat', "record = 0\nrepeat", "record"),
        ('record = "4KiB"\nrepeat', 'record = "3KiB"\nspan = "1MiB"\nrepeat', "record"),
        ('record = "4KiB"\nrepeat', 'record = "4K"\nrepeat', "4K"),
        (
            'workload = "iops.random_write"\nrecord = "4KiB"\nrepeat',
            'workload = "iozone.*"\nrecord = "4KiB"\nrepeat',
            "iozone",
        ),
        ("[[stage]]", "[[stage]", "study.toml"),
        ('"virtual:plain-64gib"', "7", "target"),
    ],
)
def test_study_files(refuses: Refuses, tmp_path: Path, old: str, new: str, words: str) -> None:
    study = tmp_path / "study.toml"
    assert old in STUDY
    study.write_text(STUDY.replace(old, new, 1))
    assert words in refuses("run", str(study))
    assert words in refuses("plan", str(study))


@pytest.mark.parametrize(
    ("key", "value"),
    [("channels", "0"), ("pages_per_block", "0"), ("page_bytes", "3000"), ("capacity_bytes", "1e30")],
)
def test_a_drive_with_impossible_geometry(refuses: Refuses, tmp_path: Path, key: str, value: str) -> None:
    import re

    from mileage.targets.profiles import load_profile

    profile = re.sub(rf"(?m)^({key} = \{{ value = )[0-9_]+", rf"\g<1>{value}", load_profile("plain-64gib"))
    assert f"{key} = {{ value = {value}" in profile
    (tmp_path / "drive.toml").write_text(profile)
    assert key in refuses("run", "--target", f"virtual:{tmp_path}/drive.toml")


@pytest.mark.parametrize("command", ["iozne", "rnu"])
def test_commands_that_do_not_exist(refuses: Refuses, command: str) -> None:
    assert command in refuses(command)


def test_a_folder_that_is_in_use(refuses: Refuses, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    assert "not an empty folder" in refuses("run", "--out", str(tmp_path))
