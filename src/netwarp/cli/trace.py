"""The command that generates traces of a link's rate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from netwarp.cli.command import Argument, command
from netwarp.errors import InputError
from netwarp.options import Option
from netwarp.options.running import SEED
from netwarp.rate_models import MODELS, trace_text

_MOST_OPPORTUNITIES = 20_000_000


@command(
    Argument("model", "MODEL", f"{', '.join(MODELS)}."),
    Argument("file", "FILE", "The file to write, such as lte.down.", type=Path),
    Option(
        name="rate", metavar="RATE",
        help=" ".join(f"`{name}`: {model.description}." for name, model in MODELS.items())
        + " Default: 12mbit.",
    ),
    Option(
        name="length", metavar="TIME", help="Time after which the trace repeats. Default: 60s.",
    ),
    replace(SEED, help="Seed of what is drawn. Default: 1."),
)  # fmt: skip
def trace(
    model: str,
    file: Path,
    *,
    rate: str = "12mbit",
    length: str = "60s",
    seed: int | None = None,
) -> None:
    """Generate a trace of a link's rate, seeded, for `[path.trace]` of a study."""
    from netwarp.cli.terminal import answer_console, escaped
    from netwarp.suggestions import nearest
    from netwarp.units import NS_PER_MS, UnitError, parse_duration_ns, parse_rate_bit_s

    if model not in MODELS:
        meant = nearest(model, MODELS)
        hint = f"; did you mean {meant}?" if meant else f"; there are {', '.join(MODELS)}"
        raise InputError(f"trace: no model {model!r}{hint}")
    try:
        rate_bit_s, length_ns = parse_rate_bit_s(rate), parse_duration_ns(length)
    except UnitError as error:
        raise InputError(f"trace: {error}") from None
    if rate_bit_s is None or length_ns < NS_PER_MS:
        raise InputError("trace: a trace needs a rate, and lasts 1ms or more")
    length_ms = length_ns // NS_PER_MS
    if rate_bit_s * length_ms > _MOST_OPPORTUNITIES * 1504 * 8 * 1000:
        raise InputError("trace: it would have more than 20 million lines; choose less")
    if file.exists():
        raise InputError(f"trace: {file} is there already; remove it, or choose another name")
    try:
        text = trace_text(model, rate_bit_s=rate_bit_s, length_ms=length_ms, seed=seed or 1)
    except ValueError as error:
        raise InputError(f"trace: {error}; choose a higher --rate, or a longer --length") from None
    file.write_text(text, encoding="ascii")
    mean_bit_s = text.count("\n") * 1504 * 8 * 1000 / length_ms
    said = f"{file}: {length_ms / 1000:g} s of {model}, mean {mean_bit_s / 1e6:.4g} Mbit/s"
    answer_console(highlight=False, soft_wrap=True).print(escaped(said))
