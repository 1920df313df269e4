"""Other tools' files at their largest."""
