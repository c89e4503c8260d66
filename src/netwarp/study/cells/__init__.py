"""Factors and levels → cells, each validated as a whole: what a run of it gets."""
