"""Runs of experiments: units of work, engines, what is kept of them, and the page at the end."""
