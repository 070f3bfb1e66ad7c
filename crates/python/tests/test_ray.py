# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sweeps on a Ray cluster of two local nodes, one of which is killed, and so is the driver."""

import os
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest
import tandem

# Seconds in which all must come that does: nothing takes so long, however busy the computer is.
PATIENCE = 600

# Nothing leaves this computer. And what Ray's processes wait for is not given up where it comes late, or for want of memory: that a
# process has ended they see by its connections.
os.environ |= {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_health_check_timeout_ms": f"{PATIENCE}000",
    "RAY_agent_register_timeout_ms": f"{PATIENCE}000",
    # A second passes between two of them.
    "RAY_raylet_client_num_connect_attempts": f"{PATIENCE}",
    "RAY_worker_register_timeout_seconds": f"{PATIENCE}",
    "RAY_gcs_rpc_server_connect_timeout_s": f"{PATIENCE}",
    "RAY_gcs_rpc_server_reconnect_timeout_s": f"{PATIENCE}",
    "RAY_gcs_server_port_wait_time_s": f"{PATIENCE}",
    "RAY_gcs_server_request_timeout_seconds": f"{PATIENCE}",
    "RAY_py_gcs_connect_timeout_s": f"{PATIENCE}",
    "RAY_raylet_start_wait_time_s": f"{PATIENCE}",
}
ray = pytest.importorskip("ray")
import ray._private.node  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402

# A node that has not come after 30 s of this clock is given up, which no setting changes.
ray._private.node.time = types.SimpleNamespace(**vars(time) | {"monotonic": lambda: 30 * time.monotonic() / PATIENCE})
QUIET = {"log_to_driver": False}
WORK = tandem.Workload("work").task("a", instance=4, loop=200, run=400, sleep=300)


def grid():
    return tandem.Grid(WORK, ["hikey960", "smp-8", "broken"], ["fair", "tandem"], runs=40, batch=4)


def files(folder):
    return {path.name: path.read_bytes() for path in Path(folder).glob("*.parquet")}


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    folder = tmp_path_factory.mktemp("local")
    tandem.sweep(grid(), out=folder)
    return files(folder)


class PatientCluster(Cluster):
    def _wait_for_node(self, node, timeout=PATIENCE):
        super()._wait_for_node(node, timeout)


@pytest.fixture(scope="module")
def cluster():
    cluster = PatientCluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def test_a_killed_node_costs_nothing_but_time(cluster, local, tmp_path):
    ray.init(address=cluster.address, **QUIET)
    victim = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes(PATIENCE)
    killed = []

    def kill(done, of):
        if done >= 40 and not killed:
            killed.append(done)
            cluster.remove_node(victim, allow_graceful=False)

    swept = tandem.sweep(grid(), engine="ray", out=tmp_path, progress=kill)
    ray.shutdown()
    assert killed and swept.runs == 240
    assert {row["machine"] for row in swept.failed.to_dicts()} == {"broken"}
    assert len(set(swept.table["key"])) == 240
    assert files(tmp_path) == local


# Once it has done 60 runs it waits for its input's end, so that it is not through before it is killed.
DRIVER = """
import sys
sys.path.insert(0, sys.argv[3])
from test_ray import QUIET, grid
import ray, tandem
def told(done, of):
    print(done, flush=True)
    if done >= 60:
        sys.stdin.read()
ray.init(address=sys.argv[2], **QUIET)
swept = tandem.sweep(grid(), engine="ray", out=sys.argv[1], progress=told)
print("found", swept.found, flush=True)
"""


def driver(folder, address, stdin=subprocess.DEVNULL):
    words = [sys.executable, "-c", DRIVER, str(folder), address, str(Path(__file__).parent)]
    return subprocess.Popen(words, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def test_a_killed_driver_is_started_again_and_goes_on(cluster, local, tmp_path):
    first = driver(tmp_path, cluster.address, subprocess.PIPE)
    while int(first.stdout.readline()) < 60:
        pass
    first.kill()
    first.wait()
    there = files(tmp_path)
    assert 0 < len(there) < len(local) and all(local[name] == bytes for name, bytes in there.items())
    said = driver(tmp_path, cluster.address).communicate(timeout=PATIENCE)[0].splitlines()
    runs = sum(1 for _ in there)
    # Ray itself may have a last word, of a machine that is busy.
    (found,) = (line for line in said if line.startswith("found "))
    assert 4 * runs <= int(found.split()[1]) < 240
    assert files(tmp_path) == local


def test_many_short_runs_on_ray_give_the_same_files(cluster, tmp_path):
    ray.init(address=cluster.address, **QUIET, ignore_reinit_error=True)
    tiny = tandem.Workload("tiny").task("a", loop=1, run=100)
    small = lambda runs: tandem.Grid(tiny, "smp-8", "fair", runs=runs, batch=500, quiet=True)
    tandem.sweep(small(500), engine="ray", out=tmp_path / "warm")

    def timed(engine, folder):
        begun = time.perf_counter()
        tandem.sweep(small(8000), engine=engine, out=tmp_path / folder, jobs=2 if engine == "ray" else 1)
        return time.perf_counter() - begun

    alone, on_ray = timed("local", "local"), timed("ray", "ray")
    overhead = (on_ray - alone) / 8000
    # Seen with `pytest -s`: how long it takes depends on what else runs here, and is asserted by nobody.
    print(f"a run on Ray costs {1e3 * overhead:.3f} ms more than in one thread ({1e3 * alone / 8000:.3f} ms)")
    assert files(tmp_path / "local") == files(tmp_path / "ray")
