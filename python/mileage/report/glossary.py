"""The glossary: words of the report and of the documentation, each with its meaning and where it appears.

One table for the page `docs/glossary.md` (`python -m mileage.report.glossary` prints it) and for the explanations that
the report shows on hover and focus.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from markupsafe import Markup


class Term(NamedTuple):
    """A word, its meaning in one or two sentences, and the places where a reader meets it."""

    word: str
    meaning: str
    where: str


_TABLE: Final = """
adjusted p | report
    The p value, corrected for the number of cells that were tested (Holm, or Benjamini and Hochberg). At most
    0.05: a difference.
arm | report, study file (`compare.arms`)
    One of the things that are compared: a stage, a drive, a kernel, a level of a factor.
audit | report
    A validity check on the figures of a run themselves, such as Little's law. A failed audit makes a verdict
    not conclusive.
baseline, candidate | report, study file (`compare`)
    The arm that is compared with, and the arm that is compared.
block (of a study) | report, plan
    A set of runs that holds each cell of each arm once, close in time and in random order.
block (of flash) | drive profiles
    The unit of erasing: some hundred pages.
carry-over | study file (`state.carryover`)
    The effect of one run on the state that the next one finds.
cell (test) | report, plan
    One combination of workload, record size, threads, depth and factor levels. Each cell gets a verdict; the
    verdict sentence calls it a test.
check (validity check) | report, terminal
    A test of the evidence: steady state, page cache, other load, environment.
closed loop, open loop | workloads (`--depth`, `--rate`)
    Closed: the next operation starts when one completes. Open: operations are due at a given rate, whether
    earlier ones are done or not.
confidence interval (CI) | report, terminal
    The range of values that the data are compatible with. A 95 % interval misses the true value in one of
    twenty studies.
cycle | report, plan
    One repetition of the whole experiment: all stages of a study, from purge to the last stage, once.
depth, queue depth | workloads (`--depth`)
    The number of I/Os that a thread keeps outstanding.
descriptive | report
    A result that describes what happened once, because the experiment was not repeated.
device class | report
    What the flash stores per cell (SLC, MLC, TLC, QLC), or that the device is a hard disk.
DNF | report
    Did not finish: a device failed, and the failure is the result of its arm.
DWPD | endurance, data sheets
    Drive writes per day: how often the whole capacity may be written each day over the years of the rating.
endurance | plan
    The amount of data that a drive is rated to take in its life.
erased blocks (free blocks) | drive profiles, report
    Blocks that can be programmed at once. A drive is fast while it has them.
factor, level | study file (`factor`)
    A property that a study varies, and one of its values.
flash translation layer (FTL) | drive profiles
    The firmware of a drive that maps logical block addresses to flash pages.
flush, FUA | workloads, drive profiles
    A command that makes earlier writes durable; a flag that makes one write durable.
garbage collection (GC) | drive profiles, report
    Copying the valid pages of a block elsewhere, so that the block can be erased.
geometric mean | report
    The mean of ratios: the root of their product.
headline | report
    The group of cells that the first sentence is about: one rate per cell.
histogram | report, tables
    The counts of all latencies of a run in fine buckets. Percentiles are computed from it.
idle control (sham) | report, study file (`sham`)
    The same cycle with idling in place of the torture: what time alone does. Its change is subtracted.
journal | study folder
    The file `journal.jsonl` of a study folder: one line per finished run. All tables are derived from it.
latency | report, workloads
    The time from submission (service) or from the due time (response) of an operation to its completion.
Little's law | report
    Rate x latency = outstanding operations. Figures that break it were counted wrongly.
logical block address (LBA) | drive profiles
    The address of data as the host sees it.
mapping table | drive profiles
    Where the flash translation layer records the flash page of each logical block address.
margin, relevance | report, study file (`compare.relevance`)
    The smallest difference that matters, set by the study.
minimum detectable difference | report, plan
    The smallest difference that this number of repetitions finds in four of five studies.
model band, variant | report, study file (`band`)
    The range of a result over variants of a virtual drive, each with one figure changed that the maker does not
    publish. The confidence interval does not contain this uncertainty.
not conclusive | report
    A check failed: the figures cannot carry a verdict. The sentence says which check.
over-provisioning (OP) | drive profiles
    Flash that a drive has in addition to its capacity.
p50, p99, p99.9 | report
    Percentiles of latency: 50, 99 and 99.9 % of the operations were at least as fast.
page cache | report, study file (`cache`)
    Memory in which the kernel keeps file data. A rate from it is not the rate of the device.
preconditioning | study file (`precondition`)
    Writes that bring a drive to a reproducible used state before it is measured.
purge | plan, study file (`purge`)
    Erasing a target, so that a cycle starts from a known state.
random order, randomised | report
    The order of runs is drawn from the seed, so that a drift of the machine does not look like a difference.
ratio | report
    Candidate divided by baseline.
regime, change of level | report
    A stretch of a run with one level of the rate.
repetition | report, study file (`repeat`)
    A run of a cell that was done before, under the same conditions.
run | report, tables
    One execution of one cell, once. The unit that is counted as evidence.
seal | report
    The last checksum of the journal. It shows whether a study folder is as it was when its report was
    written.
seed | plan, report
    The number from which all random choices of a study are derived.
SLC cache | drive profiles
    Flash that is written with one bit per cell, fast, and emptied later.
spread, standard deviation | report
    How much runs differ among themselves (of logarithms, divisor n - 1).
stage | report, study file (`stage`)
    A part of a study with one task: prepare, before, torture, after.
steady state | report, study file (`until`)
    The rate no longer changes, apart from noise.
study, study folder | everywhere
    A plan and everything that it produced, in one folder.
target | everywhere
    What is measured: a directory, a file, a block device, a loop device or a virtual drive.
TBW | endurance, data sheets
    Terabytes (10^12 bytes) that the host may write in the rated life of a drive.
torture, stress | report, study file (`torture`)
    The stage that wears a target: writes until it is used.
TRIM, discard | workloads, drive profiles
    A command of the host: these addresses hold no data any more.
verdict | report
    One of five words: faster, slower, real but irrelevant, same, undecided. Under a veto: not conclusive.
victim selection | drive profiles
    The rule by which garbage collection chooses a block.
virtual drive | targets
    A model of a drive in simulated time.
wear, wear levelling | drive profiles, report
    The effect of erases on flash, and their distribution over the blocks.
write amplification (WA) | report, drive profiles
    Bytes programmed to flash for each byte that the host wrote.
write frontier, open block | drive profiles
    The block that new pages are written to.
"""


def _terms() -> Iterator[Term]:
    """The entries of the table: a line "word | where", then the meaning, indented."""
    for entry in re.split(r"\n(?! )", _TABLE.strip()):
        head, *lines = entry.splitlines()
        word, _, where = head.partition(" | ")
        yield Term(word, " ".join(line.strip() for line in lines), where)


TERMS: Final[tuple[Term, ...]] = tuple(_terms())
MEANINGS: Final[Mapping[str, str]] = {term.word: term.meaning for term in TERMS}
SHOWN: Final[Mapping[str, str]] = {
    "95 % interval": "confidence interval (CI)",
    "Adjusted p": "adjusted p",
    "class of device": "device class",
    "cell": "cell (test)",
    "drive model": "virtual drive",
    "erased blocks": "erased blocks (free blocks)",
    "geometric": "geometric mean",
    "idle control": "idle control (sham)",
    "rate within runs": "regime, change of level",
    "memory": "page cache",
    "model band": "model band, variant",
    "p99": "p50, p99, p99.9",
    "runs": "run",
}
"""Texts of the page that stand for a word of the table under another spelling."""


def explained(text: str) -> Markup:
    """A text of the page, as HTML with its meaning on hover and focus where the table has it."""
    from markupsafe import Markup

    meaning = MEANINGS.get(SHOWN.get(text, text))
    if meaning is None:
        return Markup.escape(text)
    return Markup('<dfn class="term" tabindex="0" title="{}">{}</dfn>').format(meaning, text)


def page() -> str:
    """The page `docs/glossary.md`."""
    rows = "".join(f"| {term.word} | {term.meaning} | {term.where} |\n" for term in TERMS)
    return (
        "# Glossary\n\nThis page is generated: `python -m mileage.report.glossary` prints it.\n\n"
        "| word | meaning | where it appears |\n|---|---|---|\n" + rows
    )


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201
