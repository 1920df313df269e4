"""`mileage hdparm`: see `tools.hdparm`."""

from mileage.cli.face import face

command = face("hdparm")
