"""How often a gate over fio results fails: with noise alone, and with a loss of a tenth.

`python -m benchmarks.gate_rates [--times 200] [--runs 10]` makes fio's JSON files of two commits, imports both,
compares them and applies a rule of `mileage compare --fail-if`, as a pipeline does. The rate of each file is drawn:
the true rate times a lognormal factor. Nothing is measured, so the truth is known.
"""
