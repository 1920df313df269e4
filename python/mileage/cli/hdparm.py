"""`mileage hdparm`: see `dropin.hdparm`."""

from mileage.cli.dropin import dropin_command

command = dropin_command("hdparm")
