"""How much processor time a command of Mileage takes before it does anything."""
