"""Options of the commands that build a kernel: where its source is, and how it differs."""

from __future__ import annotations

from netwarp.options.row import Option, Takes

SOURCE = Option(
    name="source", metavar="PATH", takes=Takes.PATH,
    help="A kernel source instead: a tarball, or a directory.",
)  # fmt: skip
GIT = Option(
    name="git", metavar="DIR", takes=Takes.PATH,
    help="A commit of this git repository instead, which --ref names.",
)  # fmt: skip
REF = Option(
    name="ref", metavar="REF", help="With --git: a tag, branch or hash, such as v6.13."
)  # fmt: skip
TREE = Option(
    name="tree", metavar="DIR", takes=Takes.PATH,
    help="With --git: keep source and objects in DIR, so that the next commit compiles only"
    " what changed.",
)  # fmt: skip
CONFIG = Option(
    name="config", metavar="LINE", takes=Takes.TEXTS,
    help="An additional line of configuration: CONFIG_TCP_CONG_BBR=n. Repeatable.",
)  # fmt: skip
PATCH = Option(
    name="patch", metavar="FILE", takes=Takes.TEXTS,
    help="A patch to apply to the source (`patch -p1`). Repeatable.",
)  # fmt: skip
