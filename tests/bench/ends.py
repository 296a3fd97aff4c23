"""The cost of a window: its two captures compared with one capture, and the cost of a thread's exit for the host while a window is open,
from the kernel's run time statistics of BPF programs; and the number of lost exits.
"""

import contextlib
import json
import subprocess
import tempfile
import time

from crowd import crowd
from measure import alternate, ms, ratio, run, show

THREADS, RATE = 200_000, 40_000
PROGRAM = "see_last_switch"
STATS = "/proc/sys/kernel/bpf_stats_enabled"
TARGET_NS, MOST_WAIT_S = 1_200, 10
WINDOW_MS = 1
MOST_CAPTURES = 1.7
MEMORY = "/dev/shm"


@contextlib.contextmanager
def counted():
    """Enables the kernel's BPF statistics, which are off by default. Their own cost is included in the results."""
    with open(STATS, "r+", encoding="ascii") as file:
        before = file.read()
        try:
            file.seek(0)
            file.write("1")
            file.flush()
            yield
        finally:
            file.seek(0)
            file.write(before)


def programs():
    listed = subprocess.run(["bpftool", "-j", "prog", "show"], check=True, capture_output=True).stdout
    return {each["id"]: each for each in json.loads(listed) if each.get("name") == PROGRAM}


def attached(known):
    """Returns the id of the program of the window that was just opened."""
    until = time.monotonic() + MOST_WAIT_S
    while time.monotonic() < until:
        if new := programs().keys() - known.keys():
            return new.pop()
        time.sleep(0.1)
    raise RuntimeError("no window was opened")


def bench_both(tools, repeat, count):
    """Compares a window that closes immediately with a capture in columns; all plugins, all metrics, files in memory."""
    def whole(*words):
        done = run([tools.ctprof, *words, "--quiet"], keep_output=False)
        return {"ns": done.wall_ns, "cpu": done.cpu_ns}

    with tempfile.TemporaryDirectory(prefix="bench-", dir=MEMORY) as memory, crowd(tools.idle, "twenty", count):
        figures = alternate(repeat, {
            "capture": lambda: whole("capture", "--layout", "columns", "-o", f"{memory}/capture.ctprof.zst"),
            "record": lambda: whole("record", "-d", f"{WINDOW_MS}ms", "-o", f"{memory}/record.ctprof.zst")})
    one, both = figures["capture"], figures["record"]
    both["ns"] -= WINDOW_MS * 1_000_000
    show(f"Both ends of a window: {count:,} threads of 20 processes, {repeat} rounds",
         [("", "median", "minimum", "CPU time", "of a capture", "of its CPU time", "target"),
          ("capture, columns", ms(one["ns"]), ms(one["ns min"]), ms(one["cpu"]), "", "", ""),
          (f"record, without its {WINDOW_MS} ms", ms(both["ns"]), ms(both["ns min"]), ms(both["cpu"]), ratio(both["ns"], one["ns"]),
           ratio(both["cpu"], one["cpu"]), f"at most {MOST_CAPTURES}")])


def bench(tools, room):
    """Measures the exits of threads. Needs root and bpftool."""
    known = programs()
    with counted(), subprocess.Popen([tools.ctprof, "record", "-o", f"{room}/ends.ctprof.zst"], stderr=subprocess.PIPE, text=True) as record:
        program = attached(known)
        time.sleep(1)
        made, took_ms = map(int, subprocess.run([tools.storm, str(THREADS), str(RATE)], check=True, capture_output=True).stdout.split())
        cost = programs()[program]
        record.terminate()
        said = record.communicate()[1].splitlines()[-1]
    each = cost["run_time_ns"] / made
    show(f"Exits of threads, {made:,} in total, {made / took_ms * 1000:,.0f} per second",
         [("", "per exit", "target"), (f"program, of {cost['run_cnt']:,} switches", f"{each:.0f} ns", f"at most {TARGET_NS} ns"), (said, "", "none lost")])
