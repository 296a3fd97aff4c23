"""CPU usage of `ctprof live` with a crowd: one screen per second, in a terminal of 120 columns and 40 lines without input."""

import contextlib
import fcntl
import os
import select
import signal
import statistics
import struct
import subprocess
import termios
import time

from crowd import crowd
from measure import cpu_ns, ratio, run, show

LINES, COLUMNS = 40, 120
STARTUP_S = 5  # until plugins are loaded and constant data is read
MEASURED_S = 5  # per round
LIMITS = {1_000: 1, 10_000: 6}  # percent of a CPU, by number of threads


@contextlib.contextmanager
def running_live(tools):
    """Runs `ctprof live` in a terminal of its own. Yields its pid and the controlling end of the terminal, which must be read."""
    controller, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    environment = os.environ | {"TERM": "xterm"}
    with subprocess.Popen([tools.ctprof, "live"], stdin=terminal, stdout=terminal, stderr=terminal, env=environment, start_new_session=True) as process:
        os.close(terminal)
        try:
            yield process.pid, controller
        finally:
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(OSError):  # a terminal reports EIO when its other end is closed
                while os.read(controller, 1 << 16):
                    pass
            os.close(controller)


def read_output(controller, seconds):
    """Reads the output for that long. Returns its size in bytes."""
    size, deadline = 0, time.monotonic() + seconds
    while (remaining := deadline - time.monotonic()) > 0:
        if select.select([controller], [], [], remaining)[0]:
            size += len(os.read(controller, 1 << 16))
    return size


def bench(tools, repeat, count):
    percents, sizes = [], []
    with crowd(tools.idle, "twenty", count):
        passes = [run([tools.task_iter_floor]).json()["pass_ns"] for _ in range(repeat)] if tools.task_iter_floor.is_file() else []
        with running_live(tools) as (pid, controller):
            read_output(controller, STARTUP_S)
            for _ in range(repeat):
                before, start = cpu_ns(pid), time.monotonic_ns()
                sizes.append(read_output(controller, MEASURED_S))
                percents.append(100 * (cpu_ns(pid) - before) / (time.monotonic_ns() - start))
    limit = f"at most {LIMITS[count]} %" if count in LIMITS else ""
    median = statistics.median(percents)
    ratio_text = ratio(median * 1e7, statistics.median(passes)) if passes else ""  # a percent of a second is 10 ms
    show(f"live: {count:,} threads of 20 processes, {repeat} times {MEASURED_S} s",
         [("", "of a CPU", "minimum", "bytes per second", "of a bare BPF pass per second", "target"),
          ("live", f"{median:.2f} %", f"{min(percents):.2f} %", f"{statistics.median(sizes) / MEASURED_S:.0f}", ratio_text, limit)])
