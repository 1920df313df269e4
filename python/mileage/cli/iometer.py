"""`mileage iometer`: see `tools.iometer`."""

from mileage.cli.dropin import face

command = face("iometer")
