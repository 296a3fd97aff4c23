"""The cost of following every switch: two processes that pass each other a byte on one CPU, with and without the recorder off-cpu, compared
with a typical tool that takes both stacks at each switch (off_cpu_floor.bpf.c)."""

import contextlib
import os
import signal
import subprocess
import time

from measure import alternate, run, show

BATCHES = 600  # of 600 switches each, in a millisecond or two
SETTLE_S = 3  # includes the second in which the kernel measures the programs
MAX_ADDED_US, TYPICAL_US = 0.35, 2.0
TYPICAL, EACH_SWITCH = "typical tool", "off-cpu, stack per switch (mean)"
HISTOGRAMS = "off-cpu, with histograms"
WITH_HISTOGRAMS = "run_time_ns,blocked_wait_histogram_ns,cpu_wait_histogram_ns,time_slice_histogram_ns"


@contextlib.contextmanager
def no_recorder():
    yield


@contextlib.contextmanager
def recorder(tools, directory, *words, metrics="run_time_ns"):
    command = [tools.ctprof, "record", "-q", "--no-sync", "--recorders", "off-cpu", "--metrics", metrics, "-o", f"{directory}/bench.ctprof.zst", *words]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        time.sleep(SETTLE_S)
        yield
        process.send_signal(signal.SIGINT)
    os.unlink(f"{directory}/bench.ctprof.zst")


@contextlib.contextmanager
def typical_tool(tools):
    with subprocess.Popen([tools.off_cpu_floor], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as floor:
        floor.stdout.readline()
        yield
        floor.stdin.close()


def bench(tools, repeat, directory):
    cpu = max(os.sched_getaffinity(0))

    def measure_in(context):
        def action():
            with context():
                return run([tools.switches, str(BATCHES), str(cpu)]).json()
        return action
    actions = {"alone": measure_in(no_recorder), "off-cpu, stack per ms": measure_in(lambda: recorder(tools, directory)),
             HISTOGRAMS: measure_in(lambda: recorder(tools, directory, metrics=WITH_HISTOGRAMS)),
             EACH_SWITCH: measure_in(lambda: recorder(tools, directory, "--offcpu-stacks", "every"))}
    if tools.off_cpu_floor.is_file():
        actions[TYPICAL] = measure_in(lambda: typical_tool(tools))
    show(f"Switches of two processes on one CPU: CPU time per switch, 10th percentile of {BATCHES} batches in the best run", table(alternate(repeat, actions)))


def table(results):
    """Returns the cost that each recorder adds, also relative to the typical tool in the same run."""
    def format_us(ns):
        return f"{ns / 1e3:.3f} us"

    # A full ring buffer makes batches cheap, and a stack per switch fills it.
    keys = {name: "mean_ns" if name == EACH_SWITCH else "low_ns min" for name in results}
    added_ns = {name: result[keys[name]] - results["alone"][keys[name]] for name, result in results.items()}
    targets = {"off-cpu, stack per ms": f"{MAX_ADDED_US} us, or {MAX_ADDED_US / TYPICAL_US:.3f} of the typical tool", TYPICAL: f"about {TYPICAL_US} us"}
    rows = [("", "per switch", "added", "of the typical tool", "mean", "target")]
    for name, result in results.items():
        ratio_text = f"{added_ns[name] / added_ns[TYPICAL]:.3f}" if TYPICAL in added_ns and name != "alone" else ""
        rows.append((name, format_us(result[keys[name]]), "" if name == "alone" else format_us(added_ns[name]), ratio_text, format_us(result["mean_ns"]), targets.get(name, "")))
    return rows
