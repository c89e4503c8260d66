"""The command that lists the studies that come with netwarp."""

import click

from netwarp.cli.command import command
from netwarp.options.running import JSON


@command(JSON)
def studies(as_json: bool = False) -> None:
    """List the studies to start from, with their questions; `netwarp run NAME` runs one."""
    from netwarp.cli.terminal import print_json
    from netwarp.sources.shipped import question_of, shipped_studies

    found = {name: (path, question_of(path)) for name, path in shipped_studies().items()}
    if as_json:
        rows = [
            {"name": name, "file": str(path), "question": question}
            for name, (path, question) in found.items()
        ]
        print_json({"studies": rows})
        return
    longest = max(map(len, found), default=0)
    for name, (_, question) in found.items():
        click.echo(f"{name:{longest}}  {question}")
