"""`mileage fio`: see `dropin.fio`."""

from mileage.cli.dropin import dropin_command

command = dropin_command("fio")
