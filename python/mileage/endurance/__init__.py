"""Life, sizing and cost of drives: conversions of endurance, how long a drive lasts, which drive fits a need."""
