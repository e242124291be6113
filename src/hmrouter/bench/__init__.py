"""hm-router-bench: the experiments of the paper and ours, on any benchmark directory.

benchmarks/    directories of outcomes: reading, checking, the paper's list, planted worlds
baselines/     the routers of others that are compared
methods.py     everything that `--methods` may name
judge/         one method on one split: predictions, choices, metrics, and what other benchmarks say
experiments/   what is done on each split, and the tables and figures of its rows; path.py is what all of them share
run/           a whole run: requests, units, engines, the cache of results
report/        tables and figures as HTML, Markdown and images
"""
