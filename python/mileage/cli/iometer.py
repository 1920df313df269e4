"""`mileage iometer`: see `dropin.iometer`."""

from mileage.cli.dropin import dropin_command

command = dropin_command("iometer")
