"""Scorers: learned from outcomes, they say how likely each route is to succeed on a task."""
