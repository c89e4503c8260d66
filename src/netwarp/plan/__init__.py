"""Plans a study: expands it into cells and replicates, derives their seeds, and orders the jobs.

A `Study` becomes runs in order. `job_text.py` writes a cell's job once, and what each run puts into
it; `seeds.py` and `random_times.py` draw, `interleaving.py` orders runs that disturb each other,
`treatment.py` tells what is equal for all transports. `without.py` leaves out what a place
cannot do.

Invariants: time and seeds are arguments, so the same study gives the same jobs. A direction's seed
does not depend on the transport: all transports of a replicate meet the same random numbers.
"""

from netwarp.plan.plan import PlannedRun, filter_cells, plan_study
