"""A test whose commits are timed is judged first by one metric of them; its rate and its other quantiles come after."""

from mileage.judge import Sample, compare_arms


def of(arm: str, metric: str, values: tuple[float, ...], cell: str = "log") -> list[Sample]:
    better = metric.endswith("_per_s")
    return [
        Sample(run, 1, "torture", arm, run + 1, "iops", cell, metric, value, better)
        for run, value in enumerate(values)
    ]


def test_the_headline_has_one_metric_of_each_test() -> None:
    found = {}
    for arm, factor in (("a", 1.0), ("b", 1.5)):
        slow = tuple(factor * value for value in (4e6, 4.1e6, 4.2e6, 4.0e6, 3.9e6))
        fast = tuple(250 / factor + step for step in range(5))
        found[arm] = [
            *of(arm, "ops_per_s", fast),
            *of(arm, "commit_p99_ns", slow),
            *of(arm, "commit_p50_ns", slow),
            *of(arm, "ops_per_s", fast, "reads"),
            *of(arm, "commit_p99_ns", slow, "tail"),
        ]
    comparison = compare_arms(found["a"], found["b"], labels=("a", "b"), paired=False, relevance={})
    assert {(cell.cell, cell.metric) for cell in comparison.headline} == {
        ("log", "commit_p50_ns"),
        ("reads", "ops_per_s"),
        ("tail", "commit_p99_ns"),
    }
    assert len(comparison.cells) == 5
