"""`mileage dd`: see `dropin.dd`."""

from mileage.cli.dropin import dropin_command

command = dropin_command("dd")
