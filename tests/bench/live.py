"""CPU usage of `ctprof live` with a crowd: one screen per second, in a terminal of 120 columns and 40 lines without input."""

import contextlib
import fcntl
import os
import pathlib
import select
import signal
import statistics
import struct
import subprocess
import termios
import time

from crowd import crowd
from measure import ratio, run, show

LINES, COLUMNS = 40, 120
BEGINS_S = 5  # until plugins are loaded and constant data is read
MEASURED_S = 5  # per round
MOST = {1_000: 1, 10_000: 6}  # percent of a CPU, by number of threads


def cpu_ns(pid):
    """Returns the CPU time of all threads of the process, from the scheduler's sum, which is not rounded to ticks."""
    return sum(int(path.read_text().split()[0]) for path in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"))


@contextlib.contextmanager
def live(tools):
    """Runs `live` in a terminal of its own. Yields its pid and the controlling end of the terminal, which must be read."""
    ours, its = os.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    environment = os.environ | {"TERM": "xterm"}
    with subprocess.Popen([tools.ctprof, "live"], stdin=its, stdout=its, stderr=its, env=environment, start_new_session=True) as process:
        os.close(its)
        try:
            yield process.pid, ours
        finally:
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(OSError):  # a terminal reports EIO when its other end is closed
                while os.read(ours, 1 << 16):
                    pass
            os.close(ours)


def watch(ours, seconds):
    """Reads the output for that long. Returns its size in bytes."""
    drawn, end = 0, time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if select.select([ours], [], [], left)[0]:
            drawn += len(os.read(ours, 1 << 16))
    return drawn


def bench(tools, repeat, count):
    percents, drawn = [], []
    with crowd(tools.idle, "twenty", count):
        passes = [run([tools.task_iter_floor]).json()["pass_ns"] for _ in range(repeat)] if tools.task_iter_floor.is_file() else []
        with live(tools) as (pid, ours):
            watch(ours, BEGINS_S)
            for _ in range(repeat):
                before, start = cpu_ns(pid), time.monotonic_ns()
                drawn.append(watch(ours, MEASURED_S))
                percents.append(100 * (cpu_ns(pid) - before) / (time.monotonic_ns() - start))
    most = f"at most {MOST[count]} %" if count in MOST else ""
    middle = statistics.median(percents)
    beside = ratio(middle * 1e7, statistics.median(passes)) if passes else ""  # a percent of a second is 10 ms
    show(f"live: {count:,} threads of 20 processes, {repeat} times {MEASURED_S} s",
         [("", "of a CPU", "minimum", "bytes per second", "of a bare BPF pass per second", "target"),
          ("live", f"{middle:.2f} %", f"{min(percents):.2f} %", f"{statistics.median(drawn) / MEASURED_S:.0f}", beside, most)])
