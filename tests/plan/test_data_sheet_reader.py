"""Data sheets are read strictly: every fault is reported, with its key and its line."""

from __future__ import annotations

import re

import pytest

from mileage.model.data_sheet import LINKS_MB_PER_S
from mileage.plan.builtin import template_text
from mileage.plan.data_sheet_reader import contradictions, parse_data_sheet, rate_mb_per_s
from mileage.plan.faults import BrokenStudy

SHEET = """\
name = "my-drive"
title = "My drive"

[capacity_bytes]
value = 400_000_000_000
source = "maker"
confidence = "source"

[medium]
value = "tlc"
source = "maker"
confidence = "source"
"""
FIGURE = '[{key}]\nvalue = {value}\nsource = "maker"\nconfidence = "source"\n'
RATE = '[[rate]]\nworkload = "random_write"\nvalue = 1000\nunit = "iops"\nsource = "maker"\nconfidence = "source"\n'


def faults(text: str) -> list[str]:
    with pytest.raises(BrokenStudy) as refused:
        parse_data_sheet(text, "sheet")
    return [fault.words for fault in refused.value.located(text, "sheet").refusals]


def figure(key: str, value: object) -> str:
    return FIGURE.format(key=key, value=value)


def test_a_sheet_needs_no_more_than_name_title_capacity_and_medium() -> None:
    sheet = parse_data_sheet(SHEET, "sheet")
    assert sheet.capacity_bytes.value == 400 * 10**9
    assert sheet.rate == ()
    assert contradictions(sheet) == []


def test_the_template_is_valid() -> None:
    sheet = parse_data_sheet(template_text("new_data_sheet").replace('"NAME"', '"name"'), "template")
    assert len(sheet.rate) == 2
    assert contradictions(sheet) == []


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        ("[rated_twb]\nvalue = 1\n", ["line 14: rated_twb: unknown key; did you mean 'rated_tbw'?"]),
        ("[rated_tbw]\nvalue = 600\n", ["rated_tbw.source: missing", "rated_tbw.confidence: missing"]),
        (figure("rated_tbw", 0), ["rated_tbw.value: found 0, expected a number above 0"]),
        (figure("rated_tbw", -3), ["rated_tbw.value: found -3, expected a number above 0"]),
        (figure("rated_tbw", "nan"), ["rated_tbw.value: found nan, expected a number above 0"]),
        (figure("rated_tbw", '"600"'), ['rated_tbw.value: found "600", expected a number']),
        (
            "[rated_tbw]\nvalue = 600\nsource = ' '\nconfidence = 'source'\n",
            ["rated_tbw.source: found an empty"],
        ),
        ("[rated_tbw]\nvalue = 600\nsource = 'x'\nconfidence = 'sure'\n", ['confidence: found "sure"']),
        (
            figure("raw_bytes", 300_000_000_000),
            ["raw_bytes.value: found 300000000000, expected the capacity"],
        ),
        (figure("rpm", 7200), ["rpm: only disks have this figure"]),
        (figure("afr_percent", 120), ["afr_percent.value: found 120"]),
        (figure("link", '"sata-4"'), ['link.value: found "sata-4"']),
        (figure("power_idle_w", 5) + figure("power_active_w", 3), ["power_idle_w.value: found 5"]),
        (RATE.replace("iops", "ops"), ['rate[0].unit: found "ops"']),
        (RATE.replace("1000", "0"), ["rate[0].value: found 0"]),
        (RATE + 'state = "outer-zone"\n', ['rate[0].state: found "outer-zone"']),
        (RATE + "span_bytes = 500_000_000_000\n", ["rate[0].span_bytes: found 500000000000"]),
        (RATE + "queue = 3\n", ["rate[0].queue: unknown key"]),
        (RATE.replace('source = "maker"\n', ""), ["rate[0].source: missing"]),
        (
            "[price]\nvalue = 9\nsource = 'x'\nconfidence = 'source'\n",
            ["price.currency: missing", "price.date: missing"],
        ),
        (
            "[price]\nvalue = 9\ncurrency = 'euro'\ndate = '24.11.26'\nsource = 'x'\nconfidence = 'source'\n",
            ["price.currency: found", "price.date: found"],
        ),
        ("rated_tbw = 600\n", ["found a table"]),
        ("[rated_tbw\nvalue = 1\n", ["not TOML"]),
    ],
)
def test_what_no_sheet_can_have_is_refused(added: str, expected: list[str]) -> None:
    text = SHEET + "\n" + added
    if added == "rated_tbw = 600\n":
        text = added + SHEET
        expected = ["rated_tbw: found 600, expected a table with value, source, confidence"]
    found = faults(text)
    assert len(found) == len(expected), found
    for words, part in zip(sorted(found), sorted(expected), strict=True):
        assert part in words
        assert words.startswith("line ")


def test_all_faults_are_reported_together() -> None:
    text = SHEET.replace('"tlc"', '"plc"') + figure("rated_tbw", '"x"') + "[colour]\nvalue = 1\n"
    assert len(faults(text)) == 3


def test_a_date_of_toml_is_a_date() -> None:
    price = "[price]\nvalue = 9\ncurrency = 'EUR'\ndate = 2026-11-24\nsource = 'x'\nconfidence = 'source'\n"
    sheet = parse_data_sheet(SHEET + price, "sheet")
    assert sheet.price is not None
    assert sheet.price.date == "2026-11-24"


@pytest.mark.parametrize("link", [name for name, most in LINKS_MB_PER_S.items() if most is not None])
def test_no_rate_is_above_what_its_link_carries(link: str) -> None:
    most = LINKS_MB_PER_S[link]
    assert most is not None
    at_most = (
        SHEET + figure("link", f'"{link}"') + RATE.replace("1000", str(most)).replace("iops", "mb_per_s")
    )
    parse_data_sheet(at_most, "sheet")
    (found,) = faults(at_most.replace(f"value = {most}", f"value = {most + 1}"))
    assert f"which {link} carries" in found
    operations = SHEET + figure("link", f'"{link}"') + RATE.replace("1000", str(most * 1e6 / 4096 + 1))
    parse_data_sheet(operations, "sheet")
    assert len(faults(operations + "record_bytes = 4096\n")) == 1


@pytest.mark.parametrize(
    ("tbw", "dwpd", "years", "differs"),
    [
        (2190, 3, 5, False),
        (182.5, 0.25, 5, False),
        (2000, 3, 5, True),
        (2160, 3, 5, False),
        (2100, 3, 5, True),
    ],
)
def test_tbw_and_dwpd_that_differ_are_reported(tbw: float, dwpd: float, years: float, differs: bool) -> None:
    text = SHEET + figure("rated_tbw", tbw) + figure("rated_dwpd", dwpd) + figure("rated_years", years)
    found = contradictions(parse_data_sheet(text, "sheet"))
    assert bool(found) == differs
    if differs:
        said = float(re.findall(r"are ([\d.]+) DWPD", found[0])[0])
        assert said == pytest.approx(tbw / 0.4 / 365 / years, rel=5e-3)


def test_mtbf_and_failure_rate_that_differ_are_reported() -> None:
    agree = SHEET + figure("mtbf_hours", 2_000_000) + figure("afr_percent", 0.44)
    assert contradictions(parse_data_sheet(agree, "sheet")) == []
    differ = agree.replace("0.44", "0.8")
    assert "0.44 %" in contradictions(parse_data_sheet(differ, "sheet"))[0]


def test_a_rate_without_its_record_size_moves_an_unknown_number_of_bytes() -> None:
    sheet = parse_data_sheet(SHEET + RATE + RATE + "record_bytes = 8192\n", "sheet")
    assert [rate_mb_per_s(rate) for rate in sheet.rate] == [None, 8.192]
