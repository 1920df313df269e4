"""`mileage mdtest`: see `dropin.mdtest`."""

from mileage.cli.dropin import dropin_command

command = dropin_command("mdtest")
