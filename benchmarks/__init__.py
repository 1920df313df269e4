"""Comparisons that are run by hand; nothing that is installed needs them."""
