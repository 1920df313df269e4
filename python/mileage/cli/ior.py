"""`mileage ior`: see `dropin.ior`."""

from mileage.cli.dropin import dropin_command

command = dropin_command("ior")
