"""Rates and lateness of served drives."""
