"""`mileage iozone`: see `dropin.iozone`."""

from mileage.cli.dropin import face

command = face("iozone")
