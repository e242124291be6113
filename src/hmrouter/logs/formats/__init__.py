"""One file per log format: a reader each, and parts that two of them share."""
