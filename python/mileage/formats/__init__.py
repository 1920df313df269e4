"""Readers and writers of other tools' files. Each refuses what it does not understand, with the line."""
