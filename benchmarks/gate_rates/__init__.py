"""How often a gate fails: with noise alone, and with a loss of a tenth.

`python -m benchmarks.gate_rates [--times 200] [--runs 10]` makes fio's JSON files of two commits, imports both as one
session, compares them and applies a rule of `mileage compare --fail-if`, as a pipeline does. The rate of each file is
drawn: the true rate times a lognormal factor. With `--history N` a session is judged against N sessions, each with a
lognormal factor of its own. Nothing is measured, so the truth is known.
"""
