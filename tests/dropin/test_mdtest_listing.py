"""What `mileage mdtest` prints, against the listing of mdtest 4.0.0, which scripts read by its words and columns.

The patterns are outputs of mdtest 4.0.0 with two tasks, figures as #.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.command import mileage

FILES_WITH_TIMES = """\
-- started at # #:#:# --

mdtest-# was launched with # total task(s) on # node(s)
Command line used: mdtest '--tasks' '#' '-F' '-P' '-C' '-n' '#' '-d' 'place' '-N' '#' '-u' '-L'
Path : place
FS : # #iB Used FS: #% Inodes: # #i Used Inodes: #%
Nodemap: #
V-#: Rank # Line # Shifting ranks by # for each phase.
# tasks, # files

SUMMARY rate: (of # iterations)
Operation Max Min Mean Std Dev
--------- --- --- ---- -------
File creation # # # #
File stat # # # #
File read # # # #
File removal # # # #
Tree creation # # # #
Tree removal # # # #

SUMMARY time: (of # iterations)
Operation Max Min Mean Std Dev
--------- --- --- ---- -------
File creation # # # #
File stat # # # #
File read # # # #
File removal # # # #
Tree creation # # # #
Tree removal # # # #
-- finished at # #:#:# --
"""
VERBOSE = """\
V-1: Rank   0 Line  2015 main: * iteration 1 *
V-1: Rank   0 Line  2091 V-1: main:   Tree creation     :          # sec,          # ops/sec
V-1: Rank   0 Line  1113    Directory creation:          # sec,          # ops/sec
V-1: Rank   0 Line  1114    Directory stat    :          # sec,          # ops/sec
V-1: Rank   0 Line  1115    Directory rename :          # sec,          # ops/sec
V-1: Rank   0 Line  1116    Directory removal :          # sec,          # ops/sec
V-1: Rank   0 Line  1399   File creation     :          # sec,          # ops/sec
V-1: Rank   0 Line  1403   File stat         :          # sec,          # ops/sec
V-1: Rank   0 Line  1404   File read         :          # sec,          # ops/sec
V-1: Rank   0 Line  1405   File removal      :          # sec,          # ops/sec
V-1: Rank   0 Line  2201 main   Tree removal      :          # sec,          # ops/sec
"""


def printed(place: Path, line: str) -> tuple[int, str]:
    done = mileage("mdtest", *line.split(), cwd=place)
    return done.returncode, done.stdout


def words_of(text: str) -> str:
    """Figures as #, blanks as one, no blanks around a line."""
    lines = (" ".join(re.sub(r"[0-9][0-9./]*", "#", line).split()) for line in text.splitlines())
    return re.sub(r"# [KMGTP]?i(B?)\b", r"# #i\1", "\n".join(lines))


def test_the_listing_has_the_lines_of_the_original_in_their_order(tmp_path: Path) -> None:
    status, text = printed(tmp_path, "--tasks 2 -F -P -C -n 10 -d place -N 1 -u -L")
    assert status == 0
    assert words_of(text).strip() == FILES_WITH_TIMES.strip()


def test_verbose_prints_the_time_and_rate_of_every_phase(tmp_path: Path) -> None:
    """The lines that n10ioana's parser takes its results from."""
    status, text = printed(tmp_path, "--tasks 2 -n 10 -i 2 -d place -v")
    assert status == 0
    shown = [line for line in text.splitlines() if "sec, " in line or "* iteration" in line]
    pattern = re.sub(r" *\b[0-9]+\.[0-9]{3}\b", "          #", "\n".join(shown)) + "\n"
    second = VERBOSE.replace("iteration 1", "iteration 2")
    assert pattern == VERBOSE + second
    parameters = dict(re.findall(r"^V-1: Rank   0 Line  \d+ (\w+) +: (.*)$", text, re.MULTILINE))
    assert (parameters["items"], parameters["iterations"], parameters["api"]) == ("10", "2", "(null)")
    # A rate is the first task's items by its seconds, which are printed in milliseconds.
    for seconds, rate in re.findall(r"File creation     : +(\S+) sec, +(\S+) ops/sec", text):
        assert abs(10 / float(rate) - float(seconds)) <= 0.000501


def test_a_stonewall_that_is_hit_is_printed(tmp_path: Path) -> None:
    words = "mdtest --tasks 2 -F -C -W 1 -n 100000000 -d place -v -x count"
    # A process of its own: the second task prints too.
    command = [sys.executable, "-m", "mileage", *words.split()]
    text = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    most = int((tmp_path / "count").read_text())
    assert f"max: {most} avg:" in text
    hits = [int(items) for items in re.findall(r"stonewall hit with (\d+) items", text)]
    assert (len(hits), max(hits)) == (2, most)
    seconds, items = re.findall(r"File creation \(stonewall\): +(\S+) sec, +(\S+) ops/sec", text)[0]
    assert float(items) == sum(hits)
    assert float(seconds) > 0.9


def test_data_that_differ_are_counted_and_end_with_0(tmp_path: Path) -> None:
    """mdtest's own main returns 0; a script that ends at the first failure does not end here."""
    assert printed(tmp_path, "--tasks 2 -F -C -w 100 -n 5 -G 1 -d place")[0] == 0
    status, text = printed(tmp_path, "--tasks 2 -F -E -X -e 100 -n 5 -G 2 -d place")
    assert status == 0
    assert (
        "\nERROR: verifying the data on read (10 errors)! Take the performance values with care!\n\n" in text
    )
    status, text = printed(tmp_path, "--tasks 2 -F -E -X -e 100 -n 5 -G 1 -d place")
    assert (status, "ERROR" in text) == (0, False)
