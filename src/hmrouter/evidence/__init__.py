"""Outcomes as arrays: the scores of each task on each route, and how much each of them still counts."""
