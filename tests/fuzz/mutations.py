"""Breaks studies and command lines, as slips and malice do: pure, made from a seed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from fuzz.toml import to_toml

Table = dict[str, Any]
# Right for no key whatever.
NEVER_RIGHT: tuple[Any, ...] = (
    "-10ms", "1e5%", "10 parsecs", "nan", "inf", "-inf%", "1_000ms", "0x10MB", "١٢ms", "½%",
    "٥%", "10ms; rm -rf /", "[red]", "\u202e%5", "a\x00b", "💥", "9" * 4400 + "ms", "%" * 3000,
    "gemodel", "gemodel 1%", "gemodel 1% 2% 3% 4% 5%", -1, -(10**30), float("nan"),
    float("inf"), -0.5, [[]], [{}], [[["tcp"]]], {"a": 1}, {"": {"": {}}},
)  # fmt: skip
# Right for some key or other: what comes of it depends on where it stands.
SOMEWHERE_RIGHT: tuple[Any, ...] = (
    "", " ", "0", "0%", "100%", "1B", "0ms", "1ns", "1h", "unlimited", "1bdp", "0p", "1p", 0, 1, 2,
    65535, 2**31, 2**32, 2**63 - 1, 1.5, True, False, [], ["1%"], ["tcp"], {}, "tcp", "quic",
    "mptcp", "down", "stream", "bulk", "none", "0rtt", "8bit", "1gbit", "9000000h", "1.5B",
)  # fmt: skip
SPECIAL_FILES = ("/dev/zero", "/dev/stdin", "/etc/shadow", "/", "/proc/self/mem", "~nouser/x", "")


def mutated_study(seed: int, tables: Table) -> str:
    """Break a study in one to three places, in its tables or its text.

    Args:
        seed: the same one breaks it in the same way.
        tables: a study; left alone.
    """
    rng = Random(seed)  # noqa: S311
    changed = copy.deepcopy(tables)
    for _ in range(rng.randint(1, 3)):
        rng.choice(_TABLE_MUTATIONS)(rng, changed)
    text = to_toml(changed)
    for _ in range(rng.choice([0, 0, 0, 1, 2])):
        text = rng.choice(_TEXT_MUTATIONS)(rng, text)
    return text


def wrong_study(seed: int, tables: Table) -> str:
    """Put one thing into a study that can be right nowhere."""
    rng = Random(seed)  # noqa: S311
    changed = copy.deepcopy(tables)
    rng.choice([_wrong_value, _unknown_key, _misspelt_key, _wrong_level])(rng, changed)
    return to_toml(changed)


def mutated_arguments(
    seed: int, commands: Mapping[str, Sequence[str]], places: Sequence[str]
) -> list[str]:
    """Make a command line of a command and its options, with values of all kinds.

    Args:
        seed: the same one gives the same command line.
        commands: each with its options, such as `--loss`.
        places: folders and files that are worth naming.
    """
    rng = Random(seed)  # noqa: S311
    command = rng.choice(list(commands))
    arguments = [command]
    if command != "compare":
        arguments.append(rng.choice([*places, *SPECIAL_FILES]))
    for _ in range(rng.randint(1, 4)):
        option = rng.choice(commands[command])
        if rng.random() < 0.1:
            option = _slip(rng, option)
        arguments.append(option)
        if rng.random() < 0.9:
            arguments.append(_argument(rng, option, places))
    return arguments


def _argument(rng: Random, option: str, places: Sequence[str]) -> str:
    if option in ("--set", "--filter"):
        key = rng.choice(["path.loss", "path", "transport", "transport.kind", "factors", "x.y", ""])
        return f"{key}={_as_text(rng, _any_value(rng))}"
    if option in ("--out", "--file", "--backend") and rng.random() < 0.6:
        place = rng.choice([*places, *SPECIAL_FILES])
        return f"replay:{place}" if option == "--backend" else place
    return _as_text(rng, _any_value(rng))


def _as_text(rng: Random, value: Any) -> str:
    if isinstance(value, int) and abs(value) > 2**63:
        return str(rng.choice([2**63, -(2**64), "9" * 4400]))
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return text.replace("\x00", "\x01")  # the system passes no NUL


def _any_value(rng: Random) -> Any:
    return rng.choice(NEVER_RIGHT if rng.random() < 0.5 else SOMEWHERE_RIGHT)


def _tables_in(value: Any) -> Iterator[Table]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _tables_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _tables_in(inner)


def _some_table(rng: Random, tables: Table) -> Table:
    return rng.choice([table for table in _tables_in(tables) if table] or [tables])


def _some_section(rng: Random, tables: Table) -> Table:
    keys = ("path", "workload", "transport")
    there = [tables[key] for key in keys if isinstance(tables.get(key), dict)]
    return rng.choice(there or [tables])


def _another_value(rng: Random, tables: Table) -> None:
    table = _some_table(rng, tables)
    if table:
        table[rng.choice(list(table))] = copy.deepcopy(_any_value(rng))


def _wrong_value(rng: Random, tables: Table) -> None:
    there = [tables[key] for key in ("path", "link", "workload") if key in tables]
    section = rng.choice(there)
    # Of several workloads or links, the first.
    section = section[0] if isinstance(section, list) else section
    texts = [key for key, value in section.items() if isinstance(value, str) and key != "label"]
    key = rng.choice(texts or ["rtt"])
    section[key] = copy.deepcopy(rng.choice(NEVER_RIGHT))


def _wrong_level(rng: Random, tables: Table) -> None:
    key, right = rng.choice([("path.loss", "1%"), ("path.rtt", "20ms"), ("workload.size", "1kB")])
    tables.setdefault("factors", {})[key] = [right, copy.deepcopy(rng.choice(NEVER_RIGHT))]


def _unknown_key(rng: Random, tables: Table) -> None:
    section = _some_section(rng, tables)
    section[rng.choice(["colour", "los", "rtt ", "RTT", "", "a.b", "\x00", "ключ"])] = "1%"


def _misspelt_key(rng: Random, tables: Table) -> None:
    section = _some_section(rng, tables)
    key = rng.choice([*section, "rtt"])
    section[f"{key}{rng.choice('_xX ')}"] = section.pop(key, "1ms")


def _remove_key(rng: Random, tables: Table) -> None:
    table = _some_table(rng, tables)
    if table:
        del table[rng.choice(list(table))]


def _move_key(rng: Random, tables: Table) -> None:
    source, target = _some_table(rng, tables), _some_table(rng, tables)
    if source:
        key = rng.choice(list(source))
        moved = source[key]
        if isinstance(moved, dict):
            return
        target[key] = source.pop(key)


def _make_factor(rng: Random, tables: Table) -> None:
    sections = [
        key for key in ("path", "transport", "workload") if isinstance(tables.get(key), dict)
    ]
    section = rng.choice(sections or ["path"])
    keys = list(tables.get(section, {})) or ["rtt"]
    levels = [copy.deepcopy(_any_value(rng)) for _ in range(rng.randint(0, 3))]
    factors = tables.setdefault("factors", {})
    if isinstance(factors, dict):
        factors[f"{section}.{rng.choice(keys)}"] = levels


_TABLE_MUTATIONS: tuple[Callable[[Random, Table], None], ...] = (
    _another_value, _another_value, _another_value, _unknown_key, _misspelt_key, _remove_key,
    _move_key, _make_factor,
)  # fmt: skip


def _slip(rng: Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(["", "x", "=", '"', "é", "-", " "]) + text[at + 1 :]


def _cut(rng: Random, text: str) -> str:
    return text[: rng.randrange(len(text) + 1)]


def _double_line(rng: Random, text: str) -> str:
    lines = text.splitlines(keepends=True)
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines) if lines else "\n")
    return "".join(lines)


def _odd_characters(rng: Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return (
        text[:at] + rng.choice(["\ufeff", "\x00", "\r", "\x1b[31m", "🦀", "[", "'''"]) + text[at:]
    )


def _odd_literal(rng: Random, text: str) -> str:
    """Put a value of TOML's that no study has in the place of another one."""
    lines = text.splitlines(keepends=True)
    places = [number for number, line in enumerate(lines) if " = " in line]
    if not places:
        return text
    number = rng.choice(places)
    depth = rng.choice([3, 90, 600])
    nested = rng.choice(["[" * depth + "]" * depth, "{a=" * depth + "1" + "}" * depth])
    literal = rng.choice(
        [nested, "9" * 4400, "1e400000", "1979-05-27T07:32:00Z", "07:32:00", "0xFF", "''"]
    )
    lines[number] = f"{lines[number].partition(' = ')[0]} = {literal}\n"
    return "".join(lines)


_TEXT_MUTATIONS: tuple[Callable[[Random, str], str], ...] = (
    _slip, _cut, _double_line, _odd_characters, _odd_literal,
)  # fmt: skip
