"""Applies the changes of the command line to a study: ``--set``, ``--replicates``, ``--seed``."""

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any

from netwarp.errors import InputError, one_line, show_value
from netwarp.fields import KeyValueError
from netwarp.study.bounds import MOST_PARTS, read_tables, too_deep
from netwarp.study.refusal import Refusals
from netwarp.suggestions import did_you_mean

SECTIONS = ("path", "topology", "transport", "workload")
"""Sections of a study whose keys can be factors."""
LISTS = ("host", "link")
"""Lists of tables whose keys can be factors, by the name of the tables."""
KERNEL = "kernel"
"""The only key outside of sections that can be a factor. Its values are read as text although they
look like numbers, because 6.10 is not 6.1."""
COMMAND_LINE = "command line"
"""Text that errors about options have instead of a file name."""


def overrides_of(options: Mapping[str, Any]) -> list[str]:
    """Return a command's options as ``KEY=VALUE``: those of ``--set``, then the others.

    Args:
        options: the options by name, of which ``set``, ``relevant``, ``metric``, ``against`` and
            ``kernel`` are used.

    Raises:
        InputError: ``against`` is not FACTOR=LEVEL.
    """
    given = listed(options.get("set", ()), "set")
    if options.get("relevant") is not None:
        given.append(f"relevant={options['relevant']}")
    if options.get("metric") is not None:
        given.append(f"metrics={json.dumps(listed(options['metric'], 'metric'))}")
    if options.get("kernel") is not None:
        kernel = options["kernel"]
        each = [kernel] if isinstance(kernel, str | int | float) else list(kernel)
        names = json.dumps([str(name) for name in each])
        given.append(f"factors.kernel={names}" if len(each) > 1 else f"kernel={names[1:-1]}")
    for factor, level in against_level(options.get("against")).items():
        given.append(f"against={{{json.dumps(factor)} = {json.dumps(level)}}}")
    return given


def against_level(against: str | None) -> dict[str, str]:
    """Return the level that ``--against`` names, by its factor; empty if the option is not given.

    Raises:
        InputError: it is not FACTOR=LEVEL.
    """
    if against is None:
        return {}
    factor, equals, level = (part.strip() for part in against.partition("="))
    if not factor or not equals or not level:
        raise InputError(
            f"--against {one_line(against)}: not FACTOR=LEVEL; such as transport.congestion=cubic"
        )
    return {factor: level}


def listed(value: str | Sequence[str], option: str) -> list[str]:
    """Return an option's value, one text or several, as a list.

    Raises:
        InputError: a value is not a text.
    """
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list | tuple) or not all(isinstance(each, str) for each in texts):
        raise InputError(f"{option}: {show_value(value)} is neither a text nor a list of texts")
    return list(texts)


def apply_overrides(
    raw: Mapping[str, Any],
    overrides: Sequence[str],
    *,
    replicates: int | None = None,
    seed: int | None = None,
) -> dict[str, Any]:
    """Return a study's tables after the changes of the command line. They are validated later, like
    those of any study.

    ``KEY=VALUE`` sets a dotted key: ``path.rtt=50ms``, ``replicates=3``, ``transport.mss=1200``, or
    a factor's levels: ``factors.path.loss=["0%", "1%"]``. VALUE is read as TOML if it is TOML, and
    as text otherwise, so that ``50ms`` needs no quotes. A list with commas consists of levels, as
    in ``--filter``: ``path.loss=0%,1%`` makes the key a factor, or replaces the factor's levels; a
    comma in quotes is part of the text.

    Args:
        raw: a study file as `tomllib` reads it; it is not modified.
        overrides: ``KEY=VALUE`` each; if two set the same key, the later one applies.
        replicates: the value of ``--replicates``.
        seed: the value of ``--seed``.

    Raises:
        StudyError: one is not KEY=VALUE, its key is inside something that is not a table, or a
            factor sets the key, so that the value would have no effect.
    """
    tables = copy.deepcopy(dict(raw))
    with Refusals(COMMAND_LINE).as_study_errors():
        for override in overrides:
            key, equals, text = override.partition("=")
            key = key.strip().replace('"', "")
            if not equals or not key:
                remedy = "such as --set path.rtt=50ms"
                raise KeyValueError("--set", override, "not KEY=VALUE", remedy)
            if key.count(".") >= MOST_PARTS:
                raise too_deep("--set")
            value = _value(text.strip(), key)
            if isinstance(value, str) and "," in value and value == text.strip():
                levels = [_value(level.strip(), key) for level in value.split(",")]
                _set_levels(tables, key, levels, override)
            else:
                _set(tables, key, value)
    if replicates is not None:
        tables["replicates"] = replicates
    if seed is not None:
        tables["seed"] = seed
    return tables


def apply_quick(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return a study's tables, changed by its ``[quick]`` table.

    Tables are merged, other values are replaced. Each of several workloads has a table by its name:
    ``[quick.workload.NAME]``. Levels that no longer run are removed from `without` of claims.

    A study without a ``[quick]`` table is not changed.
    """
    tables = copy.deepcopy(dict(raw))
    quick = tables.pop("quick", {})
    if not isinstance(quick, Mapping):
        return {**tables, "quick": quick}
    changed = _laid_over(tables, quick)
    if isinstance(claims := changed.get("claim"), list):
        changed["claim"] = [_without_unrun(claim, tables, changed) for claim in claims]
    return changed


def _without_unrun(claim: Any, before: Mapping[str, Any], after: Mapping[str, Any]) -> Any:
    """Return a claim whose `without` has only levels that are still run after a change of the
    factors.
    """
    left_out = claim.get("without") if isinstance(claim, Mapping) else None
    factors = [tables.get("factors") for tables in (before, after)]
    if not isinstance(left_out, Mapping) or not all(isinstance(f, Mapping) for f in factors):
        return claim
    kept = {
        factor: [level for level in levels if not _is_gone(factor, level, *factors)]
        for factor, levels in left_out.items()
        if isinstance(levels, list)
    }
    return {**claim, "without": {**left_out, **kept}}


def _is_gone(factor: str, level: Any, before: Any, after: Any) -> bool:
    had, has = (each.get(factor) for each in (before, after))
    return isinstance(had, list) and isinstance(has, list) and level in had and level not in has


def _laid_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        inner = merged.get(key)
        if isinstance(inner, list) and isinstance(value, Mapping):
            merged[key] = _workloads_laid_over(inner, value)
        elif isinstance(inner, Mapping) and isinstance(value, Mapping):
            merged[key] = _laid_over(inner, value)
        else:
            merged[key] = value
    return merged


def _workloads_laid_over(below: Sequence[Any], above: Mapping[str, Any]) -> list[Any]:
    names = _names(below)
    for name in above:
        if name not in names:
            reason = f"no workload is called {name}"
            raise KeyValueError(f"quick.workload.{name}", None, reason, did_you_mean(name, names))
        if not isinstance(above[name], Mapping):
            key, remedy = f"quick.workload.{name}", f"write [quick.workload.{name}]"
            raise KeyValueError(key, above[name], "not a table", remedy)
    return [
        _laid_over(table, above[name]) if name in above else table
        for table, name in zip(below, names, strict=True)
    ]


def _names(workloads: Sequence[Any]) -> list[str]:
    """Return the names of the ``[[workload]]`` tables, or of those in another list of tables."""
    return [str(each.get("name", "")) if isinstance(each, Mapping) else "" for each in workloads]


def _set(tables: dict[str, Any], key: str, value: Any) -> None:
    """Set a dotted key in a study's tables."""
    *parents, last = key.split(".")
    if parents[:1] == ["factors"]:
        parents, last = ["factors"], key.removeprefix("factors.")
    elif _is_factor(tables, key):
        remedy = f"pick a level with --filter {key}=LEVEL, or --set 'factors.{key}=[…]'"
        raise KeyValueError(f"--set {key}", value, "the study varies it", remedy)
    table: Any = tables
    for part, before in zip(parents, ["", *parents], strict=False):
        if isinstance(table, dict) and isinstance(table.get(part), str) and part == "transport":
            table[part] = {"kind": table[part]}
        table = (
            _named(table, before, part) if isinstance(table, list) else table.setdefault(part, {})
        )
        if not isinstance(table, dict | list):
            remedy = "write the key as the study file does"
            raise KeyValueError(f"--set {key}", value, f"{part} is not a table", remedy)
    if isinstance(table, list):
        names = [name for name in _names(table) if name]
        remedy = f"name one: {parents[-1]}.{names[0]}.{last}" if names else "give them names"
        raise KeyValueError(
            f"--set {key}", value, f"there are several of [[{parents[-1]}]]", remedy
        )
    table[last] = value


def _named(tables: list[Any], kind: str, name: str) -> Any:
    names = _names(tables)
    if name not in names:
        reason = f"no {kind} is called {name}"
        raise KeyValueError("--set", f"{kind}.{name}", reason, did_you_mean(name, names))
    return tables[names.index(name)]


def _set_levels(tables: dict[str, Any], key: str, levels: list[Any], override: str) -> None:
    """Make a key a factor with these levels. A key that cannot be a factor is set to the text of
    the option instead.
    """
    bare = key.removeprefix("factors.")
    if bare != KERNEL and bare.partition(".")[0] not in (*SECTIONS, *LISTS):
        _set(tables, key, override.partition("=")[2].strip())
        return
    factor = "transport" if bare == "transport.kind" else bare
    factors = tables.setdefault("factors", {})
    if isinstance(factors, dict):
        section, _, name = factor.partition(".")
        nested = factors.get(section)
        if isinstance(nested, dict):  # a table such as [factors.path]
            nested.pop(name, None)
        factors[factor] = levels


def _is_factor(tables: Mapping[str, Any], key: str) -> bool:
    factors = tables.get("factors", {})
    if not isinstance(factors, Mapping):
        return False
    section, _, name = key.partition(".")
    nested = factors.get(section)
    return (
        key in factors
        or (key == "transport.kind" and "transport" in factors)
        or (isinstance(nested, Mapping) and name in nested)
    )


def _value(text: str, key: str) -> Any:
    """Return the value of `--set`: TOML if it can be read as that, else a text."""
    try:
        value = read_tables(f"value = {text}")["value"]
    except RecursionError:
        raise too_deep("--set") from None
    except KeyValueError:
        raise
    except (ValueError, KeyError):  # not TOML, or a number with too many digits for Python
        return text
    is_name = key.removeprefix("factors.") == KERNEL and isinstance(value, int | float)
    return text if is_name else value
