# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sweeps by threads of this process: resumed, grown, with bad cells, killed."""

import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars
import pytest
import tandem

SHORT = tandem.Workload("short").task("a", instance=2, loop=5, run=400, sleep=300)


def grid(**changes):
    options = dict(workloads=SHORT, machines=["hikey960", "smp-8"], schedulers=["fair", "tandem"], runs=6, batch=4)
    return tandem.Grid(**(options | changes))


def files(folder):
    return {path.name: path.read_bytes() for path in Path(folder).glob("*.parquet")}


def keys(swept):
    return swept.table["key"]


def test_a_sweep_is_a_row_for_each_run_with_the_numbers_of_a_comparison(tmp_path):
    swept = tandem.sweep(grid(), out=tmp_path)
    assert swept.runs == 24 and swept.found == 0 and len(swept.failed) == 0
    rows = polars.read_parquet(tmp_path / "*.parquet").sort("machine", "scheduler", "seed")
    runs = polars.DataFrame(tandem.compare(SHORT, ["hikey960", "smp-8"], ["fair", "tandem"], runs=6, alone=False).runs)
    runs = runs.sort("machine", "scheduler", "seed")
    assert rows.select("time_s", "energy_j", "switches", "governor").equals(runs.select("time_s", "energy_j", "switches", "governor"))
    assert rows["key"].n_unique() == 24
    about = polars.read_parquet_metadata(next(tmp_path.glob("*.parquet")))["tandem"]
    assert '"program_sha256"' in about and (tmp_path / "tandem.json").exists()


def test_nothing_is_done_twice_whatever_was_there(tmp_path):
    jobs = {1: tmp_path / "one", 2: tmp_path / "two"}
    for number, folder in jobs.items():
        tandem.sweep(grid(), out=folder, jobs=number)
    assert files(jobs[1]) == files(jobs[2])
    whole = files(jobs[1])
    gone, damaged = sorted(whole)[0], sorted(whole)[1]
    (jobs[1] / gone).unlink()
    (jobs[1] / damaged).write_bytes(whole[damaged][:100])
    again = tandem.sweep(grid(), out=jobs[1])
    assert again.found == again.runs - 6
    assert files(jobs[1]) == whole


def test_a_bit_that_has_changed_is_found_and_told(tmp_path):
    tandem.sweep(grid(), out=tmp_path)
    whole = files(tmp_path)
    name = sorted(whole)[0]
    for at in range(0, len(whole[name]), len(whole[name]) // 20):
        changed = bytearray(whole[name])
        changed[at] ^= 1 << at % 8
        (tmp_path / name).write_bytes(changed)
        with pytest.warns(RuntimeWarning, match=f"{name}: damaged since it was written"):
            again = tandem.sweep(grid(), out=tmp_path)
        assert again.found == again.runs - 4 and files(tmp_path) == whole
    # A part under another one's name is sound, and yet not that part.
    (tmp_path / name).write_bytes(whole[sorted(whole)[1]])
    with pytest.warns(RuntimeWarning, match=f"{name}: damaged"):
        tandem.sweep(grid(), out=tmp_path)
    assert files(tmp_path) == whole


def test_no_symbolic_link_in_a_folder_is_written_through(tmp_path):
    victim, folder = tmp_path / "victim", tmp_path / "out"
    victim.write_text("precious")
    folder.mkdir()
    (folder / ".lock").symlink_to(victim)
    with pytest.raises(OSError, match="lock: is a symbolic link, which is not followed"):
        tandem.sweep(grid(), out=folder)
    (folder / ".lock").unlink()
    os.mkfifo(folder / ".lock")
    with pytest.raises(OSError, match="lock"):
        tandem.sweep(grid(), out=folder)
    (folder / ".lock").unlink()
    (folder / f".tandem-{os.getpid()}-tandem.json.tmp").symlink_to(victim)
    assert tandem.sweep(grid(), out=folder).runs == 24
    assert victim.read_text() == "precious"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (folder / "earlier").symlink_to(elsewhere)
    with pytest.raises(OSError, match="earlier: is a symbolic link"):
        tandem.sweep(grid(machines=["rk3399"]), out=folder)
    assert not list(elsewhere.iterdir())


def test_a_grid_that_grows_runs_only_what_is_new(tmp_path):
    tandem.sweep(grid(), out=tmp_path)
    grown = tandem.sweep(grid(machines=["rk3399", "hikey960", "smp-8"], runs=7), out=tmp_path)
    assert (grown.runs, grown.found) == (42, 24)
    assert len(set(keys(grown))) == 42
    # What belongs to the earlier grid alone stands aside, and the folder has each run once.
    assert polars.read_parquet(tmp_path / "*.parquet").height == 42
    fresh = tandem.sweep(grid(machines=["rk3399", "hikey960", "smp-8"], runs=7), out=tmp_path / "fresh")
    assert files(tmp_path / "fresh") == files(tmp_path)
    assert tandem.sweep(grid(), out=tmp_path).found == 24


def test_a_bad_cell_says_which_and_the_others_run(tmp_path):
    broken = tmp_path / "broken.toml"
    broken.write_text("[cluster\n")
    bad = grid(machines=["hikey960", broken], schedulers=["fair", "./no.bpf.o", "fair+userspace=1MHz"], runs=2)
    swept = tandem.sweep(bad, out=tmp_path / "out")
    assert swept.runs == 12 and len(swept.failed) == 10
    errors = {(row["machine"], row["scheduler"], row["governor"]): row["error"] for row in swept.failed.to_dicts()}
    assert all("broken.toml:1:" in error for (machine, *_), error in errors.items() if machine == "broken")
    assert all("no.bpf.o" in error for (machine, scheduler, _), error in errors.items() if (machine, scheduler) == ("hikey960", "./no.bpf.o"))
    assert "1" in errors["hikey960", "fair", "userspace=1MHz"]
    good = [row for row in swept.table.to_dicts() if row["error"] is None]
    assert {(row["machine"], row["scheduler"]) for row in good} == {("hikey960", "fair")} and good[0]["time_s"] > 0


def test_a_stuck_cell_is_run_once(tmp_path):
    stuck = tandem.Workload("stuck").task("a", loop=1, wait={"ref": "never", "mutex": "m"})
    swept = tandem.sweep(grid(workloads=[SHORT, stuck], until={"time": 0.001}, runs=40, least_runs=2), out=tmp_path)
    failed = swept.failed.to_dicts()
    assert {row["workload"] for row in failed} == {"stuck"} and len(failed) == 2 * 4
    assert all("every thread waits" in row["error"] for row in failed)


def test_cells_stop_when_their_intervals_are_narrow_enough(tmp_path):
    adaptive = grid(until={"time": 0.02}, least_runs=3, runs=50)
    swept = tandem.sweep(adaptive, out=tmp_path / "one", jobs=1)
    counts = polars.DataFrame(swept).group_by("machine", "scheduler").agg(polars.len(), polars.col("time_s"))
    assert set(counts["len"]) <= {3, 6, 12, 24, 48, 50} and swept.runs < adaptive.most_runs
    tandem.sweep(adaptive, out=tmp_path / "two", jobs=2)
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert tandem.sweep(adaptive, out=tmp_path / "one").found == swept.runs


@pytest.mark.parametrize(
    "changes, words",
    [
        (dict(until={"tim": 0.1}), "did you mean `time`"),
        (dict(until={"time": 0}), "not above 0"),
        (dict(until={"time": 0.1}, least_runs=1), "one run has no interval"),
        (dict(runs=0), "runs"),
        (dict(hzz=100), "did you mean the kernel parameter `hz`"),
        (dict(parameters={"hzz": [1]}), "hz"),
        (dict(machines=["hikey960", "hikey960"]), "two of the machines"),
        (dict(schedulers=[]), "a scheduler"),
    ],
)
def test_a_mistake_that_is_of_no_cell_is_told_before_anything_runs(changes, words):
    with pytest.raises(tandem.InputError, match=words):
        grid(**changes)


# Seconds in which a process must come to its end: none takes so long, however busy the computer is.
PATIENCE = 600

# Once it has done 30 runs it waits for its input's end, so that it is not through before it is ended.
DRIVER = """
import sys, tandem
def told(done, of):
    print(done, flush=True)
    if done >= 30:
        sys.stdin.read()
work = tandem.Workload("work").task("a", instance=4, loop=400, run=400, sleep=300)
grid = tandem.Grid(work, ["hikey960", "smp-8"], ["fair", "tandem"], runs=30, batch=3)
swept = tandem.sweep(grid, out=sys.argv[1], progress=told)
print("found", swept.found, flush=True)
"""


def driver(folder, stdin=subprocess.DEVNULL):
    return subprocess.Popen([sys.executable, "-c", DRIVER, str(folder)], stdin=stdin, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT])
def test_a_sweep_that_was_ended_goes_on_where_it_was(tmp_path, by):
    first = driver(tmp_path / "out", subprocess.PIPE)
    while int(first.stdout.readline()) < 30:
        pass
    first.send_signal(by)
    assert first.wait(timeout=PATIENCE) != 0
    there = len(files(tmp_path / "out"))
    assert 10 <= there < 40
    second = driver(tmp_path / "out")
    said = second.communicate(timeout=PATIENCE)[0].splitlines()
    assert said[-1] == f"found {3 * there}"
    driver(tmp_path / "whole").communicate(timeout=PATIENCE)
    assert files(tmp_path / "out") == files(tmp_path / "whole")


HOLDER = """
import sys, tandem
work = tandem.Workload("work").task("a", instance=2, loop=5, run=400)
tandem.sweep(tandem.Grid(work, "smp-8", "fair", runs=2, batch=1), out=sys.argv[1], jobs=1, progress=lambda *_: print(flush=True) or sys.stdin.read())
"""


def test_two_sweeps_never_write_into_one_folder(tmp_path):
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        holder.stdout.readline()
        before = files(tmp_path)
        with pytest.raises(tandem.BusyError, match=f"process {holder.pid} on ") as refused:
            tandem.sweep(grid(), out=tmp_path)
        assert refused.value.process == holder.pid and refused.value.folder == str(tmp_path)
        assert files(tmp_path) == before and os.uname().nodename == refused.value.host
        copy = pickle.loads(pickle.dumps(refused.value))
        assert (str(copy), copy.since) == (str(refused.value), refused.value.since)
    finally:
        holder.kill()
        holder.communicate()
    # The lock went with its process, and one that is done or has failed keeps none.
    swept = tandem.sweep(grid(), out=tmp_path)
    assert swept.runs == 24

    def fail(*_):
        raise RuntimeError("once")

    with pytest.raises(RuntimeError) as kept:
        tandem.sweep(grid(), out=tmp_path, progress=fail)
    assert tandem.sweep(grid(), out=tmp_path).found == 24 and kept.value.__traceback__
