"""Plans the runs of a study's cells: replicates, with derived seeds and random times, in the order
in which they are carried out.

`plan.py` makes the runs of a `Study`, in order. `job_text.py` serialises a cell's job once, and
inserts what differs in each run. `seeds.py` and `random_times.py` derive random numbers,
`interleaving.py` orders runs that disturb each other, and `treatment.py` lists the settings of all
transports. `without.py` removes from a study what a backend cannot do.

Invariants: time and seeds are arguments, so the same study gives the same jobs. A direction's seed
does not depend on the transport, so all transports of a replicate get the same random numbers.
"""

from netwarp.plan.plan import PlannedRun, filter_cells, plan_study
