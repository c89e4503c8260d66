"""Draws runs over time from jobs and records, in a chart of several panels."""
