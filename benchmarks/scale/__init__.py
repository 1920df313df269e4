"""A study of tens of thousands of runs: planned, run, killed twice, resumed, finished, and asked."""
