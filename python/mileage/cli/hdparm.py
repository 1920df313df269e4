"""`mileage hdparm`: see `tools.hdparm`."""

from mileage.cli.dropin import face

command = face("hdparm")
