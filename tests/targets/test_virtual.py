"""virtual:NAME around a drive that stands in for the real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from mileage._core import drive_figures
from mileage.errors import Refused
from mileage.model.target_kind import with_change
from mileage.targets.host_profiles import load_hosted
from mileage.targets.profiles import PROFILE_BYTES_MAX, drive_names, load_profile, rated_write_bytes
from mileage.targets.spec import TargetSpec
from mileage.targets.virtual import VirtualTarget

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
    with pytest.raises(Refused, match="known drives: a, b"):
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
        (b"x" * (PROFILE_BYTES_MAX + 1), f"expected at most {PROFILE_BYTES_MAX:,}"),
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


@pytest.mark.parametrize(
    "change",
    [
        "read_us=60",
        "gc_victim=random",
        "gc_victim=d-choices,gc_victim_choices=4",
        "gc_pace=paced",
        "gc_free_blocks_min=2",
        "gc_idle_free_blocks=3,gc_idle_after_us=1000",
        "frontiers=hot-cold",
        "allocation=die-first",
        "levelling=static,levelling_gap=8",
        "mapping=block",
        "mapping=demand,map_cache_entries=1000",
        "suspend=erase,suspend_us=20",
        "gc_copies=copy-back",
        "cell=slc,end_of_life=read-only,replacement_blocks=1",
        "write_buffer_pages=8,write_combining=rewrites",
        "cell=tlc,slc_cache_bytes=100000000,slc_design=through,slc_read_us=20,slc_program_us=100",
        "compression_unit_bytes=512",
        "stall_s=1,stall_every_s=30",
    ],
)
def test_every_mechanism_can_be_chosen_for_a_drive_that_does_not_state_it(change: str) -> None:
    found = {
        name: (value, kind) for name, value, _, kind in drive_figures(load_profile(f"plain-64gib,{change}"))
    }
    for part in change.split(","):
        key, _, value = part.partition("=")
        assert found[key] == (value, "defined")


def test_a_changed_figure_does_not_keep_its_source() -> None:
    found = {name: source for name, _, source, _ in drive_figures(load_profile("intel-x25e-64gb,read_us=30"))}
    assert found["read_us"] == "chosen in the name of the target; changed from 25"
    assert "Tom's Hardware" in found["channels"]


def test_a_figure_is_removed_by_an_empty_value() -> None:
    text = load_profile("intel-x25e-64gb,write_buffer_pages=0,write_buffer_power=")
    assert "write_buffer_power" not in {name for name, *_ in drive_figures(text)}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("gc_victm=random", "did you mean 'gc_victim'"),
        ("qqq=1", "docs/reference/drive-profiles.md lists them all"),
        ("gc_victim", "expected gc_victim=VALUE, or gc_victim= to remove the figure"),
        ("read_us=fast", "expected a value like 50"),
    ],
)
def test_what_is_no_figure_is_refused(change: str, expected: str) -> None:
    with pytest.raises(Refused, match=expected):
        load_profile(f"plain-64gib,{change}")


@pytest.mark.parametrize(
    "name",
    [
        "plain-64gib,read_us=1,read_us=2",
        "plain-64gib,read_us=1, read_us =",
        "plain-64gib,scale=1/2,scale=1/4",
        "raid1(plain-64gib,plain-64gib,chunk=64KiB,chunk_bytes=65536)",
        "raid1(plain-64gib,plain-64gib),cache_bytes=1,cache_bytes=2",
    ],
)
def test_a_figure_that_is_given_twice_is_refused(name: str) -> None:
    with pytest.raises(Refused) as refused:
        load_profile(name)
    assert refused.value.refusals[0].code == "repeated"


def test_a_figure_of_a_host_and_its_drive_is_given_once() -> None:
    for name in (
        "plain-64gib@phenom-8gib,read_us=1,read_us=2",
        "plain-64gib,read_us=1@phenom-8gib,read_us=2",
        "plain-64gib@phenom-8gib,state=a,state=b",
    ):
        with pytest.raises(Refused) as refused:
            load_hosted(name)
        assert refused.value.refusals[0].code == "repeated"


def test_a_level_of_a_factor_replaces_the_figure_of_the_target() -> None:
    assert with_change("virtual:a,read_us=1,cell=slc", "read_us=2") == "virtual:a,cell=slc,read_us=2"
    assert with_change("virtual:a@h,state=f", "state=") == "virtual:a@h,state="
    assert with_change("virtual:raid1(a,chunk=1)", "chunk=2") == "virtual:raid1(a,chunk=1),chunk=2"


@pytest.mark.parametrize("figure", ["9" * 5000, "inf", "nan", "-inf", "1" + "0" * 400, "{ value = inf }"])
def test_a_figure_of_any_size_is_refused(figure: str, tmp_path: Path) -> None:
    text = load_profile("plain-64gib").splitlines()
    kept = [line for line in text if not line.startswith("read_us")]
    path = tmp_path / "own.toml"
    path.write_text("\n".join((f"read_us = {figure}", *kept)))
    for name in (f"{path}", f"{path},program_us=1", f"raid1({path},{path})"):
        with pytest.raises(Refused):
            drive_figures(load_profile(name))
    if figure[0] != "{":
        with pytest.raises(Refused):
            drive_figures(load_profile(f"plain-64gib,read_us={figure}"))
