"""The learned baselines of hm-router-bench, one file each; the simple ones live in `hmrouter.scorers`."""
