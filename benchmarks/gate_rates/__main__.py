"""Prints the table."""

from __future__ import annotations

import argparse

from benchmarks.gate_rates.simulated_gate import failures, history_failures

RULES = ("slower > 5%", "not shown within 5%")


def main() -> None:
    """For each noise and rule: how often the gate fails, with and without a loss."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=200, help="comparisons of each row")
    parser.add_argument("--runs", type=int, default=10, help="files of each side")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--history", type=int, metavar="N", help="one session against N sessions")
    given = parser.parse_args()
    if given.history:
        against_history(given)
        return
    print(
        f"{given.times} comparisons of {given.runs} against {given.runs} files of fio each, seed {given.seed}\n"
    )
    print(f"{'rule':<22}{'noise of a run':>16}{'fails, no change':>20}{'fails, 10 % slower':>20}")
    for rule in RULES:
        for noise in (0.01, 0.03, 0.1):
            counts = [
                failures(
                    rule, change=change, noise=noise, runs=given.runs, times=given.times, seed=given.seed
                )
                for change in (0.0, -0.1)
            ]
            shares = "".join(f"{100 * count / given.times:>18.1f} %" for count in counts)
            print(f"{rule:<22}{100 * noise:>14.0f} %{shares}", flush=True)


def against_history(given: argparse.Namespace) -> None:
    """For each spread between sessions and number of runs: how often the gate `slower` fails."""
    print(
        f"{given.times} sessions, each against a history of {given.history}; noise of a run 1 %, seed {given.seed}\n"
    )
    print(f"{'between sessions':<18}{'runs':>6}{'fails, no change':>20}{'fails, 10 % slower':>20}")
    for between in (0.01, 0.02, 0.05):
        for runs in (1, 5):
            counts = [
                history_failures(
                    "slower",
                    change=change,
                    between=between,
                    noise=0.01,
                    sessions=given.history,
                    runs=runs,
                    times=given.times,
                    seed=given.seed,
                )
                for change in (0.0, -0.1)
            ]
            shares = "".join(f"{100 * count / given.times:>18.1f} %" for count in counts)
            print(f"{100 * between:>14.0f} %  {runs:>6}{shares}", flush=True)


if __name__ == "__main__":
    main()
