"""Ratios measured in one run: `make bench`. See docs/benchmarks.md."""
