"""How long `mileage compare --history` takes with 100 sessions of 50 tests.

`python -m benchmarks.history_speed [--sessions 100] [--tests 50] [--runs 5]` imports a CSV file for each session, whose
rates are drawn, and times the command as a user starts it: the least of some calls, next to the goal.
"""
