"""What metrics are made of: a run's records as metrics read them, and what a metric is."""
