"""How long commits take: by Mileage and by the tools and databases whose commits they are, in turn."""
