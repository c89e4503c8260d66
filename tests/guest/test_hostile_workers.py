"""Workers of a Dask cluster that answer with what would have to be unpickled: refused, unread."""

from __future__ import annotations

from pathlib import Path

import pytest

import netwarp
from guest.dask_cluster import Cluster, study

pytest.importorskip("distributed")

# Answers each batch with a pickle that would create a file where it is unpickled.
HOSTILE = """
import functools, pathlib, pickle
from distributed.protocol.serialize import Serialized
from netwarp.execution.cluster import worker

class Evil:
    def __reduce__(self):
        return pathlib.Path.touch, (pathlib.Path({owned!r}),)

HEADERS = {{
    "pickle": {{"serializer": "pickle", "writeable": (), "num-sub-frames": 1}},
    "header": {{"serializer": "dask", "type-serialized": pickle.dumps(Evil()), "sub-header": {{}}}},
}}

@functools.wraps(worker.run_here)
def hostile(*_):
    return Serialized(HEADERS[{what!r}], [pickle.dumps(Evil())])

def dask_setup(_):
    worker.run_here = hostile
"""


@pytest.mark.parametrize("what", ["pickle", "header"])
def test_what_would_have_to_be_unpickled_is_refused_unread(
    cluster: Cluster, tmp_path: Path, what: str
) -> None:
    owned = _hostile(cluster, tmp_path, what)
    run = netwarp.run(study(1), executor=f"dask://{cluster.address}", out=tmp_path / "out")
    assert {failed.run for failed in run.failed} == {"c000-r00", "c001-r00"}
    assert all("the worker's answer cannot be read" in str(each.reason) for each in run.failed)
    assert not owned.exists()


def _hostile(cluster: Cluster, place: Path, what: str) -> Path:
    """Add a worker that answers so, and return what exists once its answer is unpickled."""
    owned = place / "owned"
    preload = place / "hostile.py"
    preload.write_text(HOSTILE.format(owned=str(owned), what=what))
    cluster.add_worker("--preload", str(preload))
    return owned
