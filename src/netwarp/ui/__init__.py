"""The local pages of `netwarp ui`: turn a knob, and see the transfer.

`knobs.py` chooses from the table of options what a page shows, and `address.py` reads a page's
address as options of `netwarp compare`; `study_file.py` writes them as a study. `what_if.py` runs
them in a thread, `answers.py` words the results, and `over_time.py` and `play.py` show single runs.
`lessons.py` has what a class begins with, `studies.py` runs studies, and `inside.py` looks into run
directories. `access.py` refuses strangers, `app.py` has the pages, `server.py` serves them, and
`memory.py` keeps its memory from growing.

Nothing is answered but requests of the pages themselves, with the token.
"""
