"""A power cut at the end of a run loses what the drive had acknowledged and not made durable, and nothing else."""

from __future__ import annotations

import json
import tomllib
from csv import DictReader
from pathlib import Path
from typing import Any

import pytest

from mileage.app.sweep import sweep
from mileage.errors import Refused
from tests.command import mileage
from tests.execute.conftest import small_profile

EXAMPLE = Path(__file__).parents[2] / "examples" / "power_cut.toml"
HOST_EXAMPLE = EXAMPLE.with_name("host_power_cut.toml")
LOST = ("power_cut_writes_lost", "power_cut_bytes_lost", "host_bytes_written")


def study(place: Path, target: str, *, workload: str = "throughput.write", operations: int = 1500) -> str:
    """The example on another drive, with writes that never overlap."""
    text = EXAMPLE.read_text(encoding="utf-8")
    assert tomllib.loads(text)["measure"]["writes"]["power_cut"] is True
    for old, new in [
        ("virtual:sata-7k2", target),
        ("iops.random_write", workload),
        ("operations = 10_000", f"operations = {operations}"),
        ("repeat = 3", "repeat = 2"),
    ]:
        assert old in text
        text = text.replace(old, new)
    path = place / "study.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def by_level(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["metric"] == rows[0]["metric"]:
            found.setdefault(row["durability"], []).append(row)
    return found


def test_a_volatile_cache_loses_what_no_flush_and_no_fua_made_durable(tmp_path: Path) -> None:
    counters = (*LOST, "media_bytes_written")
    levels = by_level(sweep(study(tmp_path, "virtual:sata-7k2"), processes=1, counters=counters))
    assert {name: len(rows) for name, rows in levels.items()} == {"none": 2, "flush": 2, "fua": 2}
    for row in (*levels["flush"], *levels["fua"]):
        assert (row["power_cut_writes_lost"], row["power_cut_bytes_lost"]) == (0, 0)
    for row in levels["none"]:
        # Each byte that was acknowledged was on its way to the medium, or is lost; of what the arm was writing a part.
        least = row["host_bytes_written"] - row["media_bytes_written"]
        assert 0 < least <= row["power_cut_bytes_lost"] <= least + 8_388_608 // 8
        assert row["power_cut_writes_lost"] == pytest.approx(row["power_cut_bytes_lost"] / 4096, abs=1)


def test_a_disk_without_a_write_cache_loses_nothing(tmp_path: Path) -> None:
    target = "virtual:sata-7k2,write_cache_bytes=0"
    for rows in by_level(sweep(study(tmp_path, target, operations=300), processes=1, counters=LOST)).values():
        assert [row["power_cut_writes_lost"] for row in rows] == [0, 0]


@pytest.mark.parametrize("power", ["volatile", "protected"])
def test_the_buffer_of_flash_loses_its_pages_unless_it_is_protected(tmp_path: Path, power: str) -> None:
    figure = '{} = {{ value = {}, source = "a test", confidence = "defined" }}\n'
    lines = [
        it
        for it in small_profile(blocks_per_plane=16).splitlines()
        if not it.startswith("write_buffer_pages")
    ]
    buffered = "\n".join([*lines, figure.format("write_buffer_pages", 64)])
    profile = tmp_path / "buffered.toml"
    profile.write_text(buffered + figure.format("write_buffer_power", f'"{power}"'))
    levels = by_level(sweep(study(tmp_path, f"virtual:{profile}"), processes=1, counters=LOST))
    lost = {name: [row["power_cut_writes_lost"] for row in rows] for name, rows in levels.items()}
    assert lost["flush"] == lost["fua"] == [0, 0]
    if power == "protected":
        assert lost["none"] == [0, 0]
    else:
        assert all(0 < count <= 64 for count in lost["none"])


def test_what_cannot_lose_its_power_or_does_not_say_what_that_loses_is_refused(tmp_path: Path) -> None:
    refused = mileage("measure", "-t", f"dir:{tmp_path}", "-w", "random_write", "--power-cut")
    assert refused.returncode == 2
    assert "only the power of a virtual drive can be cut" in refused.stderr
    lines = [
        it
        for it in small_profile(blocks_per_plane=16).splitlines()
        if not it.startswith("write_buffer_pages")
    ]
    figure = 'write_buffer_pages = { value = 64, source = "a test", confidence = "defined" }'
    profile = tmp_path / "silent.toml"
    profile.write_text("\n".join([*lines, figure]))
    with pytest.raises(Refused, match="write_buffer_power is missing"):
        sweep(study(tmp_path, f"virtual:{profile}"), processes=1)


def test_every_door_of_measure_prints_what_a_power_cut_loses(tmp_path: Path) -> None:
    words = (
        "measure",
        "-t",
        "virtual:sata-7k2",
        "-w",
        "random_write",
        "--depth",
        "8",
        "--operations",
        "2000",
    )
    folder = tmp_path / "study"
    how = ("--sync", "none", "--power-cut", "--repeat", "2")
    found = mileage(*words, *how, "--json", "--save", str(folder))
    assert found.returncode == 0, found.stderr
    (cell,) = json.loads(found.stdout)
    lost = cell["counters"]["power_cut_writes_lost"]
    assert lost > 0
    text = mileage(*words, *how).stdout
    assert f"power cut     {lost:,} writes lost" in text
    assert "by 2 cuts" in text
    page = (folder / "report.html").read_text()
    assert f">{lost:,}</td>" in page
    assert f"{lost:,} writes lost" in page
    with (folder / "tables" / "measured.csv").open(newline="") as file:
        assert next(DictReader(file))["power_cut_writes_lost"] == str(lost)
    several = mileage(*words, *how, "--vary", "threads=1,2").stdout
    head = next(line for line in several.splitlines() if "p99.9" in line)
    assert head.split()[-1] == "lost", several
    assert "lost: writes that a power cut" in several
    kept = mileage(*words, "--sync", "fsync", "--sync-every", "1", "--power-cut").stdout
    assert "power cut     0 writes lost" in kept


def test_a_host_loses_synced_writes_only_without_barriers_on_a_volatile_cache() -> None:
    """The contract of fsync: kept with barriers, without a write cache, and with a protected one."""
    counters = ("power_cut_writes_synced", "power_cut_writes_lost")
    lost: dict[tuple[str, str], list[int]] = {}
    for row in sweep(str(HOST_EXAMPLE), processes=1, counters=counters):
        if row["metric"] == "ops_per_s":
            assert row["power_cut_writes_synced"] >= 200
            lost.setdefault((row["drive"], row["barriers"]), []).append(row["power_cut_writes_lost"])
    losing = {cell for cell, losses in lost.items() if any(losses)}
    assert all(len(losses) == 3 for losses in lost.values())
    assert losing == {("disk", "off"), ("flash", "off")}
    assert all(all(lost[cell]) for cell in losing)
