"""`mileage hdparm`: see `dropin.hdparm`."""

from mileage.cli.dropin import face

command = face("hdparm")
