"""What an end of a thread costs the host while a window is open, by the kernel's own count of what BPF programs take, and whether any is lost."""

import contextlib
import json
import subprocess
import time

from measure import show

THREADS, RATE = 200_000, 40_000
PROGRAM = "see_last_switch"
STATS = "/proc/sys/kernel/bpf_stats_enabled"
TARGET_NS, MOST_WAIT_S = 1_200, 10


@contextlib.contextmanager
def counted():
    """The kernel counts only while it is asked to, and what it takes for that is in the figures."""
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
    """The program of the window that was just opened."""
    until = time.monotonic() + MOST_WAIT_S
    while time.monotonic() < until:
        if new := programs().keys() - known.keys():
            return new.pop()
        time.sleep(0.1)
    raise RuntimeError("no window was opened")


def bench(tools, room):
    """Needs root, and bpftool."""
    known = programs()
    with counted(), subprocess.Popen([tools.ctprof, "record", "-o", f"{room}/ends.ctprof.zst"], stderr=subprocess.PIPE, text=True) as record:
        program = attached(known)
        time.sleep(1)
        made, took_ms = map(int, subprocess.run([tools.storm, str(THREADS), str(RATE)], check=True, capture_output=True).stdout.split())
        cost = programs()[program]
        record.terminate()
        said = record.communicate()[1].splitlines()[-1]
    each = cost["run_time_ns"] / made
    show(f"Threads that end, {made:,} of them, {made / took_ms * 1000:,.0f} a second",
         [("", "an end", "target"), (f"program, of {cost['run_cnt']:,} switches", f"{each:.0f} ns", f"at most {TARGET_NS} ns"), (said, "", "none lost")])
