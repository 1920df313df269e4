"""The classes of drives as data, which class a drive is of, and whether rates fit it."""

from __future__ import annotations

import pytest

from mileage.analysis.check_class import FIGURES, DriveFacts, class_of, drive_classes, judged

NVME3 = DriveFacts(model="Example NVMe", bus="nvme", speed="8.0", lanes=4, rotational=False)


def test_every_figure_and_link_has_a_source_and_an_order() -> None:
    for found in drive_classes():
        assert found.title
        assert found.link is None or (found.link.mb_per_s > 0 and found.link.source)
        assert set(found.figures) <= set(FIGURES)
        for figure in found.figures.values():
            assert 0 < figure.least <= figure.most
            assert figure.source.strip()


def test_no_data_sheet_promises_more_than_the_link_carries() -> None:
    for found in drive_classes():
        for name in ("seq_read", "seq_write"):
            if found.link is not None and name in found.figures:
                assert found.figures[name].most <= found.link.mb_per_s * found.link.lanes, found.name


@pytest.mark.parametrize(
    ("drive", "name"),
    [
        (NVME3, "nvme-pcie3"),
        (DriveFacts(bus="nvme", speed="16.0", lanes=4), "nvme-pcie4"),
        (DriveFacts(bus="nvme", speed="32.0", lanes=4), "nvme-pcie5"),
        (DriveFacts(bus="sata", speed="6.0", rotational=False), "sata3-ssd"),
        (DriveFacts(bus="sata", speed="3.0", rotational=False), "sata2-ssd"),
        (DriveFacts(model="SSDSA2SH064G1GC INTEL", bus="sata", speed="3.0", rotational=False), "slc-x25e"),
        (DriveFacts(bus="sata", speed="6.0", rotational=True, rpm=7200), "hdd-7200"),
        (DriveFacts(bus="sata", speed="6.0", rotational=True, rpm=5400), "hdd-5400"),
        (DriveFacts(bus="sata", speed="6.0", rotational=True), "hdd"),
        # The kernel calls many memory sticks rotational: the bus counts more.
        (DriveFacts(bus="usb", speed="5000", rotational=True), "usb3"),
        (DriveFacts(bus="usb", speed="480", rotational=True), "usb2"),
        (DriveFacts(bus="mmc"), "sd-card"),
        (DriveFacts(virtual="intel-x25e-64gb"), "slc-x25e"),
        (DriveFacts(virtual="plain-64gib"), None),
        (DriveFacts(bus="virtio", rotational=True), None),
        (DriveFacts(), None),
    ],
)
def test_the_class_of_a_drive(drive: DriveFacts, name: str | None) -> None:
    found = class_of(drive)
    assert (found.name if found is not None else None) == name


def exactly(value: float) -> tuple[float, float, float]:
    return value, value, value


def test_a_drive_fits_down_to_half_of_the_slowest_data_sheet() -> None:
    assert judged(NVME3, {"seq_read": exactly(888)}).fit == "fits"
    slow = judged(NVME3, {"seq_read": exactly(887)})
    assert slow.fit == "below"
    assert "1,775" in slow.reasons[0]
    assert "AnandTech 10850" in slow.reasons[0]
    # An interval that reaches up to the bound does not show that the drive is too slow.
    assert judged(NVME3, {"seq_read": (500, 700, 900)}).fit == "fits"


def test_more_than_the_link_carries_is_not_the_drive() -> None:
    assert judged(NVME3, {"seq_read": exactly(3938)}).fit == "fits"
    assert judged(NVME3, {"seq_read": exactly(3940)}).fit == "beyond"
    two_lanes = DriveFacts(bus="nvme", speed="8.0", lanes=2)
    assert judged(two_lanes, {"seq_read": exactly(3000)}).fit == "beyond"
    assert judged(two_lanes, {"seq_read": exactly(1700)}).title.endswith("x2")


def test_a_narrow_link_lowers_what_is_expected() -> None:
    one_lane = DriveFacts(bus="nvme", speed="8.0", lanes=1)
    assert judged(one_lane, {"seq_read": exactly(800)}).fit == "fits"


def test_no_class_judges_nothing() -> None:
    found = judged(DriveFacts(bus="virtio"), {"seq_read": exactly(1)})
    assert (found.fit, found.reasons) == ("no class", ())
