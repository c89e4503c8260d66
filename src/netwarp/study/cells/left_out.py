"""Combinations of levels that a study leaves out, such as those that an implementation lacks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netwarp.fields import KeyValueError
from netwarp.study.cells.factors import Factor, factor_key, flattened
from netwarp.suggestions import did_you_mean

EXAMPLE = '{ transport = "s2n-quic", "transport.congestion" = "reno" }'


@dataclass(frozen=True)
class LeftOut:
    """One entry of `leave_out`: the labels of the levels, by factor."""

    levels: Mapping[str, frozenset[str]]

    def has(self, labels: Mapping[str, str]) -> bool:
        """Return whether this entry leaves out a combination of levels."""
        return all(labels[key] in own for key, own in self.levels.items())


def read_left_out(
    entries: Sequence[Mapping[str, Any]], factors: Sequence[Factor]
) -> tuple[LeftOut, ...]:
    """Return the combinations of levels that a study leaves out.

    Raises:
        KeyValueError: an entry names a factor or a level that the study does not have, or all
            levels of its only factor.
    """
    return tuple(_read(entry, factors, f"leave_out.{at}") for at, entry in enumerate(entries))


def remaining(
    entries: Sequence[Mapping[str, Any]],
    factors: Sequence[Factor],
    wanted: Sequence[Mapping[str, str]],
) -> list[dict[str, list[Any]]]:
    """Return the entries of `leave_out` for a study that has only the wanted cells. A factor with a
    single remaining level is not named, because it is no factor then.

    Args:
        entries: the entries of a study that has been checked.
        factors: the study's factors.
        wanted: the levels of the wanted cells.
    """
    used = {factor.key: {levels[factor.key] for levels in wanted} for factor in factors}
    found = []
    for entry in read_left_out(entries, factors):
        values = {
            factor.key: [
                level.value if not isinstance(level.value, dict) else level.label
                for level in factor.levels
                if level.label in entry.levels[factor.key] & used[factor.key]
            ]
            for factor in factors
            if factor.key in entry.levels
        }
        varied = {key: own for key, own in values.items() if len(used[key]) > 1}
        if all(values.values()) and len(varied) > 1:
            found.append(varied)
    return found


def _read(entry: Mapping[str, Any], factors: Sequence[Factor], key: str) -> LeftOut:
    by_key = {factor.key: factor for factor in factors}
    wanted = flattened(entry)
    if len(wanted) < 2:
        reason = "an entry is a combination of levels of two factors or more"
        raise KeyValueError(key, dict(entry), reason, f"write it like {EXAMPLE}")
    found: dict[str, frozenset[str]] = {}
    for name, value in wanted.items():
        if name not in by_key:
            raise KeyValueError(key, name, "not a factor of this study", did_you_mean(name, by_key))
        values = value if isinstance(value, list) else [value]
        found[name] = frozenset(_label(by_key[name], each, f"{key}.{name}") for each in values)
    return LeftOut(found)


def _label(factor: Factor, value: Any, key: str) -> str:
    level = factor.find(value)
    if level is None:
        known = [each.label for each in factor.levels]
        reason = f"not a level of {factor_key(factor.key)}"
        raise KeyValueError(key, value, reason, did_you_mean(str(value), known))
    return level.label
