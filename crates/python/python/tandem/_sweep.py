# SPDX-License-Identifier: MIT OR Apache-2.0
"""Who does the parts of a sweep: threads of this process, or Ray. Which parts there are, and what is in them, the library says."""

import functools
import hashlib
import os
import sys
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

from ._tandem import Grid, Progress, Stop


class Swept:
    """What a sweep has in its folder."""

    def __init__(self, progress, folder):
        self._progress = progress
        self.folder = folder
        self.runs = progress.done
        self.found = progress.found
        self.failed = progress.failed

    @property
    def table(self):
        """A row for each run."""
        return self._progress.table()

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)

    def __repr__(self):
        failed = f", {len(self.failed)} of them failed" if len(self.failed) else ""
        return f"<tandem.Swept {self.folder}: {self.runs} runs ({self.found} were there before){failed}>"


def sweep(grid, engine="local", out="results/", *, jobs=None, retries=3, progress=None):
    """Run a grid; finished parts are files in `out`, and are not done again."""
    if not isinstance(grid, Grid):
        grid = Grid(**grid)
    if engine not in _ENGINES:
        raise ValueError(f"engine {engine!r}: one of {', '.join(map(repr, _ENGINES))} is expected")
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs: {jobs} is not above 0")
    state = Progress(grid, os.fspath(out))
    try:
        with _Told(progress, grid) as told:
            told(state)
            _ENGINES[engine](grid, state, told, jobs, retries)
        state.end()
    finally:
        state.release()
    return Swept(state, os.fspath(out))


class _Told:
    """Tells how far a sweep is: a function, or who watches standard error."""

    def __init__(self, function, grid):
        self.function, self.of, self.last = function, grid.most_runs, 0.0
        self.shows = function is None and sys.stderr.isatty()

    def __enter__(self):
        return self

    def __call__(self, state):
        if self.function is not None:
            self.function(state.done, self.of)
        elif self.shows and time.monotonic() - self.last > 0.1:
            self.last = time.monotonic()
            print(f"\r{state.done} of at most {self.of} runs", end="", file=sys.stderr, flush=True)

    def __exit__(self, *_):
        if self.shows:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _local(grid, state, told, jobs, retries):
    """Threads of this process: simulating holds no lock of Python's."""
    jobs = jobs or len(os.sched_getaffinity(0))
    stop, pending = Stop(), {}
    with ThreadPoolExecutor(jobs) as pool:
        try:
            while True:
                while len(pending) < 2 * jobs and (part := state.next()) is not None:
                    pending[pool.submit(grid.run, part.order, stop)] = part
                if not pending:
                    return
                for future in wait(pending, return_when=FIRST_COMPLETED).done:
                    part = pending.pop(future)
                    state.finished(part, future.result())
                told(state)
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


@functools.lru_cache(maxsize=2)
def _opened(data):
    return Grid.from_bytes(data.bytes)


class _Data:
    """A grid as data, which is known by its digest."""

    def __init__(self, bytes):
        self.bytes, self.digest = bytes, hashlib.sha256(bytes).digest()

    def __eq__(self, other):
        return self.digest == other.digest

    def __hash__(self):
        return hash(self.digest)


def _do(data, order):
    """What a worker of Ray does."""
    return _opened(data).run(order)


def _ray(grid, state, told, jobs, retries):
    """Tasks of a Ray cluster: the one that this process is connected to, that RAY_ADDRESS names, or one of this computer."""
    import ray
    from ray.exceptions import RayTaskError, RayError

    if not ray.is_initialized():
        ray.init()
    task = ray.remote(num_cpus=1, max_retries=retries)(_do)
    data, pending, lost = ray.put(_Data(grid.to_bytes())), {}, {}
    again = []
    try:
        while True:
            most = jobs or 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
            while len(pending) < most and (part := again.pop() if again else state.next()) is not None:
                pending[task.remote(data, part.order)] = part
            if not pending:
                return
            for reference in ray.wait(list(pending))[0]:
                part = pending.pop(reference)
                try:
                    bytes = ray.get(reference)
                except RayTaskError as error:
                    raise error.cause or error from None
                except RayError:
                    # A node, or a worker, went more often than Ray tries by itself.
                    lost[part.name] = lost.get(part.name, 0) + 1
                    if lost[part.name] > retries:
                        raise
                    again.append(part)
                else:
                    state.finished(part, bytes)
            told(state)
    except BaseException:
        for reference in pending:
            ray.cancel(reference, force=True)
        raise


_ENGINES = {"local": _local, "ray": _ray}
