"""Stacks: manifests, what studies say of them, and what is refused when a study is planned."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from netwarp.backends.stack_building import build_stack, describe_stacks
from netwarp.errors import BackendError, InputError, StudyError
from netwarp.plan import plan_study
from netwarp.plan.treatment import equal_treatment
from netwarp.stack_pairs import paired
from netwarp.stacks import (
    MANIFEST,
    PATH_VARIABLE,
    SOURCES,
    Stack,
    find_stack,
    installed,
    missing_program,
    read_manifest,
    shipped,
    stack_in,
)
from netwarp.study import Study
from netwarp.study.study import study_from_mapping
from netwarp.transports import TRANSPORTS
from netwarp.wire import Bulk
from netwarp.wording import transport_text

WRONG = Path(__file__).parent / "guest" / "wrong_stack"
TABLE = {
    "name": "other", "version": "1.2", "role_protocol": 2, "kind": "quic", "program": "/opt/role",
    "congestion": ["reno", "bbr"], "workloads": ["bulk"], "initial_window": 32,
    "treatment": {"initial window": "it is 32"},
}  # fmt: skip


def study_of(stack: dict[str, Any] | str = TABLE, /, **tables: Any) -> Study:
    level = {"kind": "quic", "stack": stack, "label": "other"}
    workload = {"kind": "bulk", "size": "1MB"} | tables.pop("workload", {})
    if workload["kind"] != "bulk":
        del workload["size"]
    base = {"title": "t", "factors": {"transport": ["quic", level]}, "replicates": 1}
    return study_from_mapping({**base, "workload": workload, **tables})


def test_a_job_names_the_program_and_the_stacks_own_defaults() -> None:
    usual, other = (planned.job.only.transport for planned in plan_study(study_of()))
    assert usual.stack is None
    assert other.stack is not None
    assert (other.stack.program, other.stack.version) == ("/opt/role", "1.2")
    assert (other.congestion, other.initial_window_packets) == ("reno", 32)


def test_a_study_needs_no_manifest_once_it_is_read() -> None:
    study = study_of()
    again = study_from_mapping(study.raw)
    assert [cell.template for cell in again.cells] == [cell.template for cell in study.cells]


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"workload": {"kind": "stream"}}, "other carries bulk"),
        ({"workload": {"kind": "bulk", "chunks": 3}}, "other carries a content in one piece"),
        ({"transport": {"congestion": "cubic"}}, "no congestion control of this name"),
        ({"transport": {"initial_window": 10}}, "other's initial window is fixed"),
        ({"transport": {"resume": "0rtt"}, "workload": {"transfers": 2}}, "does not resume"),
        (
            {"path": {"handovers": {"every": "1s", "count": 1}}},
            "does not take notice of a client that moves",
        ),
    ],
)
def test_what_a_stack_lacks_is_refused(tables: dict[str, Any], words: str) -> None:
    with pytest.raises(StudyError, match=words):
        study_of(**tables)


def test_tcp_has_no_other_stack() -> None:
    study = {
        "title": "t",
        "transport": {"kind": "tcp", "stack": TABLE},
        "workload": {"kind": "bulk", "size": "1MB"},
    }
    with pytest.raises(StudyError, match="tcp has no such option"):
        study_from_mapping(study)


def test_a_stack_that_is_not_built_is_refused_with_the_remedy() -> None:
    with pytest.raises(StudyError, match=r"factors\.transport\.stack.*netwarp stack build none"):
        study_of("none-such")


def test_equal_treatment_lists_what_a_stack_has_of_its_own() -> None:
    rows = equal_treatment(study_of())
    (row,) = (r for r in rows if r["transport"] == "other" and r["setting"] == "initial window")
    assert (row["value"], row["deviates"], row["reason"]) == ("32 packets", True, "it is 32")


@pytest.mark.parametrize(("congestion", "value"), [("cubic", "not paced"), ("bbr2", "paced")])
def test_equal_treatment_tells_pacing_by_congestion_control(congestion: str, value: str) -> None:
    rows = equal_treatment(study_of({**TABLE, "congestion": [congestion]}))
    (row,) = (r for r in rows if r["transport"] == "other" and r["setting"] == "pacing")
    assert row["value"] == value


def test_stacks_are_found_where_they_are_named() -> None:
    environ = {PATH_VARIABLE: str(WRONG.parent), "HOME": "/nonexistent"}
    assert installed(environ) == ["wrong_stack"]
    assert find_stack("wrong_stack", environ).program == str(WRONG / "role")
    with pytest.raises(InputError, match="no stack other is built here"):
        find_stack("other", environ)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "name"),
        ("name = ", "not a manifest"),
        (WRONG.joinpath(MANIFEST).read_text() + 'colour = "red"', "colour"),
        (WRONG.joinpath(MANIFEST).read_text().replace("protocol = 2", "protocol = 9"), "version 9"),
    ],
)
def test_a_manifest_that_is_none_is_refused(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(InputError, match=words):
        read_manifest(tmp_path)


def test_a_program_that_is_not_there_or_not_seen_is_refused(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(WRONG.joinpath(MANIFEST).read_text())
    with pytest.raises(InputError, match="has no program"):
        stack_in(tmp_path)
    (tmp_path / "role").touch(mode=0o755)
    with pytest.raises(InputError, match="which guests find empty"):
        stack_in(tmp_path)


def test_a_wheel_brings_every_crate_that_a_stack_is_built_with() -> None:
    clone = Path(__file__).resolve().parents[1]
    project = tomllib.loads((clone / "pyproject.toml").read_text())
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    packed = Path(included["stacks"])
    for manifest in SOURCES.glob("*/Cargo.toml"):
        for crate in tomllib.loads(manifest.read_text())["dependencies"].values():
            place = crate.get("path") if isinstance(crate, dict) else None
            if place is None:
                continue
            from_clone = Path(os.path.relpath(manifest.parent / place, clone))
            from_wheel = Path(os.path.normpath(packed / manifest.parent.name / place))
            packs_all = from_clone.is_relative_to("stacks")
            assert packs_all or included[str(from_clone)] == str(from_wheel), manifest
            own = tomllib.loads((clone / from_clone / "Cargo.toml").read_text())
            if {"workspace": True} in own["package"].values():
                for root in ("Cargo.toml", "src/main.rs"):
                    found = included[str(from_clone.parent / root)]
                    assert found == str(from_wheel.parent / root), manifest


def test_what_builds_a_stack_is_named_when_it_is_missing() -> None:
    assert "quic-go" in shipped()
    with pytest.raises(BackendError, match="built by go, which is missing: install Go"):
        build_stack("quic-go", {"PATH": "/nonexistent", "HOME": "/nonexistent"})
    with pytest.raises(BackendError, match="ships no stack other"):
        build_stack("other", {})


def test_all_that_takes_part_in_a_build_is_named(tmp_path: Path) -> None:
    (tmp_path / "cargo").symlink_to("/bin/true")
    environ = {"PATH": str(tmp_path), "HOME": "/nonexistent"}
    with pytest.raises(BackendError, match="quiche is built by cmake, which is missing: apt"):
        build_stack("quiche", environ)
    with pytest.raises(BackendError, match="aioquic is built by python3, which is missing") as all_:
        describe_stacks(environ)
    assert "quic-go is built by go, which is missing" in str(all_.value)
    assert "quiche is built by cmake, which is missing" in str(all_.value)


def test_what_is_built_is_told_with_its_version(tmp_path: Path) -> None:
    for name in ("go", "cargo", "cmake", "c++", "python3", "setpriv", "sh"):
        (tmp_path / name).symlink_to("/bin/true")
    environ = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    unbuilt = "built: none; not built: netwarp stack build aioquic; netwarp stack build noq"
    assert describe_stacks(environ).startswith(unbuilt)
    version = read_manifest(build_stack("quic-go", environ)).version
    assert describe_stacks(environ).startswith(f"built: quic-go {version}; not built: ")


def test_an_implementations_name_is_its_own() -> None:
    names = ("quic-go", "quic-go reno", "quic-iw32", "tcp-2008")
    written = [transport_text(name) for name in names]
    assert written == ["quic-go", "quic-go reno", "QUIC-iw32", "TCP-2008"]


def test_a_shipped_stack_is_planned_before_it_is_built_and_refused_before_it_runs() -> None:
    stack = find_stack("quic-go", {"HOME": "/nonexistent"})
    assert stack.program == "/nonexistent/.cache/netwarp/stacks-2/quic-go/role"
    missing = missing_program(stack.name, stack.program)
    assert missing is not None
    assert "netwarp stack build quic-go" in missing
    assert missing_program("wrong", str(WRONG / "role")) is None


@pytest.mark.skipif(shutil.which("go") is None, reason="there is no Go here")
@pytest.mark.parametrize("name", ["quic-go"])
def test_the_sources_of_a_stack_in_go_pass_their_own_tests(name: str) -> None:
    done = subprocess.run(
        ["go", "test", "./..."], cwd=SOURCES / name, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", shipped())
def test_what_a_stack_does_of_its_own_accord_is_in_the_table(name: str) -> None:
    stack = find_stack(name, {"HOME": "/nonexistent"})
    transport = {"congestion": stack.congestion[0]}
    rows = equal_treatment(study_of(stack.model_dump(mode="json"), transport=transport))
    told = {(row["setting"], row["transport"]): row for row in rows}
    declared = stack.behaviour
    assert set(declared) == {"HyStart", "ACK frequency", "UDP payload", "GSO"}
    quinns = TRANSPORTS["quic"].behaviour
    for setting, value in declared.items():
        if value == quinns[setting]:
            assert (setting, "other") not in told
            continue
        assert told[setting, "other"]["value"] == value
        assert told[setting, "quic"]["value"] == quinns[setting]
        assert told[setting, "other"]["reason"] or told[setting, "quic"]["reason"]


INTEROP = {"interop": str(Path(__file__).parent / "guest" / "interop" / "right.sh")}


def test_a_program_by_the_interop_runners_contract_is_told_nothing_of_the_transport() -> None:
    study = study_of(dict(INTEROP))
    _, planned = plan_study(study)
    stack = planned.job.only.transport.stack
    assert stack is not None
    assert (stack.name, stack.contract, stack.program) == (
        "right.sh",
        "interop",
        INTEROP["interop"],
    )
    again = study_from_mapping(study.raw)
    assert [cell.template for cell in again.cells] == [cell.template for cell in study.cells]
    own = [row for row in equal_treatment(study) if row["transport"] == "other"]
    told = {row["setting"]: row["value"] for row in own}
    assert told["congestion control"] == told["buffers"] == "its own"
    assert all(row["reason"] for row in own if row["value"] == "its own")


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"workload": {"kind": "page", "page": "web-80", "http": "3"}}, "right.sh carries bulk"),
        ({"workload": {"chunks": 3}}, "right.sh carries a content in one piece"),
        ({"workload": {"direction": "up"}}, "right.sh is a server of files"),
        ({"workload": {"transfers": 2}}, "right.sh makes the connections"),
        ({"transport": {"congestion": "cubic"}}, "contract does not tell right.sh any"),
        ({"transport": {"buffer": "1MiB"}}, "contract does not tell right.sh any"),
        ({"transport": {"initial_window": 10}}, "contract does not tell right.sh any"),
    ],
)
def test_what_the_contract_has_no_words_for_is_refused(tables: dict[str, Any], words: str) -> None:
    with pytest.raises(StudyError, match=words):
        study_of(dict(INTEROP), **tables)


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"interop": "./none-such"}, "is not a program"),
        ({"interop": "/bin/sh", "name": "Not A Name"}, "is no name of a stack"),
        ({"interop": "/bin/sh", "colour": "red"}, "with a name and a version"),
        ({"interop": "none-such"}, "no stack none-such is built here"),
    ],
)
def test_what_is_no_endpoint_is_refused(named: dict[str, str], words: str) -> None:
    with pytest.raises(StudyError, match=words):
        study_of(named)


def of_roles(name: str, **manifest: Any) -> Stack:
    return Stack.model_validate({**TABLE, "name": name, "program": f"/opt/{name}", **manifest})


def test_two_stacks_are_the_ends_of_a_run_each_with_its_own_default() -> None:
    client, server = of_roles("client", congestion=("cubic",)), of_roles("server")
    pair = paired(client=client, server=server).model_dump(mode="json")
    study = study_of(pair)
    _, planned = plan_study(study)
    transport = planned.job.only.transport
    assert transport.stack is not None
    assert transport.client is not None
    assert (transport.stack.program, transport.congestion) == ("/opt/server", "reno")
    assert (transport.client.stack.program, transport.client.congestion) == ("/opt/client", "cubic")
    assert [stack.name for stack in transport.stacks] == ["server", "client"]
    again = study_from_mapping(study.raw)
    assert [cell.template for cell in again.cells] == [cell.template for cell in study.cells]
    told = {row["setting"]: row for row in equal_treatment(study) if row["transport"] == "other"}
    assert told["congestion control"]["value"] == "reno; the client cubic"


@pytest.mark.parametrize(
    ("client", "tables", "words"),
    [
        ({"congestion": ("cubic",)}, {"transport": {"congestion": "bbr"}}, "no congestion control"),
        ({}, {"workload": {"chunks": 2}}, "carries a content in one piece"),
        ({"resume": ()}, {"transport": {"resume": "0rtt"}, "workload": {"transfers": 2}}, "resume"),
    ],
)
def test_a_pair_is_refused_what_one_end_lacks(
    client: dict[str, Any], tables: dict[str, Any], words: str
) -> None:
    server = of_roles("server", chunks=True, resume=("1rtt", "0rtt"))
    pair = paired(client=of_roles("client", **client), server=server)
    with pytest.raises(StudyError, match=words):
        study_of(pair.model_dump(mode="json"), **tables)


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"client": "none-such", "server": dict(INTEROP)}, "no stack none-such is built here"),
        ({"client": dict(INTEROP)}, "for each end"),
        ({"client": {"client": INTEROP, "server": INTEROP}, "server": INTEROP}, "two ends itself"),
        ({"client": "wrong_stack", "server": INTEROP}, "keeps the interop runner's contract"),
    ],
)
def test_two_that_are_no_pair_are_refused(
    monkeypatch: pytest.MonkeyPatch, named: Any, words: str
) -> None:
    monkeypatch.setenv(PATH_VARIABLE, str(WRONG.parent))
    with pytest.raises(StudyError, match=words):
        study_of(named)


def test_a_test_case_has_the_runners_files_and_is_told_to_both_programs() -> None:
    pair = {"client": dict(INTEROP), "server": dict(INTEROP)}
    transport = {"kind": "quic", "stack": pair}
    study = study_from_mapping(
        {"title": "t", "replicates": 1, "transport": transport, "workload": {"case": "keyupdate"}}
    )
    (planned,) = plan_study(study)
    bulk = planned.job.only.workload
    assert isinstance(bulk, Bulk)
    assert bulk.case is not None
    assert (bulk.case.client, bulk.case.server) == ("keyupdate", "transfer")
    assert bulk.content.size_bytes == sum(bulk.case.file_bytes) == 3 << 20


def test_a_test_case_is_for_programs_by_the_runners_contract() -> None:
    with pytest.raises(StudyError, match="for programs by its contract"):
        study_from_mapping(
            {"title": "t", "transport": {"kind": "quic"}, "workload": {"case": "transfer"}}
        )


def test_two_that_carry_nothing_in_common_are_no_pair() -> None:
    with pytest.raises(InputError, match="carry no workload that both know"):
        paired(client=of_roles("client", workloads=("rr",)), server=of_roles("server"))
