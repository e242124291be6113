"""Outcomes as arrays: what was seen of each task on each route, and what of it still counts."""
