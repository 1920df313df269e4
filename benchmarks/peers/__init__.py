"""Mileage compared with other load generators and with bare loops on one machine: `make bench-peers`.

`programs` finds and runs the others, `places` makes the files and file systems, `rows` says what is compared and which
bars are asked for, `turns` when each runs, `table` turns readings into ratios. Only the standard library is needed.
"""
