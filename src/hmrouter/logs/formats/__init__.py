"""One file per log format: a reader each, and what two of them share."""
