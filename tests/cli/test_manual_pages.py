"""The manual pages and completions of a wheel: one for each command, readable by man, and true."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from mileage.cli import COMMANDS
from mileage.cli.manual_pages import COMPLETIONS, escaped, files, main


@pytest.fixture(scope="module")
def share(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("share")
    (folder / "man/man1").mkdir(parents=True)
    (folder / "man/man1/mileage-old.1").write_text("a command that is no more")
    main(folder)
    return folder


def test_each_command_has_a_page_and_nothing_else_does(share: Path) -> None:
    pages = {path.stem for path in (share / "man/man1").iterdir()}
    assert {f"mileage-{name}" for name in COMMANDS} <= pages
    assert {"mileage", "mileage-drive-serve", "mileage-endurance-life"} <= pages
    assert "mileage-old" not in pages
    assert all((share / path).is_file() for path in COMPLETIONS.values())


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed")
def test_man_reads_every_page_without_a_warning_and_shows_the_help_as_it_is(share: Path) -> None:
    for path in sorted((share / "man/man1").iterdir()):
        done = subprocess.run(
            ["man", "--warnings", "-l", str(path)], capture_output=True, text=True, check=False,
            env={"MANWIDTH": "100", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), path
        if path.stem == "mileage-compare":
            assert 'mileage compare study-1 study-2 --fail-if "slower > 5%"' in done.stdout


def test_no_line_is_a_request_to_roff_that_was_not_meant_as_one() -> None:
    assert [escaped(line) for line in (".TH x", "'quoted'", "a\\b --x")] == [
        "\\&.TH x",
        "\\&'quoted'",
        "a\\eb \\-\\-x",
    ]
    meant = (".TH", ".SH", ".nf", ".fi")
    for text in files().values():
        if text.startswith(".TH"):
            assert all(line.startswith(meant) for line in text.split("\n") if line.startswith("."))
