"""Data sheets that ship with Mileage: the drives of the sources are among them, with the figures of the sources."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest

from mileage.errors import Refused
from mileage.model.data_sheet import FLASH, DataSheet
from mileage.targets.data_sheets import all_data_sheets, data_sheet_names, data_sheet_of, load_data_sheet
from mileage.targets.profiles import drive_names, load_profile
from tests.house.repository import ROOT, files

SHEETS = {sheet.name: sheet for sheet in all_data_sheets()}
#: Capacity in GB, MB/s read and written, IOPS read and written, TBW, DWPD, as the slide Drive Specs of a talk has them
#: (D. Traynor, Understanding SSD Storage performance, 2017); of a range the larger value.
TALK: dict[str, tuple[float, ...]] = {
    "optane-16gb": (16, 900, 145, 190_000, 35_000, 182.5, 6),
    "intel-600p-512gb": (512, 1775, 560, 128_500, 128_000, 288, 0),
    "crucial-bx200-240gb": (240, 540, 490, 66_000, 78_000, 72, 0),
    "samsung-pm1635-400gb": (400, 950, 530, 190_000, 50_000, 2190, 3),
    "samsung-960-pro-512gb": (512, 3500, 2100, 330_000, 330_000, 400, 0),
    "samsung-850-pro-256gb": (256, 550, 520, 90_000, 90_000, 150, 0),
    "hpe-7k2-500gb": (500, 150, 150, 150, 150, 0, 0),
    "seagate-archive-8tb": (8000, 190, 190, 150, 150, 0, 0),
}
ORDER = ("sequential_read", "sequential_write", "random_read", "random_write")


@pytest.mark.parametrize("name", TALK)
def test_the_drives_of_the_talk_have_its_figures(name: str) -> None:
    sheet, (capacity, *rates, tbw, dwpd) = SHEETS[name], TALK[name]
    assert sheet.capacity_bytes.value == capacity * 1e9
    for workload, value in zip(ORDER, rates, strict=True):
        quoted = {rate.value for rate in sheet.rate if rate.workload == workload and rate.unit != "mean_us"}
        assert value in quoted
    assert (sheet.rated_tbw.value if sheet.rated_tbw else 0) == tbw
    assert (sheet.rated_dwpd.value if sheet.rated_dwpd else 0) == dwpd


@pytest.mark.parametrize("path", [path for path in files(".toml") if path.parent.name == "datasheets"])
def test_a_data_sheet_is_named_as_its_file(path: Path) -> None:
    sheet = load_data_sheet(str(path))
    assert sheet.name == path.stem
    assert path.parent == ROOT / "profiles" / "datasheets"


def test_every_data_sheet_is_installed_with_the_package() -> None:
    packed = resources.files("mileage").joinpath("profiles").joinpath("datasheets")
    assert {entry.name.removesuffix(".toml") for entry in packed.iterdir()} == set(data_sheet_names())


def test_every_virtual_drive_of_a_real_model_has_a_data_sheet() -> None:
    modelled = {sheet.drive for sheet in SHEETS.values() if sheet.drive}
    assert modelled <= set(drive_names())
    # An array is sold as a controller and drives, which have sheets of their own.
    arrays = {name for name in drive_names() if 'kind = "array"' in load_profile(name)}
    real = {name for name in drive_names() if not name.startswith("plain-")} - arrays
    assert real <= modelled | set(SHEETS)


def test_classes_of_drives_are_covered() -> None:
    media = {sheet.medium.value for sheet in SHEETS.values()}
    assert {*FLASH, "xpoint", "disk", "smr-disk"} == media
    assert [sheet.name for sheet in SHEETS.values() if sheet.price is not None]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("INTEL SSDPEKKW512G7", "intel-600p-512gb"),
        ("Samsung SSD 960 PRO 512GB", "samsung-960-pro-512gb"),
        ("  CT240BX200SSD1  ", "crucial-bx200-240gb"),
        ("SSDSA2SH032G1GN", "intel-x25e-32gb"),
        ("SSDSA2SH064G1GC", "intel-x25e-64gb"),
        ("Micron_7450_MTFDKCC7T6TFR", "micron-7450-pro-7680gb"),
        ("ST8000AS0002-1NA17Z", "seagate-archive-8tb"),
    ],
)
def test_a_drive_is_recognised_by_its_model(model: str, name: str) -> None:
    found = data_sheet_of(model=model)
    assert isinstance(found, DataSheet)
    assert found.name == name


@pytest.mark.parametrize("model", ["", "Samsung SSD 960 PRO 1TB", "QEMU HARDDISK", "x CT240BX200SSD1"])
def test_another_model_is_not_recognised(model: str) -> None:
    assert data_sheet_of(model=model) is None


def test_a_virtual_drive_has_the_sheet_of_the_drive_it_models() -> None:
    found = data_sheet_of(virtual="intel-x25e-64gb")
    assert found is not None
    assert found.name == "intel-x25e-64gb"
    assert data_sheet_of(virtual="plain-64gib") is None


def test_a_name_that_is_not_known_is_refused_with_the_closest(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"did you mean 'optane-16gb'\?"):
        load_data_sheet("optane-16g")
    with pytest.raises(Refused, match="no such data sheet file"):
        load_data_sheet(str(tmp_path / "x.toml"))
    (tmp_path / "y.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(Refused, match="not UTF-8"):
        load_data_sheet(str(tmp_path / "y.toml"))


def test_a_drive_profile_is_no_data_sheet(tmp_path: Path) -> None:
    path = tmp_path / "drive.toml"
    path.write_text('name = "drive"\nkind = "flash"\n')
    with pytest.raises(Refused, match="the profile of a virtual drive"):
        load_data_sheet(str(path))
