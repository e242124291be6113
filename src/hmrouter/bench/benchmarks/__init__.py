"""Benchmark directories: reading, checking, the paper's registry, and planted worlds."""
