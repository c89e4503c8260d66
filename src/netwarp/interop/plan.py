"""The parts of an interop grid: its stacks, and a study for each test case."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netwarp.errors import InputError
from netwarp.interop_cases import CASES, NOT_CARRIED_OUT, CaseName
from netwarp.stacks import Stack, find_stack, installed, interop_stack, missing_program
from netwarp.study import Study
from netwarp.study.study import MOST_REPLICATES, study_from_mapping
from netwarp.suggestions import did_you_mean, nearest

ARROW = "-to-"
"""Text between client and server in the label of a pair."""


@dataclass(frozen=True)
class Asked:
    """The stacks, cases and seeds of the grid that a user asks for."""

    clients: tuple[str, ...]
    servers: tuple[str, ...]
    cases: tuple[CaseName, ...]
    stacks: Mapping[str, Stack]
    """The stacks that can be started, by name."""
    missing: Mapping[str, str]
    """Reasons why other stacks cannot be started, by name."""
    seeds: int
    seed: int
    written: Mapping[str, str] = field(default_factory=dict)
    """The path that the user gave for a stack, by the stack's name, if it was given as a
    program.
    """

    @classmethod
    def of(
        cls,
        *,
        stacks: Sequence[str] = (),
        clients: Sequence[str] = (),
        servers: Sequence[str] = (),
        cases: Sequence[str] = (),
        seeds: int = 1,
        seed: int = 1,
        folder: Path,
    ) -> Asked:
        """Look up stacks and cases by their names.

        Args:
            stacks: names of stacks, or paths of programs with the interface of the QUIC interop
                runner; empty for all that are built here and have this interface.
            clients: stacks to use as clients; empty for all of `stacks`.
            servers: stacks to use as servers; empty for all of `stacks`.
            cases: names or abbreviations of the runner's cases; empty for all.
            seeds: number of loss patterns of each pair in each case.
            seed: the seed from which all loss patterns follow.
            folder: the folder to which relative paths belong.

        Raises:
            InputError: there is no such stack or case.
        """
        if not 1 <= seeds <= MOST_REPLICATES:
            raise InputError(f"--seeds {seeds}: write a whole number from 1 to {MOST_REPLICATES}")
        if not all((*stacks, *clients, *servers)):
            raise InputError("a stack's name is empty: write names with commas between them")
        named = tuple(dict.fromkeys(stacks or (*clients, *servers) or _built()))
        if not named:
            raise InputError("no stack is built here: `netwarp stack build quic-go`, for one")
        found: dict[str, Stack] = {}
        missing: dict[str, str] = {}
        names = {each: _add(each, folder, found, missing) for each in named}
        _refuse_same_names(names)
        ends = []
        for end in (clients, servers):
            if unknown := [each for each in end if each not in names]:
                near = nearest(unknown[0], names)
                meant = f'did you mean "{near}"?' if near else "name it there as well"
                raise InputError(f"{unknown[0]} is not among the stacks: {meant}")
            ends.append(tuple(names[each] for each in (end or named)))
        written = {name: each for each, name in names.items() if name != each}
        return cls(ends[0], ends[1], _cases(cases), found, missing, seeds, seed, written)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Return all pairs of a client and a server, client by client."""
        return [(client, server) for client in self.clients for server in self.servers]

    def study(self, case: CaseName) -> Study | None:
        """Return the study of a case over all pairs that can be started; None if there are none."""
        levels = [
            {
                "kind": "quic",
                "label": label(client, server),
                "stack": {
                    **self.stacks[server].model_dump(mode="json"),
                    "client": self.stacks[client].model_dump(mode="json"),
                },
            }
            for client, server in self.pairs
            if client in self.stacks and server in self.stacks
        ]
        if not levels:
            return None
        of_case = CASES[case]
        tables: dict[str, Any] = {
            "title": f"The interop runner's case {case}",
            "replicates": self.seeds,
            "seed": self.seed,
            "capture": "pcap",
            "path": dict(of_case.path),
            "workload": {"kind": "bulk", "case": case},
            "limits": {"virtual_s": of_case.limit_s},
            "factors": {"transport": levels},
        }
        return study_from_mapping(tables, file=f"the case {case}")


def label(client: str, server: str) -> str:
    """Return the label of a pair."""
    return f"{client}{ARROW}{server}"


def _built() -> list[str]:
    return [name for name in installed() if find_stack(name).interop]


def _add(named: str, folder: Path, found: dict[str, Stack], missing: dict[str, str]) -> str:
    """Find a stack, add it to `found` or the reason why it cannot be started to `missing`, and
    return its name in the grid.
    """
    if os.sep in named:
        stack = interop_stack(named, folder)
        found[stack.name] = stack
        return stack.name
    stack = interop_stack(named, folder, name=named)
    lacking = missing_program(named, stack.program)
    if lacking is None:
        found[named] = stack
    else:
        missing[named] = lacking
    return named


def _refuse_same_names(names: Mapping[str, str]) -> None:
    """Refuse two programs that would have the same name in the grid."""
    by_name: dict[str, str] = {}
    for each, name in names.items():
        if name in by_name:
            raise InputError(
                f"{by_name[name]} and {each} would both be {name} in the grid: name one by a link"
                " to it that is called otherwise"
            )
        by_name[name] = each


def _cases(named: Sequence[str]) -> tuple[CaseName, ...]:
    """Return the test cases with these names or abbreviations; all cases if none is named."""
    by_name: dict[str, CaseName] = {name: name for name in CASES}
    by_name |= {case.abbreviation: name for name, case in CASES.items()}
    for each in named:
        if each in NOT_CARRIED_OUT:
            raise InputError(f"the case {each} is not carried out: {NOT_CARRIED_OUT[each][1]}")
        if each not in by_name:
            raise InputError(
                f"the interop runner has no case {each}: {did_you_mean(each, list(by_name))}"
            )
    wanted = {by_name[each] for each in named}
    return tuple(name for name in CASES if not named or name in wanted)
