"""The basis of metrics: what a metric is, and a run's records in the form that metrics read."""
