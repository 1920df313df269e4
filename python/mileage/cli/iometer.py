"""`mileage iometer`: see `dropin.iometer`."""

from mileage.cli.dropin import face

command = face("iometer")
