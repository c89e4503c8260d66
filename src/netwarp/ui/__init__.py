"""The local pages of `netwarp ui`, on which a user changes options (knobs) and sees how a transfer
changes.

`knobs.py` chooses from the table of options what a page shows, and `address.py` reads a page's
address as options of `netwarp compare`; `study_file.py` writes them as a study. `what_if.py` runs
them in a thread, `answers.py` makes the texts of the results, and `over_time.py` and `play.py` show
single runs. `lessons.py` has lessons for a class, `studies.py` runs studies, and `inside.py` shows
run directories. `access.py` refuses requests of others, `app.py` has the pages, `server.py` serves
them, and `memory.py` prevents the memory from growing.

Only requests of the pages themselves, with the token, are answered.
"""
