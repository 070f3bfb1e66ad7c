# SPDX-License-Identifier: MIT OR Apache-2.0
"""The manual of `import tandem`.

Machines and workloads, simulated with time and energy under Linux's own scheduler, Tandem's, or any sched_ext object. The same
inputs and the same seed give the same bytes, here and in the command `tandem`, whose names these are.

    >>> import tandem
    >>> report = tandem.simulate("hikey960", "forkjoin", scheduler="fair+powersave")
    >>> print(f"{report.time_s:.1f} s, {report.energy_j.total:.1f} J")
    4.8 s, 5.0 J

Units are in names: `_s` seconds, `_ns` nanoseconds, `_j` joules, `_w` watts, `_khz` kilohertz. What was not measured is `None`, never 0.

Simulating holds no lock of Python's (the GIL), so that threads simulate at once. Ctrl-C ends what is under way.

Exceptions:
    InputError         a mistake in a file, a name or an option, with its place
    StuckError         the simulation cannot end, and no time limit ends it
    EjectedError       the scheduler refused a thread, so that there are no results
    OutOfMemoryError   the simulation wants more memory than TANDEM_MEMORY allows
    BusyError          another sweep writes into the folder
All are a TandemError. A scheduler that was ejected in a run is no exception: the run goes on under fair, and `Report.ejected` says why.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, final

__version__: str

__all__ = [
    "BusyError",
    "Comparison",
    "EjectedError",
    "Energy",
    "Grid",
    "InputError",
    "Machine",
    "OutOfMemoryError",
    "Report",
    "StuckError",
    "Swept",
    "Table",
    "TandemError",
    "Trace",
    "Workload",
    "__version__",
    "compare",
    "generate",
    "machine",
    "machines",
    "simulate",
    "sweep",
    "workload",
    "workloads",
]

class TandemError(Exception):
    """What a run can fail by."""

class InputError(TandemError, ValueError):
    """A mistake in a file, a name or an option. The text is the command's: place, line, what was expected, the nearest name.

    >>> try:
    ...     tandem.machine("hikey96")
    ... except tandem.InputError as error:
    ...     print(error.help.split("`")[1])
    hikey960
    """

    file: str | None
    """The file; `None` where the mistake is in no file, or in one that is not there."""
    line: int | None
    """Line of the mistake, from 1."""
    column: int | None
    """Column of the mistake, from 1, in characters."""
    help: str | None
    """What was expected, or the nearest valid name."""
    def __init__(
        self,
        text: str,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        help: str | None = None,
    ) -> None: ...

class StuckError(TandemError):
    """The simulation cannot end; the text says which thread waits for what."""

class EjectedError(TandemError):
    """The scheduler refused a thread, so that there are no results."""

class BusyError(TandemError):
    """Another sweep writes into the folder, in this process or elsewhere; the text says which. Nothing was changed."""

    folder: str | None
    """The folder."""
    process: int | None
    """The number of the process that has it."""
    host: str | None
    """The computer that the process is on."""
    since: int | None
    """When it began, in seconds since 1970."""
    def __init__(
        self,
        text: str,
        folder: str | None = None,
        process: int | None = None,
        host: str | None = None,
        since: int | None = None,
    ) -> None: ...

class OutOfMemoryError(TandemError, MemoryError):
    """The simulation wants more memory than TANDEM_MEMORY allows (half of this computer's unless that is set)."""

@final
class Table:
    """Rows and columns. Libraries take the columns without copying them, by the Arrow PyCapsule interface:
    `polars.DataFrame(table)`, `pyarrow.table(table)`, `duckdb.from_arrow(pyarrow.table(table))`.

    >>> cpus = tandem.machine("hikey960").cpus
    >>> len(cpus), cpus["capacity"][0], cpus.column_names[0]
    (8, 462, 'cpu')
    """

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
    def write_parquet(self, path: str | PathLike[str]) -> None:
        """Writes a Parquet file, whole or not at all."""
    def __len__(self) -> int: ...
    def __getitem__(self, name: str, /) -> list[Any]:
        """The values of a column; `KeyError` names the nearest column."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any: ...
    def __arrow_c_schema__(self) -> Any: ...
    def _repr_html_(self) -> str: ...

@final
class Machine:
    """A machine: what CPUs it has, how fast they are and what they draw."""

    @property
    def name(self) -> str:
        """What the machine is called, with its configuration."""
    @property
    def text(self) -> str:
        """The description (TOML). docs/machines.md has every key."""
    @property
    def cpus(self) -> Table:
        """A row for each CPU: `cpu`, `cluster`, `core_type`, `capacity` (up to 1024, as the kernel has it), `node`."""
    def with_(self, values: Mapping[str, Any], *, name: str | None = None) -> Machine:
        """The same machine with other values, each at its way in the description. `*` is every key, `[*]` every entry of a list.
        The name says what was changed, unless another one is given.

        >>> slow = tandem.machine("hikey960").with_({"memory.dram.gb_per_s": 6.0}, name="slow-memory")
        >>> slow.name
        'slow-memory'
        """
    @staticmethod
    def parse(text: str, name: str = "machine") -> Machine:
        """Reads the text of a description, as of a file called NAME.toml."""

@final
class Workload:
    """A workload: what threads do. One that begins with `Workload()` is made of tasks with the keys of rt-app, in their order;
    docs/workloads.md says which there are. Times of rt-app are in microseconds.

    >>> blink = tandem.Workload("blink").task("led", instance=2, loop=10, run=2000, sleep=8000)
    >>> tandem.simulate("hikey960", blink, quiet=True).apps["threads"]
    [2]
    """

    def __new__(cls, name: str = "workload") -> Workload: ...
    def task(self, name: str, /, **keys: Any) -> Workload:
        """The same workload with one more task. Phases are a dictionary: `phases={"a": {"loop": 1, "run": 500}}`."""
    def set(self, **keys: Any) -> Workload:
        """The same workload with these keys of rt-app's `global`, such as `duration=2` (seconds)."""
    @staticmethod
    def parse(text: str, name: str = "workload") -> Workload:
        """Reads the text of an rt-app file, as of a file called NAME.json."""
    @property
    def name(self) -> str:
        """What the workload is called."""
    @property
    def text(self) -> str:
        """The rt-app file (JSON)."""
    @property
    def warnings(self) -> list[str]:
        """What the reader warns about."""

@final
class Energy:
    """Energy by part, in joules; `total` is the sum of the others."""

    @property
    def total(self) -> float: ...
    @property
    def cores(self) -> float: ...
    @property
    def uncore(self) -> float: ...
    @property
    def memory(self) -> float: ...
    @property
    def platform(self) -> float: ...
    @property
    def supply(self) -> float: ...

@final
class Trace:
    """What happened in a run."""

    @property
    def slices(self) -> Table:
        """Threads on CPUs: `start_ns`, `end_ns`, `cpu`, `task`, `app`, and how the thread `left` (runnable, sleeping, ended)."""
    @property
    def clocks(self) -> Table:
        """Changes of clocks: `at_ns`, `cpu`, `khz`."""
    @property
    def power(self) -> Table:
        """Changes of power: `at_ns`, `cpu` or `package`, `watts`."""
    @property
    def waits(self) -> Table:
        """What threads waited for: `start_ns`, `end_ns`, `task`, `app`, `on` (`cpu`, `timer`, `mutex m`, …)."""

@final
class Report:
    """The report of a run. docs/reports.md has every field of `to_dict()`."""

    @property
    def workload(self) -> str:
        """Name of the workload."""
    @property
    def machine(self) -> str:
        """Name of the machine, with its configuration."""
    @property
    def scheduler(self) -> str:
        """Name of the scheduler, with its settings."""
    @property
    def governor(self) -> str:
        """Name of the governor that ran."""
    @property
    def seed(self) -> int:
        """Seed of all random streams."""
    @property
    def time_s(self) -> float:
        """Simulated seconds to the end of the last application thread, or to the time limit."""
    @property
    def time_limited(self) -> bool:
        """Whether a time limit ended the run; then `time_s` is no measure of speed."""
    @property
    def energy_j(self) -> Energy:
        """Energy by part, in joules."""
    @property
    def power_w(self) -> float:
        """Mean power in watts."""
    @property
    def edp_js(self) -> float | None:
        """Energy × time in joule-seconds; `None` where a time limit ended the run."""
    @property
    def ed2p_js2(self) -> float | None:
        """Energy × time² in joule-seconds²; `None` where a time limit ended the run."""
    @property
    def throughput(self) -> float:
        """Work per second of run: seconds of work on the reference CPU per second."""
    @property
    def idle_share(self) -> float:
        """Share of the online CPUs' time spent idle, 0 to 1."""
    @property
    def switches(self) -> int:
        """Context switches, to and from idle included."""
    @property
    def migrations(self) -> int:
        """Times a thread moved to another CPU."""
    @property
    def events(self) -> int:
        """Processed entries of the event queue."""
    @property
    def wall_s(self) -> float | None:
        """Real seconds that the simulation took."""
    @property
    def warnings(self) -> list[str]:
        """What the simulation could not do as asked."""
    @property
    def ejected(self) -> str | None:
        """Why the scheduler was ejected, if it was: the run then went on under fair."""
    @property
    def sched_ext(self) -> dict[str, Any] | None:
        """What a loaded sched_ext scheduler did; `None` under Linux's own."""
    @property
    def apps(self) -> Table:
        """A row for each application: time, work, CPU time, threads, and how late they were."""
    @property
    def tasks(self) -> Table:
        """A row for each thread, in order of creation."""
    @property
    def cpus(self) -> Table:
        """A row for each CPU: `cpu`, `online`, `busy_s`, `energy_j`."""
    @property
    def freq_residency(self) -> Table:
        """Seconds by CPU and clock: `cpu`, `khz`, `time_s`."""
    @property
    def idle_residency(self) -> Table:
        """Seconds by CPU and idle state: `cpu`, `state`, `time_s`."""
    @property
    def trace(self) -> Trace | None:
        """What happened, if `simulate(trace=True)` asked for it."""
    def to_json(self) -> str:
        """What `tandem simulate --json` prints, without `produced_by` and `wall_s`."""
    def to_dict(self) -> dict[str, Any]:
        """The same as dictionaries and lists."""

@final
class Comparison:
    """Schedulers and governors compared. It is a table itself: `polars.DataFrame(comparison)`."""

    @property
    def table(self) -> Table:
        """A row for each workload, machine, scheduler and metric that was measured: the `mean` and the `half_width` of its 95 %
        confidence interval, the `ratio` to the first scheduler with its half width, and whether that interval is `paired`: of runs
        with the same seed."""
    @property
    def runs(self) -> Table:
        """A row for each run, as `tandem compare --csv` has them."""
    @property
    def means(self) -> Table:
        """For each scheduler but the first, and each metric: the geometric mean of the ratios over all cells, and the worst cell."""
    @property
    def ejected(self) -> int:
        """How many of the runs a sched_ext scheduler did not see the end of."""
    def to_json(self) -> str:
        """What `tandem compare --json` prints, without `produced_by`."""
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any: ...
    def _repr_html_(self) -> str: ...

@final
class Grid:
    """The runs of a sweep: every machine, workload and scheduler, with each combination of the values of `parameters`, and so many
    seeds each. Arguments are those of `compare`, and:

    until       stops a cell once the half width of the 95 % confidence interval of a metric's mean, over that mean, is at most
                so much: `until={"time": 0.01}`; of several metrics all must be. Names are those of `tandem compare --metric`
    least_runs  runs of a cell after which that is looked at first, then after twice as many, and so on up to `runs`
    batch       runs of a part, about: what is handed to a worker, and is a file

    What is wrong with one cell stands in its rows' column `error`; the others run. A mistake that is of no cell (a setting, a metric's
    name) is an InputError here.

    >>> grid = tandem.Grid("forkjoin", ["hikey960", "rk3399"], ["fair", "tandem"], runs=3, parameters={"hz": [250, 1000]})
    >>> grid.cells, grid.most_runs
    (8, 24)
    """

    def __new__(
        cls,
        workloads: Workload | str | PathLike[str] | Sequence[Workload | str | PathLike[str]],
        machines: Machine | str | PathLike[str] | Sequence[Machine | str | PathLike[str]],
        schedulers: str | Sequence[str],
        *,
        runs: int = 10,
        seed: int = 0,
        until: Mapping[str, float] | None = None,
        least_runs: int = 5,
        parameters: Mapping[str, Iterable[str | float | bool]] | None = None,
        duration: float | str | None = None,
        kernel: str | None = None,
        hotplug: Sequence[str] = [],
        quiet: bool = False,
        batch: int = 500,
        **settings: str | float | bool,
    ) -> Grid: ...
    @property
    def cells(self) -> int:
        """Combinations of machine, workload, scheduler and parameters."""
    @property
    def most_runs(self) -> int:
        """The most runs that there can be."""
    @property
    def column_names(self) -> list[str]:
        """The names of the columns of the rows."""
    def to_bytes(self) -> bytes:
        """The grid as data, with the contents of all files that it names: other computers need none of them."""
    @staticmethod
    def from_bytes(bytes: bytes) -> Grid:
        """The grid that `to_bytes` gave."""
    def run(self, order: str, stop: Any = None) -> bytes:
        """What workers do; `sweep` calls it."""

class Swept:
    """What a sweep has in its folder. It is a table itself, of all rows."""

    folder: str
    """The folder."""
    runs: int
    """How many runs there are."""
    found: int
    """How many of them were there before."""
    failed: Table
    """The rows of runs that have no report; `error` says why."""
    def __init__(self, progress: Any, folder: str) -> None: ...
    @property
    def table(self) -> Table:
        """A row for each run: what was run, the metrics with their units, `error`, and `key`, by which the run is known."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any: ...

def machine(spec: str | PathLike[str]) -> Machine:
    """Reads a machine: a bundled name (`machines()` has all) or a TOML file, with `:CONFIGURATION` behind it if wanted.

    >>> tandem.machine("opteron-8350:half-half").name
    'opteron-8350:half-half'
    """

def machines() -> list[str]:
    """The names of the bundled machines."""

def workload(spec: str | PathLike[str]) -> Workload:
    """Reads a workload: a bundled name (`workloads()` has all), or an rt-app JSON file."""

def workloads() -> list[str]:
    """The names of the bundled workloads."""

def generate(generator: str, **options: Any) -> Workload:
    """A workload of a generator. The options are those of `tandem workload GENERATOR --help`; lists are lists.

    >>> tandem.generate("mixes", aluadd=3, stream=1).name
    'mixes'
    """

def simulate(
    machine: Machine | str | PathLike[str],
    workload: Workload | str | PathLike[str],
    *,
    scheduler: str = "fair",
    governor: str | None = None,
    seed: int = 0,
    duration: float | str | None = None,
    kernel: str | None = None,
    hotplug: Sequence[str] = [],
    quiet: bool = False,
    trace: bool = False,
    **settings: str | float | bool,
) -> Report:
    """Runs a workload on a machine.

    scheduler  `fair`, Linux's own; `tandem`, `single` or `o1`, with settings behind it (`tandem,sorted=true`); the path of a sched_ext object.
               A governor may stand behind it: `fair+schedutil`
    governor   chooses clocks; by default what the machine's own Linux runs with
    seed       of all random streams: the same seed gives the same run
    duration   ends the run after so much simulated time: seconds, or a text such as `"500ms"`
    kernel     whose rules hold: `"6.12"`, `"6.18"` or `"7.1"`
    hotplug    CPUs that come and go: `["2s:3=off", "3s:3=on"]`
    quiet      leaves out what every system does beside its workload: interrupts, kernel workers, late timers
    trace      records what happens: `Report.trace`
    settings   kernel parameters, and settings of the scheduler, by name

    >>> tandem.simulate("hikey960", "pipeline", scheduler="tandem", hz=1000, duration="200ms").time_s
    0.2
    """

def compare(
    workloads: Workload | str | PathLike[str] | Sequence[Workload | str | PathLike[str]],
    machines: Machine | str | PathLike[str] | Sequence[Machine | str | PathLike[str]],
    schedulers: str | Sequence[str],
    *,
    runs: int = 10,
    seed: int = 0,
    parameters: Mapping[str, Iterable[str | float | bool]] | None = None,
    alone: bool = True,
    duration: float | str | None = None,
    kernel: str | None = None,
    hotplug: Sequence[str] = [],
    quiet: bool = False,
    jobs: int | None = None,
    store: str | PathLike[str] | None = None,
    **settings: str | float | bool,
) -> Comparison:
    """Runs each scheduler with the same seeds on each machine and workload, on all cores, and says what is more than chance.

    runs        per scheduler, each with a seed of its own, from `seed` on
    parameters  settings that are varied, each combination of their values: `{"hz": [250, 1000]}`
    alone       whether applications run alone, too: without that, fairness is not measured
    jobs        simulations at a time; by default as many as there are cores
    store       a folder that keeps the reports of finished runs, so that nothing is run twice

    The other options are those of `simulate`.

    >>> table = tandem.compare("forkjoin", "hikey960", ["fair+performance", "fair+powersave"], runs=3)
    >>> [row["ratio"] > 2 for row in table.table.to_dicts() if row["metric"] == "time_s"]
    [False, True]
    """

def sweep(
    grid: Grid | Mapping[str, Any],
    engine: Literal["local", "ray"] = "local",
    out: str | PathLike[str] = "results/",
    *,
    jobs: int | None = None,
    retries: int = 3,
    progress: Callable[[int, int], None] | None = None,
) -> Swept:
    """Runs a grid. `out` becomes a Parquet data set, one row per run: `polars.read_parquet("results/*.parquet")`.

    Each part is a file once it is done. The same call goes on where an earlier one ended, however it ended; a grid that grew runs
    only what is new. The files are the same to the byte whoever did them. While it runs the folder is this sweep's: another one is a
    `BusyError`. docs/cluster.md says how large sweeps are laid out.

    engine    `local`: threads of this process; `ray`: the cluster that this process is connected to, or that RAY_ADDRESS names, or
              one of this computer
    jobs      parts at a time; by default as many as there are cores, or twice the cluster's
    retries   how often a part is tried again that a lost node took
    progress  is called with the runs that are done, and the most that there can be

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     swept = tandem.sweep(dict(workloads="forkjoin", machines="hikey960", schedulers=["fair", "o1"], runs=2), out=folder)
    ...     print(swept.runs, swept.table["scheduler"])
    4 ['fair', 'fair', 'o1', 'o1']
    """
