"""The kinds of figures: a file for each has what it needs, its title, its caption and its drawing.

`base.py` says what a kind is, `netwarp.study.figure_kinds` names them, and nothing else tells them
apart.
"""
