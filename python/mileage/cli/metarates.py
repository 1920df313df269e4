"""`mileage metarates`: see `dropin.metarates`."""

from mileage.cli.dropin import dropin_command

command = dropin_command("metarates")
