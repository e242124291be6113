"""hm-router-bench: the benchmark suite, its baselines and its experiments."""
