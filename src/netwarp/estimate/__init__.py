"""Statistics: estimates with confidence intervals, and comparisons of samples."""
