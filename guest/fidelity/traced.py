"""For scripts that record in the guest what the kernel traces, and for those that read it afterwards."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

TRACING = Path("/sys/kernel/tracing")
# Everything that runs is copied here: with files on another machine's disk a thread would wait for pages of its program.
QUICK = Path("/tmp/quick")
LINE = re.compile(r"\s*.+-\d+\s+\[(\d+)\] \S+\s+([\d.]+): (\w+): (.*)")
SWITCH = re.compile(r"prev_comm=(.*) prev_pid=(\d+) .* ==> next_comm=(.*) next_pid=(\d+) ")


def mount(kind, where):
    subprocess.run(["mount", "-t", kind, kind, where], check=True)


def quick(program):
    """A copy of a program, with its libraries, in memory: the command that runs it."""
    QUICK.mkdir(exist_ok=True)
    listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout.split()
    for file in [program] + [word for word in listed if word.startswith("/")]:
        shutil.copy(file, QUICK)
    linker = next(word for word in listed if "ld-linux" in word and word.startswith("/"))
    return [str(QUICK / Path(linker).name), "--library-path", str(QUICK), str(QUICK / Path(program).name)]


def loading(scheduler, loader, objects):
    """What runs a command under a scheduler: words to put before the command."""
    name, *settings = scheduler.split(",")
    return [] if name == "fair" else loader + [str(objects / f"{name}.bpf.o")] + settings + ["--"]


def prepare(events):
    """Lets the kernel trace these events, by their folders."""
    if not (TRACING / "trace").exists():
        mount("tracefs", str(TRACING))
    (TRACING / "buffer_size_kb").write_text("16384")
    (TRACING / "trace_clock").write_text("mono")
    for event in events:
        (TRACING / "events" / event / "enable").write_text("1")


def run(command, trace, timeout_s):
    """Runs a command and keeps what was traced meanwhile."""
    (TRACING / "trace").write_text("")
    (TRACING / "tracing_on").write_text("1")
    with open("/tmp/said", "w") as said:
        # In Python, waiting with a timeout means looking every 50 ms, which would disturb the recording.
        status = subprocess.run(["timeout", str(timeout_s), *command], stdout=said, stderr=said, cwd="/tmp").returncode
    (TRACING / "tracing_on").write_text("0")
    shutil.copyfile(TRACING / "trace", trace)
    lost = [file for file in TRACING.glob("per_cpu/cpu*/stats") if not re.search("^overrun: 0$", file.read_text(), re.M)]
    if lost:
        sys.exit(f"{' '.join(command)}: more was traced than the buffer holds ({', '.join(map(str, lost))})")
    if status != 0:
        sys.exit(f"{' '.join(command)}: exit status {status}\n{Path('/tmp/said').read_text()}")


def events(path):
    """Each event of a trace: its CPU, when it was (us), which it is, and its fields with a blank behind them."""
    for line in path.read_text().splitlines():
        found = LINE.match(line)
        if found:
            yield int(found[1]), round(float(found[2]) * 1e6), found[3], found[4] + " "
