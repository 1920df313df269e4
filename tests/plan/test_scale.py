"""A study at a scale: what is divided, what stays, and what is refused."""

from __future__ import annotations

import tomllib

import msgspec
import pytest

from mileage.app.study import plan, study_of
from mileage.errors import Refused
from mileage.plan.faults import BrokenStudy
from mileage.plan.scale import scaled
from mileage.plan.sizes import scale_divisor
from mileage.plan.study_reader import parse_study
from mileage.targets.host_profiles import load_hosted
from mileage.targets.profiles import load_profile

STUDY = """
name = "s"
target = "virtual:intel-x25e-64gb@phenom-8gib"
scale = "1/16"
[state]
file = "16GiB"
[[stage]]
name = "a"
measure = ["m", "names"]
[[stage]]
name = "t"
torture = ["w"]
[measure.m]
workload = "throughput.write"
record = ["4KiB", "1MiB"]
span = "4GiB"
stop = { bytes = "1GiB" }
[measure.names]
workload = "metarates.create"
threads = [1, 2, 3]
stop = { operations = 1000 }
[torture.w]
workload = "throughput.write"
record = "4KiB"
tasks = 4
amount = "52428800000 or 83%"
"""


def test_sizes_and_counts_are_divided_and_shares_stay() -> None:
    study = scaled(parse_study(STUDY, "s"))
    assert study.target == "virtual:intel-x25e-64gb@phenom-8gib,scale=1/16"
    assert study.state.file == "1GiB"
    assert study.measure["m"].span == "256MiB"
    assert study.measure["m"].record == ("4KiB", "1MiB")
    assert study.measure["m"].stop is not None
    assert study.measure["m"].stop.bytes == "64MiB"
    assert study.measure["names"].stop is not None
    assert study.measure["names"].stop.operations == 60, "62 in whole shares of 1, 2 and 3 threads"
    assert study.torture["w"].amount == "3125MiB or 83%"
    assert study.scale is None
    assert "1/16" in study.question, "whatever the target is, a reader sees it"
    assert scaled(study) == study


def test_a_scale_of_one_changes_nothing() -> None:
    study = parse_study(STUDY.replace("1/16", "1/1"), "s")
    assert scaled(study) == msgspec.structs.replace(study, scale=None)


def test_drive_and_host_of_a_target_are_divided_and_ratios_stay() -> None:
    drive, host = (
        tomllib.loads(text) for text in load_hosted("intel-x25e-64gb@phenom-8gib,scale=1/16,barrier=false")
    )
    whole_drive, whole_host = (tomllib.loads(text) for text in load_hosted("intel-x25e-64gb@phenom-8gib"))
    for key, part, whole in (
        ("blocks_per_plane", drive, whole_drive),
        ("capacity_bytes", drive, whole_drive),
        ("memory_bytes", host, whole_host),
        ("cache_bytes", host, whole_host),
        ("journal_bytes", host, whole_host),
    ):
        assert part[key]["value"] == pytest.approx(whole[key]["value"] / 16, rel=0.003), key
    assert host["barrier"]["value"] is False
    for key in ("program_us", "write_buffer_pages", "pages_per_block"):
        assert drive[key] == whole_drive[key]


def test_a_scale_on_the_command_line_replaces_that_of_the_file_and_leaves_a_scaled_target_alone() -> None:
    assert study_of("x25e-2010", scale="1/64").state.file == "256MiB"
    name = "virtual:intel-x25e-64gb@phenom-8gib,scale=1/64"
    assert study_of("x25e-2010", name, "1/64").target == name


def test_a_plan_holds_the_sizes_and_no_scale() -> None:
    resolved = plan("x25e-2010", scale="1/64")
    text = resolved.to_toml()
    assert "\nscale" not in text
    again = parse_study(text, "plan.toml")
    assert scaled(again) == again
    assert again.state.file == "256MiB"


@pytest.mark.parametrize("text", ["16", "1/0", "2/3", "1/5000", "1/1.5", ""])
def test_what_is_no_scale_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected 1/N"):
        scale_divisor(text)
    with pytest.raises(BrokenStudy, match="scale"):
        parse_study(STUDY.replace("1/16", text), "s")
    with pytest.raises(Refused, match="--scale"):
        study_of("degradation", scale=text)


@pytest.mark.parametrize("name", ["sata-7k2,scale=1/4", "adaptec-8-sas-raid5,scale=1/4"])
def test_a_drive_without_flash_has_no_scale(name: str) -> None:
    with pytest.raises(Refused, match="no flash"):
        load_profile(name)
