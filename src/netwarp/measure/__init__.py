"""The basis of metrics: what a metric is, and a run's records in the form that metrics read.

`metric.py` defines what a metric is. `run_records.py` and `select.py` prepare a run's records for
it, and `compact_values.py` stores its values compactly. `queueing.py` computes delays from sampled
queues, `sharing.py` shares and harm, `limits.py` what limited a sender, `two_hosts.py` what differs
between two hosts, and `printed.py` reads what programs print.
"""
