"""The cost of a window: its two captures compared with one capture, and the cost of a thread's exit for the host while a window is open,
from the kernel's run time statistics of BPF programs; and the number of exits that were not recorded.
"""

import contextlib
import json
import subprocess
import tempfile
import time

from crowd import crowd
from measure import alternate, ms, ratio, run, show

THREADS, RATE = 200_000, 40_000
PROGRAM = "on_last_switch"
STATS = "/proc/sys/kernel/bpf_stats_enabled"
MAX_EXIT_NS, MAX_WAIT_S = 1_200, 10
WINDOW_MS = 1
MAX_CAPTURES = 1.7
MEMORY = "/dev/shm"


@contextlib.contextmanager
def bpf_statistics():
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


def list_programs():
    output = subprocess.run(["bpftool", "-j", "prog", "show"], check=True, capture_output=True).stdout
    return {program["id"]: program for program in json.loads(output) if program.get("name") == PROGRAM}


def wait_for_program(old_programs):
    """Returns the id of the program of the window that was just opened."""
    deadline = time.monotonic() + MAX_WAIT_S
    while time.monotonic() < deadline:
        if new_ids := list_programs().keys() - old_programs.keys():
            return new_ids.pop()
        time.sleep(0.1)
    raise RuntimeError("no window was opened")


def bench_window(tools, repeat, count):
    """Compares a window that closes immediately with a capture into a columns file; all plugins, all metrics, files in memory."""
    def run_ctprof(*words):
        finished = run([tools.ctprof, *words, "--quiet"], keep_output=False)
        return {"ns": finished.wall_ns, "cpu": finished.cpu_ns}

    with tempfile.TemporaryDirectory(prefix="bench-", dir=MEMORY) as memory, crowd(tools.idle, "twenty", count):
        results = alternate(repeat, {
            "capture": lambda: run_ctprof("capture", "--layout", "columns", "-o", f"{memory}/capture.ctprof.zst"),
            "record": lambda: run_ctprof("record", "-d", f"{WINDOW_MS}ms", "-o", f"{memory}/record.ctprof.zst")})
    capture, window = results["capture"], results["record"]
    window["ns"] -= WINDOW_MS * 1_000_000
    show(f"Both ends of a window: {count:,} threads of 20 processes, {repeat} rounds",
         [("", "median", "minimum", "CPU time", "of a capture", "of its CPU time", "target"),
          ("capture, columns", ms(capture["ns"]), ms(capture["ns min"]), ms(capture["cpu"]), "", "", ""),
          (f"record, without its {WINDOW_MS} ms", ms(window["ns"]), ms(window["ns min"]), ms(window["cpu"]), ratio(window["ns"], capture["ns"]),
           ratio(window["cpu"], capture["cpu"]), f"at most {MAX_CAPTURES}")])


def bench(tools, directory):
    """Measures the exits of threads. Needs root and bpftool."""
    old_programs = list_programs()
    with bpf_statistics(), subprocess.Popen([tools.ctprof, "record", "-o", f"{directory}/ends.ctprof.zst"], stderr=subprocess.PIPE, text=True) as record:
        program = wait_for_program(old_programs)
        time.sleep(1)
        exits, took_ms = map(int, subprocess.run([tools.storm, str(THREADS), str(RATE)], check=True, capture_output=True).stdout.split())
        cost = list_programs()[program]
        record.terminate()
        summary = record.communicate()[1].splitlines()[-1]
    exit_ns = cost["run_time_ns"] / exits
    show(f"Exits of threads, {exits:,} in total, {exits / took_ms * 1000:,.0f} per second",
         [("", "per exit", "target"), (f"program, of {cost['run_cnt']:,} switches", f"{exit_ns:.0f} ns", f"at most {MAX_EXIT_NS} ns"), (summary, "", "none lost")])
