"""`mileage dd`: see `dropin.dd`."""

from mileage.cli.dropin import face

command = face("dd")
