"""Needs against data sheets: the conclusions of the talk come out, each exclusion has its reasons, costs add up."""

from __future__ import annotations

import json

import pytest

from mileage.endurance.cases import Requirement, case_named
from mileage.endurance.drive_selection import Choice, Level, Terms, choose
from mileage.targets.data_sheets import all_data_sheets, load_data_sheet
from tests.command import mileage

SHEETS = all_data_sheets()
#: The eight drives of the talk.
TALK = (
    *("optane-16gb", "intel-600p-512gb", "crucial-bx200-240gb", "samsung-pm1635-400gb"),
    *("samsung-960-pro-512gb", "samsung-850-pro-256gb", "hpe-7k2-500gb", "seagate-archive-8tb"),
)


def names(choice: Choice) -> list[str]:
    return [offer.name for offer in choice.offers]


def reasons(choice: Choice, name: str) -> str:
    return "; ".join(next(one.reasons for one in choice.excluded if one.name == name))


def test_of_the_drives_of_the_talk_only_one_meets_the_worker_node() -> None:
    need = case_named("worker-node").need
    found = choose([load_data_sheet(name) for name in TALK], need, Terms())
    assert names(found) == ["samsung-960-pro-512gb"]
    assert reasons(found, "intel-600p-512gb") == "288 TBW, 400 TBW needed"
    assert reasons(found, "samsung-pm1635-400gb") == "400 GB usable, 512 GB needed"
    assert found.offers[0].years == pytest.approx(16 / 3, rel=1e-4)


@pytest.mark.parametrize(
    ("case", "first", "out"),
    [
        # The journal drive of the talk lasts 8.8 years at the rate that was seen, not the 10 of its rating.
        ("ceph-typical", "samsung-pm1635-400gb", {"samsung-sm863-120gb": "1,500 TBW, 1,700 TBW needed"}),
        ("ceph-proxmox", "samsung-pm1635-400gb", {"samsung-sm863-120gb": "120 GB usable"}),
        ("zfs-zil", "micron-7450-pro-7680gb", {"micron-7450-pro-1920gb": "3,650 TBW, 5,000 TBW needed"}),
        ("bulk-storage", "micron-7450-pro-7680gb", {"seagate-archive-8tb": "rated endurance not stated"}),
    ],
)
def test_the_other_cases(case: str, first: str, out: dict[str, str]) -> None:
    found = choose(SHEETS, case_named(case).need, Terms())
    assert names(found)[0] == first
    for name, reason in out.items():
        assert reason in reasons(found, name)


def test_every_sheet_is_an_offer_or_excluded_with_a_reason() -> None:
    for level in ("none", "0", "1", "5", "6", "10"):
        found = choose(SHEETS, Requirement(1e12, tbw=1000, hot_swap=True), Terms(level=level))
        assert len(found.offers) + len(found.excluded) == len(SHEETS)
        assert all(one.reasons for one in found.excluded)


def test_more_is_never_met_by_more_drives() -> None:
    need = Requirement(4e11, tbw=300, years=5)
    before = set(names(choose(SHEETS, need, Terms())))
    for harder in (
        Requirement(8e11, tbw=300, years=5),
        Requirement(4e11, tbw=3000, years=5),
        Requirement(4e11, tbw=300, years=5, power_loss_protection=True),
        Requirement(4e11, tbw=300, years=5, write_rate=100_000),
        Requirement(4e11, tbw=300, years=5, link="sata"),
    ):
        assert set(names(choose(SHEETS, harder, Terms()))) < before


def test_costs_energy_and_shares_add_up() -> None:
    sheet = load_data_sheet("samsung-870-qvo-1tb")
    terms = Terms(level="10", kwh_price=0.25, active_share=0.2, prices={sheet.name: 100.0})
    (offer,) = choose([sheet], Requirement(2e12, tbw=100, years=4), terms).offers
    assert (offer.drives, offer.usable_bytes) == (4, 2e12)
    assert offer.rated_tb == 4 * 360 / 2
    assert offer.energy_kwh == pytest.approx(4 * (0.2 * 2.1 + 0.8 * 0.03) * 4 * 8.766)
    assert offer.cost == pytest.approx(400 + 0.25 * (offer.energy_kwh or 0))
    assert offer.years == pytest.approx(720 / 25)
    assert offer.write_rate == 88_000 * 4 / 2
    assert "within the write cache" in offer.notes[0]


def test_the_cheapest_comes_first_and_a_budget_excludes() -> None:
    sheets = [load_data_sheet(name) for name in ("samsung-960-pro-512gb", "micron-7450-pro-1920gb")]
    prices = {"samsung-960-pro-512gb": 300.0, "micron-7450-pro-1920gb": 250.0}
    need = Requirement(5e11)
    assert names(choose(sheets, need, Terms(prices=prices))) == [
        "micron-7450-pro-1920gb",
        "samsung-960-pro-512gb",
    ]
    found = choose(sheets, need, Terms(prices=prices, budget=260))
    assert names(found) == ["micron-7450-pro-1920gb"]
    assert reasons(found, "samsung-960-pro-512gb") == "costs 300.00 USD, budget 260.00"
    found = choose(sheets, need, Terms(budget=260))
    assert "price in USD not known (--price samsung-960-pro-512gb=AMOUNT)" in reasons(
        found, "samsung-960-pro-512gb"
    )
    # The price of a sheet in another currency is none.
    qvo = [load_data_sheet("samsung-870-qvo-1tb")]
    assert choose(qvo, need, Terms(currency="EUR")).offers[0].price is None
    assert choose(qvo, need, Terms(currency="USD")).offers[0].price == 130


@pytest.mark.parametrize(("level", "operations"), [("0", 1), ("10", 2), ("5", 4), ("6", 6)])
def test_a_random_write_costs_the_operations_of_its_parity(level: Level, operations: int) -> None:
    """As the arrays page has it: n members of i IOPS write n i / 4 at RAID 5 and n i / 6 at RAID 6."""
    sheet = load_data_sheet("samsung-870-qvo-1tb")
    (offer,) = choose([sheet], Requirement(2e12), Terms(level=level, drives=6)).offers
    assert offer.write_rate == pytest.approx(6 * 88_000 / operations)


@pytest.mark.parametrize("level", ["0", "none", "1", "5"])
def test_a_loss_is_simulated_only_where_the_closed_form_is_not_exact(level: Level) -> None:
    sheet = load_data_sheet("samsung-870-qvo-1tb")
    (offer,) = choose([sheet], Requirement(1e12), Terms(level=level, afr=0.02)).offers
    assert offer.loss is not None
    assert (offer.simulated_loss is None) == (level in ("0", "none"))
    if level == "0":
        assert offer.drives == 2
        single = choose([sheet], Requirement(9e11), Terms(afr=0.02)).offers[0].loss
        assert single is not None
        assert offer.loss == pytest.approx(1 - (1 - single) ** 2, rel=1e-9)


def test_raid_5_needs_fewer_drives_than_mirrors() -> None:
    sheet = [load_data_sheet("sata-7k2")]
    need = Requirement(6e12)
    drives = {level: choose(sheet, need, Terms(level=level)).offers[0].drives for level in ("5", "6", "10")}
    assert drives == {"5": 7, "6": 8, "10": 12}


def test_the_command_prints_ranks_and_reasons() -> None:
    done = mileage("endurance", "choose", "--case", "worker-node")
    assert done.returncode == 0, done.stderr
    assert "1. Samsung 960 Pro 512 GB" in done.stdout
    assert "intel-600p-512gb: 288 TBW, 400 TBW needed" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    words = ["endurance", "choose", "--capacity", "1TB", "--writes", "1 drive write/week", "--json"]
    found = json.loads(mileage(*words).stdout)
    assert found["need"]["tbw"] == pytest.approx(5 * 365 / 7)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "--capacity: missing"),
        ("--case worker", "there is no case 'worker'"),
        ("--capacity 1TB --raid 5 --drives 2", "found 2 at RAID 5"),
        ("--capacity 1TB --price x=5", "there is no data sheet 'x'"),
        ("--capacity 1TB --price optane-16gb=-5", "NAME=AMOUNT above 0"),
    ],
)
def test_what_cannot_be_chosen_from_is_refused(words: str, message: str) -> None:
    done = mileage("endurance", "choose", *words.split())
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
