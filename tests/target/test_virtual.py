"""virtual:NAME around a drive that stands in for the real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from mileage.errors import Refused
from mileage.target.profiles import PROFILE_BYTES_MAX, drive_names, load_profile, rated_write_bytes
from mileage.target.spec import TargetSpec
from mileage.target.virtual import VirtualTarget

CAPACITY = 64 << 20


class StandIn:
    """Remembers how it was made."""

    capacity_bytes = CAPACITY
    name = "stand-in"

    def __init__(self, profile: str) -> None:
        if "bad" in profile:
            raise ValueError("pages_per_block: missing")
        self.made_from = profile

    def save(self) -> bytearray:
        return bytearray(b"state")


@pytest.fixture
def spec(tmp_path: Path) -> TargetSpec:
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\n')
    return TargetSpec(scheme="virtual", name=str(path))


def test_a_virtual_target_has_no_path_and_no_memory(spec: TargetSpec) -> None:
    target = VirtualTarget(spec, make_drive=StandIn)
    facts = target.facts()
    assert target.is_virtual
    assert target.place is None
    assert (facts.kind, facts.virtual, facts.host_layer) == ("virtual", True, False)
    assert (facts.capacity_bytes, facts.free_bytes, facts.memory_bytes) == (CAPACITY, CAPACITY, 0)
    assert target.drive.made_from == 'name = "mine"\n'


def test_the_work_area_must_fit_the_drive(spec: TargetSpec) -> None:
    with VirtualTarget(spec, make_drive=StandIn) as target:
        assert "stand-in" in target.prepare(CAPACITY)
        with pytest.raises(Refused, match="the drive has"):
            target.prepare(CAPACITY + 1)
        with pytest.raises(Refused, match="makes no sense"):
            target.prepare(-1)


def test_purging_replaces_the_drive(spec: TargetSpec) -> None:
    target = VirtualTarget(spec, make_drive=StandIn)
    before = target.drive
    assert "factory-fresh" in target.purge()
    assert target.drive is not before
    assert target.drive.made_from == before.made_from
    assert target.save() == b"state"


def test_a_profile_the_drive_refuses_is_refused(spec: TargetSpec) -> None:
    Path(spec.name).write_text("bad")
    with pytest.raises(Refused, match="pages_per_block: missing"):
        VirtualTarget(spec, make_drive=StandIn)


def test_shipped_profiles_are_found_by_name(tmp_path: Path) -> None:
    (tmp_path / "b.toml").write_text("name = 'b'")
    (tmp_path / "a.toml").write_text("name = 'a'")
    (tmp_path / "README.md").write_text("")
    assert drive_names(tmp_path) == ("a", "b")
    assert load_profile("b", tmp_path) == "name = 'b'"
    with pytest.raises(Refused, match="Known drives: a, b"):
        load_profile("../a", tmp_path)


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ("", None),
        ("rated_endurance_bytes = 5", 5),
        ("[rated_endurance_bytes]\nvalue = 2_000\nsource = 'x'", 2000),
        ("rated_endurance_bytes = 'much'", None),
    ],
)
def test_the_rated_endurance(profile: str, expected: int | None) -> None:
    assert rated_write_bytes(profile) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "no such profile file"),
        (b"\xff\xfe", "not UTF-8 text"),
        (b"x" * (PROFILE_BYTES_MAX + 1), "this is not a drive profile"),
    ],
)
def test_a_profile_that_cannot_be_one_is_refused(
    tmp_path: Path, content: bytes | None, expected: str
) -> None:
    path = tmp_path / "x.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Refused, match=expected):
        load_profile(str(path))
