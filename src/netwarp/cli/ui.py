"""The command that serves the local pages."""

from pathlib import Path

from netwarp.cli.command import Argument, command
from netwarp.cli.interruption import interruption
from netwarp.options import Option, Takes


@command(
    Argument(
        "folder", "[DIR]", "The folder of run directories. Default: netwarp-out.", type=Path,
        required=False,
    ),
    Option(
        name="port", metavar="PORT", takes=Takes.WHOLE, least=1, most=65535,
        help="The port on 127.0.0.1. Default: a free one.",
    ),
    Option(
        name="open_", flags=("--open",), takes=Takes.FLAG,
        help="Open the address in the browser.",
    ),
)  # fmt: skip
def ui(folder: Path = Path("netwarp-out"), port: int = 0, open_: bool = False) -> None:
    """Turn knobs and see transfers, in the browser: pages on 127.0.0.1, until Ctrl-C.

    The printed address has a token, without which nothing is answered.
    """
    import click

    from netwarp.cli.terminal import answer_console
    from netwarp.ui.server import serve

    console = answer_console(highlight=False, soft_wrap=True, markup=False)
    interruption.kept_text = lambda: "the pages are closed"

    def ready(address: str) -> None:
        console.print(f"netwarp ui: {address}")
        console.print("Ctrl-C ends it.")
        if open_:
            click.launch(address)

    serve(folder, port, ready)
