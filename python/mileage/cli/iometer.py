"""`mileage iometer`: see `tools.iometer`."""

from mileage.cli.face import face

command = face("iometer")
