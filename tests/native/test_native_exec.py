"""`netwarp exec --backend native`: programs in real time, whose files are as safe as in a guest."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from native.conftest import AS_NOBODY
from netwarp.backends.native import NativeBackend
from netwarp.plan import plan_study
from netwarp.run_directory import JOB_FILE, RECORDS_FILE
from netwarp.study.exec import study_from_exec
from netwarp.wire import Program, Usage, read_records

NETWARP = Path(sys.executable).with_name("netwarp")
PYTHON = "/usr/bin/python3"
SERVE = f"exec {PYTHON} -m http.server 80"
FETCH = "import sys, urllib.request as r; print(len(r.urlopen(sys.argv[1]).read()))"


@pytest.fixture(scope="module", autouse=True)
def able_host() -> None:
    capabilities = NativeBackend().capabilities
    missing = capabilities.missing_path or capabilities.missing_programs
    if missing is not None:
        pytest.skip(missing)
    if not Path(PYTHON).exists():
        pytest.skip(f"there is no {PYTHON}")


def run_exec(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(NETWARP), "exec", "--backend", "native", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_client_fetches_from_a_server_in_real_time(tmp_path: Path) -> None:
    (tmp_path / "content").write_bytes(bytes(2_000_000))
    fetch = (PYTHON, "-c", FETCH, "http://server/content")
    done = run_exec(tmp_path, "--out", "told", "--server", SERVE, "--json", "--", *fetch)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["client"]["stdout"] == "2000000\n"
    assert told["metrics"]["wire_bytes_down"] > 2_000_000
    # An interpreter takes more than a millisecond to start, on any machine.
    assert told["metrics"]["cpu_client_s"] > 0.001
    assert "cpu_per_byte_client_ns" not in told["metrics"], "nobody knows what they exchanged"


def test_programs_see_files_and_leave_none(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("before")
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone" / "old").write_text("old")
    script = (
        "cat mine; echo after > mine; cat mine; rm -r gone; mkdir gone; ls gone;"
        f" for place in {tmp_path} /usr /tmp /dev/shm;"
        " do echo x > $place/new; cat $place/new; done;"
        " cat /etc/hosts | grep router; ls -A /tmp/home"
    )
    done = run_exec(tmp_path, "--server", SERVE, "--", "sh", "-ec", script)
    expected = "beforeafter\n" + 4 * "x\n" + "10.0.1.254 router\n"
    if os.geteuid() != 0:
        assert done.returncode != 0, "/usr is not the user's to write to"
        expected = "beforeafter\nx\n"
    assert done.stdout == expected, done.stderr
    assert (tmp_path / "mine").read_text() == "before"
    assert (tmp_path / "gone" / "old").read_text() == "old"
    assert not any(Path(place, "new").exists() for place in (tmp_path, "/usr", "/tmp", "/dev/shm"))


@pytest.mark.parametrize(
    "attempt",
    [
        "echo 1 > /proc/sys/vm/drop_caches",
        "mount -t tmpfs none /mnt",
        "umount /usr",
        "mknod /tmp/disk b 8 0",
        "touch /new",
    ],
)
def test_not_even_root_gets_past_the_layers(tmp_path: Path, attempt: str) -> None:
    done = run_exec(tmp_path, "--server", SERVE, "--", "sh", "-c", f"{attempt} && echo done")
    assert done.stdout == ""
    assert done.returncode != 0
    assert not Path("/new").exists()


def test_what_programs_write_is_kept_when_it_is_asked_for(tmp_path: Path) -> None:
    script = "echo {run} > mine; echo x > /tmp/new"
    done = run_exec(
        tmp_path, "--keep", "--out", "kept", "--server", SERVE, "--", "sh", "-ec", script
    )
    assert done.returncode == 0, done.stderr
    written = tmp_path / "kept" / "runs" / "c000-r00" / "written" / "client"
    files = {path.relative_to(written) for path in written.rglob("*") if path.is_file()}
    assert files == {tmp_path.relative_to("/") / "mine", Path("tmp/new")}


def test_programs_speak_for_no_role(tmp_path: Path) -> None:
    """They have standard input, output and error; the fourth is the directory that is listed."""
    done = run_exec(tmp_path, "--server", SERVE, "--", "ls", "/proc/self/fd")
    assert done.stdout.split() == ["0", "1", "2", "3"], done.stderr


@pytest.mark.parametrize("place", ["/tmp", "/run", "/dev/shm"])
def test_files_have_one_bound_wherever_they_are(tmp_path: Path, place: str) -> None:
    fill = f"head -c 90000000 /dev/zero > {place}/large"
    done = run_exec(tmp_path, "--memory", "128MiB", "--server", SERVE, "--", "sh", "-c", fill)
    assert "No space left on device" in done.stderr
    assert done.returncode != 0


def test_what_a_program_leaves_behind_ends_with_the_run(tmp_path: Path) -> None:
    mark = f"netwarp-{os.getpid()}"
    client = f"exec -a {mark} sleep 1000 & echo done"
    done = run_exec(tmp_path, "--server", SERVE, "--", "bash", "-c", client)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not any(mark.encode() in command for command in commands)


def test_ctrl_c_ends_the_programs_and_the_run(tmp_path: Path) -> None:
    mark = f"netwarp-interrupted-{os.getpid()}"
    client = f"echo began; exec -a {mark} sleep 1000"
    command = [str(NETWARP), "exec", "--backend", "native", "--server", SERVE, "--", "bash", "-c"]
    with subprocess.Popen(
        [*command, client], cwd=tmp_path, stdout=subprocess.PIPE, start_new_session=True
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"began\n"
        os.killpg(running.pid, signal.SIGINT)
        try:
            status = running.wait(timeout=60)
        finally:
            running.kill()
        assert status == 130
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not any(mark.encode() in command for command in commands)


def test_nobody_needs_to_be_root(nobodys: Path) -> None:
    fetch = (PYTHON, "-c", FETCH, "http://server/job.json")
    study = study_from_exec(fetch, server=SERVE, folder=nobodys)
    (run,) = plan_study(study)
    (nobodys / JOB_FILE).write_text(run.job_json)
    command = [*AS_NOBODY, str(nobodys / "endpoint"), "native", str(nobodys)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={})
    assert done.returncode == 0, done.stderr
    records = read_records(nobodys / RECORDS_FILE)
    printed = {each.side: each.stdout for each in records if isinstance(each, Program)}
    assert printed["client"] == f"{(nobodys / JOB_FILE).stat().st_size}\n"
    assert {each.side for each in records if isinstance(each, Usage)} == {"client", "server"}


@pytest.mark.parametrize("below", [".", "mine/deep"])
def test_nobody_writes_in_a_folder_of_theirs_below_somebody_elses(
    nobodys: Path, below: str
) -> None:
    """Writing there makes the folders above it in the layer first, which others own."""
    outer = Path(tempfile.mkdtemp(prefix="netwarp-outer-", dir="/var/lib"))
    folder = outer / "data" / "users" / below
    try:
        folder.mkdir(parents=True)
        for each in (outer, outer / "data", outer / "data" / "users"):
            each.chmod(0o755)
        for each in (folder, *folder.parents):
            if each.is_relative_to(outer / "data" / "users"):
                os.chown(each, 65534, 65534)
        write = ("sh", "-c", "echo written > new && cat new; ls -a ..; ls ../../../..")
        (run,) = plan_study(study_from_exec(write, server=SERVE, folder=folder))
        (nobodys / JOB_FILE).write_text(run.job_json)
        command = [*AS_NOBODY, str(nobodys / "endpoint"), "native", str(nobodys)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={})
        assert done.returncode == 0, done.stderr
        records = read_records(nobodys / RECORDS_FILE)
        printed = {each.side: each.stdout for each in records if isinstance(each, Program)}
        assert printed["client"].startswith("written\n")
        assert not list(folder.iterdir())
    finally:
        shutil.rmtree(outer)
