"""The basis of metrics: what a metric is, and a run's records in the form that metrics read.

`metric.py` says what a metric is, `run_records.py` and `select.py` give it a run's records,
`compact_values.py` keeps its values small. `queueing.py` has delays of sampled queues, `sharing.py`
shares and harm, `two_hosts.py` what differs between two hosts, `printed.py` what programs print.
"""
