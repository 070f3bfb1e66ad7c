# SPDX-License-Identifier: MIT OR Apache-2.0
"""One run: the same numbers and the same mistakes as the command's, Ctrl-C, threads."""

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
import tandem

COMMAND = os.environ.get("TANDEM_COMMAND") or shutil.which("tandem")
needs_command = pytest.mark.skipif(COMMAND is None, reason="TANDEM_COMMAND names no command to compare with")


def command(*words):
    return subprocess.run([COMMAND, *words], capture_output=True, text=True)


@needs_command
@pytest.mark.parametrize("scheduler", ["fair", "fair+powersave", "tandem", "tandem,sorted=true", "single", "o1"])
def test_a_report_is_the_commands_to_the_digit(scheduler):
    words = ["simulate", "forkjoin", "-m", "hikey960", "-s", scheduler, "--seed", "3", "--set", "hz=1000"]
    expected = json.loads(command(*words, "--json", "--reproducible").stdout)
    del expected["produced_by"]
    report = tandem.simulate("hikey960", "forkjoin", scheduler=scheduler, seed=3, hz=1000)
    assert report.to_dict() == expected
    assert (report.time_s, report.energy_j.total) == (expected["time_s"], expected["energy_j"]["total"])


@needs_command
def test_a_comparison_is_the_commands_to_the_digit():
    words = ["compare", "forkjoin", "-m", "hikey960", "-s", "fair", "-s", "tandem", "--runs", "3"]
    expected = json.loads(command(*words, "--json", "--fresh").stdout)
    del expected["produced_by"]
    comparison = tandem.compare("forkjoin", "hikey960", ["fair", "tandem"], runs=3)
    assert json.loads(comparison.to_json()) == expected
    lines = [json.loads(line) for line in command(*words, "--jsonl", "--fresh").stdout.splitlines()]
    assert comparison.runs.to_dicts() == lines


@needs_command
def test_the_packages_objects_are_those_of_the_command(tmp_path):
    for name in ("tandem", "single", "o1"):
        exported = tmp_path / f"{name}.bpf.o"
        assert command("scheduler", "export", name, "--output", str(exported)).returncode == 0
        package = os.path.join(os.path.dirname(tandem.__file__), "schedulers", f"{name}.bpf.o")
        assert exported.read_bytes() == open(package, "rb").read()


@needs_command
@pytest.mark.parametrize(
    "name, text, line, column",
    [
        ("broken.json", '{ "tasks": {\n  "a": { "loop": 3, "rin": 500 } } }', 2, 21),
        ("broken.json", '{ "tasks": ', 1, None),
        ("broken.json", '{ "tasks": { "a": { "loop": 1, "run": -1 } } }', 1, None),
    ],
)
def test_a_mistake_in_a_workload_is_the_commands_with_file_line_and_column(tmp_path, name, text, line, column):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(tandem.InputError) as mistake:
        tandem.simulate("hikey960", path)
    assert mistake.value.file == str(path) and mistake.value.line == line
    assert column in (None, mistake.value.column)
    said = command("simulate", str(path), "-m", "hikey960").stderr
    assert said == f"error: {mistake.value}\n"
    assert isinstance(mistake.value, ValueError)


@needs_command
def test_a_mistake_in_a_machine_is_the_commands(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(tandem.machine("hikey960").text.replace("capacity_dmips_mhz", "capacity_dmips_mhx").replace("ipc =", "ipx =", 1))
    with pytest.raises(tandem.InputError) as mistake:
        tandem.machine(path)
    assert mistake.value.file == str(path) and mistake.value.line > 1 and mistake.value.column >= 1 and mistake.value.help
    assert command("simulate", "forkjoin", "-m", str(path)).stderr == f"error: {mistake.value}\n"


@pytest.mark.parametrize(
    "arguments, words",
    [
        (dict(scheduler="fiar"), "did you mean `fair`"),
        (dict(scheduler="fair+shedutil"), "`schedutil`"),
        (dict(scheduler="tandem,sortd=true"), "sorted"),
        (dict(hzz=100), "did you mean `hz`"),
        (dict(hz=1), "hz"),
        (dict(scheduler="./no.bpf.o"), "no.bpf.o"),
        (dict(kernel="6.6"), "6.12"),
        (dict(duration="10"), "unit"),
        (dict(duration=-1.0), "above 0"),
        (dict(hotplug=["1s:99=off"]), "99"),
        (dict(scheduler="fair+powersave", governor="schedutil"), "twice"),
    ],
)
def test_a_mistake_in_an_option_says_what_was_meant(arguments, words):
    with pytest.raises(tandem.InputError) as mistake:
        tandem.simulate("hikey960", "forkjoin", **arguments)
    assert words in str(mistake.value)


def test_a_run_that_cannot_end_is_stuck():
    workload = tandem.Workload().task("a", loop=1, wait={"ref": "never", "mutex": "m"})
    with pytest.raises(tandem.StuckError, match="every thread waits"):
        tandem.simulate("hikey960", workload)


def test_memory_that_is_not_there_is_no_crash():
    code = "import tandem; tandem.simulate('hikey960', 'forkjoin')"
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | {"TANDEM_MEMORY": "1K"}, capture_output=True, text=True)
    assert done.returncode == 1 and "OutOfMemoryError" in done.stderr and "TANDEM_MEMORY" in done.stderr


def test_what_is_made_in_python_can_be_sent_to_other_processes():
    machine = tandem.machine("hikey960").with_({"memory.dram.gb_per_s": 6.0}, name="slow")
    workload = tandem.Workload("w").task("a", loop=3, run=500)
    report = tandem.simulate(machine, workload)
    again = tandem.simulate(pickle.loads(pickle.dumps(machine)), pickle.loads(pickle.dumps(workload)))
    assert again.to_dict() == report.to_dict() and report.machine == "slow"
    for error in (tandem.InputError("text", "f", 1, 2, "help"), tandem.StuckError("text")):
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy), vars(copy)) == (type(error), "text", vars(error))


def endless():
    return tandem.Workload("endless").task("a", instance=8, loop=-1, run=50, sleep=50)


def once_it_simulates(do):
    """Do something in another thread, once this one has begun to simulate: for that it starts a thread."""
    threads = lambda: set(os.listdir("/proc/self/task"))
    known = threads()

    def watch():
        known.add(str(threading.get_native_id()))
        while threads() <= known:
            time.sleep(0.001)
        do()

    threading.Thread(target=watch, daemon=True).start()


def ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_ends_a_run_and_the_process_lives():
    # It would run for days.
    once_it_simulates(ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        tandem.simulate("hikey960", endless(), duration=1e6)
    once_it_simulates(ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        tandem.compare(endless(), "hikey960", ["fair", "tandem"], duration=1e6)
    assert tandem.simulate("hikey960", "forkjoin").time_s > 0


def test_other_threads_go_on_while_one_simulates():
    ticks = []

    def tick():
        while len(ticks) < 100:
            time.sleep(0.001)
            ticks.append(1)
        ctrl_c()

    # Nothing else ends the run: a thread that had to wait for the lock until the run's end would wait for days.
    once_it_simulates(tick)
    with pytest.raises(KeyboardInterrupt):
        tandem.simulate("hikey960", endless(), duration=1e6)
    assert len(ticks) == 100
