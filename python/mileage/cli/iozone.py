"""`mileage iozone`: see `dropin.iozone`."""

from mileage.cli.dropin import dropin_command

command = dropin_command("iozone")
