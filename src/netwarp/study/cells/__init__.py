"""Builds the cells of a study from factors and levels, and validates each cell as a whole."""
