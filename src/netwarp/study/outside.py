"""Reads the files and stacks that a study names: files of workloads, rate traces, stacks.

Afterwards a study does not need them any more: its tables alone give the same study. Tables that
were already read, such as those that a run directory keeps, are not changed.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from netwarp.errors import InputError, StudyError
from netwarp.fields import DIRECTIONS, KeyValueError
from netwarp.regular_files import UnreadableFileError, located, read_regular_file
from netwarp.stack_pairs import named_stack
from netwarp.study.sections.mahimahi import TraceError, parse_trace
from netwarp.study.sections.timeline import DEFAULT_STEP_NS
from netwarp.study.tables import Table, Written, plain
from netwarp.transports import TRANSPORTS
from netwarp.units import UnitError, parse_duration_ns
from netwarp.workloads import WORKLOADS, FileReader, section_of

Reader = Callable[[Written], object]
"""A function that returns the contents of a file, or the description of a stack, for its name. It
returns other values unchanged."""
MOST_TRACE_BYTES = 64 << 20
"""Maximum size of a trace file in bytes: room for ten million opportunities to send, an hour at 30
Mbit/s."""


def with_contents(study: Table, folder: Path | None) -> Table:
    """Return a study's tables in which the names of files and stacks are replaced by their contents
    and descriptions, in levels of factors, too.

    Args:
        study: the study's tables, factors flattened.
        folder: the folder in which relative names start; None leaves names of files unchanged, and
            looks for programs of stacks in the working directory.

    Raises:
        KeyValueError: a file cannot be read, or a stack is not built on this machine.
        StudyError: a trace file is invalid; the error names the file and the line.
    """
    for place, workload in _workloads(study):
        for key, usual in section_of(workload.text("kind")).relative_paths.items():
            if usual is not None and key not in workload:
                study = study.with_value(Written(usual, f"{place}.{key}"), *place.split("."), key)
    return _changed(
        study,
        lambda workload: _of_workload(workload, folder),
        lambda path: _of_path(path, folder),
        _of_stacks(folder),
    )


def refuse_contents(study: Table) -> None:
    """Refuse a study if it names a file, folder, stack or program, in whatever kind of workload.
    Nothing is opened.

    Args:
        study: the study's tables, factors flattened.

    Raises:
        KeyValueError: it names one.
    """

    def refused(written: Written) -> object:
        reason = "names files or programs of this machine, which are not taken from here"
        raise KeyValueError(written.place, plain(written.value), reason, "do it in a shell")

    def refusing(keys: Iterable[str]) -> Mapping[str, Reader]:
        return dict.fromkeys(keys, refused)

    of_workloads = [key for each in WORKLOADS.values() for key in each.section.relative_paths]
    _changed(
        study,
        lambda _: refusing(of_workloads),
        lambda path: refusing(_of_path(path, None)),
        refusing(_of_stacks(None)),
    )


def _changed(
    study: Table,
    of_workload: Callable[[Table], Mapping[str, Reader]],
    of_path: Callable[[Table], Mapping[str, Reader]],
    of_transport: Mapping[str, Reader],
) -> Table:
    """Return the study, in which the contents of files and stacks replace their names.

    Args:
        study: the study's tables.
        of_workload: returns the readers for the table of a workload.
        of_path: returns the readers for the table of a path, or of a link.
        of_transport: the readers for the tables of transports.
    """
    for place, workload in _workloads(study):
        varied = f"workload.{workload.text('name')}" if place != "workload" else place
        study = _read(study, place, varied, of_workload(workload))
        if varied != place:
            stack = {"stack": of_transport["stack"]}
            study = _read(study, f"{place}.transport", f"{varied}.transport", stack)
    study = _read(study, "path", "path", of_path(study.table("path")))
    for place, link in _tables(study, "link"):
        study = _read(study, place, f"link.{link.text('name')}", of_path(link))
    return _read(study, "transport", "transport", of_transport)


def _workloads(study: Table) -> list[tuple[str, Table]]:
    """Return the tables of a study's workloads with their keys."""
    found = study.find("workload").value
    alone = [("workload", found)] if isinstance(found, Table) else []
    return [*alone, *_tables(study, "workload")]


def _tables(study: Table, kind: str) -> list[tuple[str, Table]]:
    """Return the tables in a list of tables with their keys."""
    found = study.find(kind).value
    several = enumerate(found) if isinstance(found, list) else ()
    return [(f"{kind}.{index}", each) for index, each in several if isinstance(each, Table)]


def _read(study: Table, place: str, varied: str, readers: Mapping[str, Reader]) -> Table:
    """Return the study, in which contents replace the names of files and stacks in one section, and
    in levels of the factors that vary it.

    Args:
        study: the study's tables.
        place: dotted key of the section.
        varied: the prefix of the keys of these factors. A factor with the prefix itself as key
            varies the whole section, with tables as levels.
        readers: the readers, by dotted key of the section.
    """
    for key, read in readers.items():
        study = study.changed(read, *place.split("."), *key.split("."))

    def of_section(level: Written) -> object:
        if not isinstance(level.value, dict):
            return level.value
        table = Table.of(level.value, level.place)
        for key, read in readers.items():
            table = table.changed(read, *key.split("."))
        return table.plain()

    # A stack is chosen together with its transport, so its levels vary the whole section.
    is_transport = varied.rpartition(".")[2] == "transport"
    of_keys = {} if is_transport else {f"{varied}.{key}": read for key, read in readers.items()}
    of_factors: Mapping[str, Reader] = {**of_keys, varied: of_section}
    for name, levels in study.table("factors").items():
        if name in of_factors and isinstance(levels.value, list):
            each = [of_factors[name](Written(value, levels.place)) for value in levels.value]
            study = study.with_value(Written(each, levels.place), "factors", name)
    return study


def _of_workload(workload: Table, folder: Path | None) -> Mapping[str, Reader]:
    section = section_of(workload.text("kind"))
    return {
        key: _file_reader(section.file_readers.get(key), folder) for key in section.relative_paths
    }


def _file_reader(read: FileReader | None, folder: Path | None) -> Reader:
    def of_name(written: Written) -> object:
        path = _located(written, folder, "name a readable file")
        if path is None:
            return written.value
        try:
            return path if read is None else read(path)
        except UnreadableFileError as error:
            remedy = "name one that can be read"
            raise KeyValueError(written.place, path, error.reason, remedy) from None
        except KeyValueError as error:
            raise KeyValueError(written.place, path, error.reason, error.remedy) from None

    return of_name


def _located(written: Written, folder: Path | None, remedy: str) -> str | None:
    """Return the path of the file that a study names; None if the value is not a text."""
    if not isinstance(written.value, str):
        return None
    try:
        return located(written.value, folder)
    except UnreadableFileError as error:
        raise KeyValueError(written.place, written.value, error.reason, remedy) from None


def _of_path(path: Table, folder: Path | None) -> Mapping[str, Reader]:
    first_ns = _step_ns(path.find("trace", "step"), DEFAULT_STEP_NS)
    second_ns = _step_ns(path.find("second", "trace", "step"), first_ns)
    return {
        f"{prefix}trace.{direction}": _trace_reader(each_ns, folder)
        for prefix, each_ns in (("", first_ns), ("second.", second_ns))
        for direction in DIRECTIONS
    }


def _trace_reader(step_ns: int, folder: Path | None) -> Reader:
    """Return a function that reads a trace file and returns its rates as a table.

    Args:
        step_ns: longest time in ns for which a rate is constant.
        folder: the folder to which relative names belong; None leaves them relative.
    """

    def of_name(written: Written) -> object:
        name, remedy = written.value, "name a trace file"
        path = _located(written, folder, remedy)
        if path is None:
            return name
        try:
            content = read_regular_file(Path(path), MOST_TRACE_BYTES)
        except UnreadableFileError as error:
            raise KeyValueError(written.place, name, error.reason, remedy) from None
        try:
            trace = parse_trace(content.decode("utf-8", errors="replace"), step_ns, path)
        except TraceError as refused:
            raise StudyError(
                refused.reason, file=path, line=refused.line, remedy=refused.remedy
            ) from None
        rates_bit_s = list(trace.rates_bit_s)
        return {"label": name, "file": path, "step_ns": trace.step_ns, "rates_bit_s": rates_bit_s}

    return of_name


def _step_ns(written: Written, default_ns: int) -> int:
    """Return the step of a trace in ns, or the default. A value that is not a duration is refused
    later, with its key.
    """
    try:
        return parse_duration_ns(written.value) or default_ns
    except UnitError:
        return default_ns


def _of_stacks(folder: Path | None) -> Mapping[str, Reader]:
    def of_name(written: Written) -> object:
        named = plain(written.value)
        # A table that was replaced before has a manifest's keys.
        if isinstance(named, dict) and "program" in named:
            return named
        try:
            table = named_stack(named, folder or Path()).model_dump(mode="json")
        except InputError as error:
            raise KeyValueError(written.place, None, str(error)) from None
        return {key: value for key, value in table.items() if (key, value) != ("client", None)}

    return {"stack": of_name, **{f"{kind}.stack": of_name for kind in TRANSPORTS}}
