"""`mileage metarates`: see `dropin.metarates`."""

from mileage.cli.dropin import face

command = face("metarates")
