"""How long the judgement of a large study takes, and how much memory."""
