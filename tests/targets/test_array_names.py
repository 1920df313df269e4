"""Arrays by their name: what they are expanded to, what is refused, and what makes two of them different."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from mileage._core import Drive
from mileage.errors import Refused
from mileage.targets.profiles import drive_names, load_profile, profile_identity
from mileage.targets.spec import parse_target


def test_members_become_one_text() -> None:
    figures = tomllib.loads(load_profile("raid5(4*sas-15k,chunk=64KiB,spare=1)"))
    assert figures["chunk_bytes"]["value"] == 65536
    assert [(member["count"], member.get("spare", False)) for member in figures["member"]] == [
        (4, False),
        (1, True),
    ]
    assert figures["member"][0]["profile"]["name"] == "sas-15k"
    assert "rate" not in figures["member"][0]["profile"]


@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("jbod(sas-15k,sata-7k2)", 1.3e12),
        ("raid0(2*sas-15k,chunk=64KiB)", 6e11),
        ("raid1(2*sas-15k)", 3e11),
        ("raid10(4*sas-15k)", 6e11),
        ("raid5(4*sas-15k)", 9e11),
        ("raid6(5*sas-15k)", 9e11),
        ("raid0(2*raid0(4*sas-15k),chunk=256KiB)", 2.4e12),
    ],
)
def test_levels_have_their_capacity(name: str, members: float) -> None:
    assert Drive(load_profile(name)).capacity_bytes == pytest.approx(members, rel=0.002)


def test_figures_of_a_member_are_changed_in_parentheses() -> None:
    figures = tomllib.loads(load_profile("raid5(2*sas-15k,(sas-15k,drop_off_s=20))"))
    assert figures["member"][1]["profile"]["drop_off_s"]["value"] == 20
    assert "drop_off_s" not in figures["member"][0]["profile"]


def test_figures_of_the_array_are_changed_behind_it() -> None:
    figures = tomllib.loads(load_profile("raid0(2*sas-15k),host_mb_per_s=100"))
    assert figures["host_mb_per_s"]["value"] == 100


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("raid7(4*sas-15k)", "no level"),
        ("raid5(4*sas-15k", "without a match"),
        ("raid5()", "without members"),
        ("raid5(4*sas-15k,chnk=64KiB)", "no array has a figure"),
        ("raid5(4*no-such-drive)", "no virtual drive"),
        ("raid5(4*sas-15k,chunk=64KiC)", "64KiC"),
    ],
)
def test_what_is_no_array_is_refused(name: str, words: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_target(f"virtual:{name}")
    assert words in str(refused.value)


@pytest.mark.parametrize(
    "name",
    [
        "raid5(2*sas-15k)",
        "raid10(5*sas-15k)",
        "raid0(2*sas-15k,spare=1)",
        "raid0(2*sas-15k,stripe_cache=1MiB)",
        "raid5(4*sas-15k,trim=honoured)",
        "raid5(4*sas-15k,cache=1MiB)",
        "raid1(2*sas-15k,rebuild_mb_per_s=10)",
    ],
)
def test_what_no_array_can_be_is_refused(name: str) -> None:
    with pytest.raises(Refused, match="expected"):
        Drive(load_profile(name))


@pytest.mark.parametrize("cache", ["read_cache=1GiB", "cache=512MiB,cache_power=battery"])
def test_a_cache_that_nothing_limits_is_refused(cache: str) -> None:
    """It would answer in no time: 10^9 operations a second, as the clock of the simulation counts in nanoseconds."""
    with pytest.raises(Refused) as refused:
        load_profile(f"raid5(4*sas-15k,{cache})")
    assert refused.value.refusals[0].code == "missing"
    for limit in ("command_us=20", "host_mb_per_s=1200", "commands_per_s_max=50000"):
        assert load_profile(f"raid5(4*sas-15k,{cache}),{limit}")
    # Inside another array the controller in front is the one that answers the host.
    assert load_profile(f"raid0(2*raid5(4*sas-15k,{cache}))")


def test_a_profile_names_its_members(tmp_path: Path) -> None:
    figure = '{ value = "raid1", source = "test", confidence = "defined" }'
    head = f'name = "mine"\ntitle = "Mine"\nkind = "array"\nlevel = {figure}\n'
    text = head + '[[member]]\ncount = 2\ndrive = "sas-15k"\n'
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    assert Drive(load_profile(str(path))).capacity_bytes == 299_999_952_896
    loop = tmp_path / "loop.toml"
    loop.write_text(text.replace("sas-15k", str(loop)), encoding="utf-8")
    with pytest.raises(Refused, match="at most 8"):
        load_profile(str(loop))


def test_another_member_is_another_array() -> None:
    names = ("raid0(2*sas-15k)", "raid0(2*sata-7k2)", "raid0(3*sas-15k)", "raid0(2*sas-15k),chunk_bytes=4096")
    assert len({profile_identity(load_profile(name)) for name in names}) == len(names)


def test_arrays_are_shipped_and_can_be_built() -> None:
    shipped = [name for name in drive_names() if name.startswith("adaptec")]
    assert len(shipped) == 2
    for name in shipped:
        assert Drive(load_profile(name)).capacity_bytes > 1e12


def test_a_state_is_resumed() -> None:
    profile = load_profile("raid5(3*sas-15k,spare=1)")
    drive = Drive(profile)
    drive.submit("write", [0, 4096], 4096)
    again = Drive.restore(profile, drive.save())
    assert again.save() == drive.save()
