"""What happens to the members of an array in a study: a stall and its rebuild, and a second failure."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mileage import app
from tests.house.repository import ROOT

STUDY = (ROOT / "examples" / "stalling_member.toml").read_text(encoding="utf-8")
STORY = (
    "a member did not answer in time",
    "a member failed",
    "reads needed the other members",
    "a spare took its place, and its rebuild began",
    "the rebuild ended",
)


def page_of(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The text of the page of a study with these words, run where its members' profile is."""
    monkeypatch.chdir(ROOT)
    study = folder / "study.toml"
    study.write_text(text.replace("rate = 500", "rate = 100"), encoding="utf-8")
    app.run(str(study), out=folder / "out", report="text")
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def test_a_page_has_the_failure_of_a_stalling_member_in_its_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = page_of(STUDY, tmp_path, monkeypatch)
    found = re.search(r"member stalling, stalling \(run \d+\): after[^:]*rebuild ended\.", page)
    assert found is not None
    places = [found[0].find(words) for words in STORY]
    assert -1 not in places
    assert places == sorted(places)
    instants = [float(text) for text in re.findall(r"after ([\d.]+) s", found[0])]
    assert instants == sorted(instants)
    assert page.count("a member failed") == 1
    assert "member sound, sound (run" not in page


def test_an_array_that_loses_a_second_member_is_said_to_be_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = (
        "virtual:raid5((examples/small.toml,drop_off_s=10),(examples/small.toml,drop_off_s=20),"
        "2*examples/small.toml,chunk=16KiB)"
    )
    page = page_of(re.sub(r"(?m)^stalling = .*$", f'stalling = "{lost}"', STUDY), tmp_path, monkeypatch)
    found = re.search(r"member stalling, stalling \(run \d+\): after[^:]*level bears\.", page)
    assert found is not None
    assert "the first of 2 members failed" in found[0]
    assert "the array was lost, because more members had failed than its level bears" in found[0]
    assert "DNF: the torture arm of cycle 1 did not finish" in page
    assert "dropped off 20." in page
