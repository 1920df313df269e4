"""`mileage iozone`: see `tools.iozone`."""

from mileage.cli.dropin import face

command = face("iozone")
