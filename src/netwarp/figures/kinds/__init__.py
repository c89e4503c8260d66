"""The kinds of figures: each file defines what its kind needs in a study, its title, its caption
and its drawing.

`base.py` defines what a kind is, `netwarp.study.figure_kinds` lists their names, and no other code
distinguishes them.
"""
