"""The cost of following every switch: two processes that pass each other a byte on one CPU, with and without the recorder off-cpu, compared
with a typical tool that takes both stacks at each switch (off_cpu_floor.bpf.c)."""

import contextlib
import os
import signal
import subprocess
import time

from measure import alternate, run, show

BATCHES = 600  # of 600 switches each, in a millisecond or two
SETTLED_S = 3  # includes the second in which the kernel measures the programs
MOST_US, USUAL_US = 0.35, 2.0
USUAL, AT_EACH = "typical tool", "off-cpu, stack per switch (mean)"


@contextlib.contextmanager
def alone():
    yield


@contextlib.contextmanager
def recorded(tools, room, *words):
    command = [tools.ctprof, "record", "-q", "--no-sync", "--recorders", "off-cpu", "--metrics", "run_time_ns", "-o", f"{room}/bench.ctprof.zst", *words]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as recorder:
        time.sleep(SETTLED_S)
        yield
        recorder.send_signal(signal.SIGINT)
    os.unlink(f"{room}/bench.ctprof.zst")


@contextlib.contextmanager
def usual(tools):
    with subprocess.Popen([tools.off_cpu_floor], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as floor:
        floor.stdout.readline()
        yield
        floor.stdin.close()


def bench(tools, repeat, room):
    cpu = max(os.sched_getaffinity(0))

    def beside(context):
        def deed():
            with context():
                return run([tools.switches, str(BATCHES), str(cpu)]).json()
        return deed
    deeds = {"alone": beside(alone), "off-cpu, stack per ms": beside(lambda: recorded(tools, room)),
             AT_EACH: beside(lambda: recorded(tools, room, "--offcpu-stacks", "every"))}
    if tools.off_cpu_floor.is_file():
        deeds[USUAL] = beside(lambda: usual(tools))
    show(f"Switches of two processes on one CPU: CPU time per switch, 10th percentile of {BATCHES} batches in the best run", table(alternate(repeat, deeds)))


def table(figures):
    """Returns the cost that each recorder adds, also relative to the typical tool in the same run."""
    def us(ns):
        return f"{ns / 1e3:.3f} us"

    # A full ring buffer makes batches cheap, and a stack per switch fills it.
    of = {name: "mean_ns" if name == AT_EACH else "low_ns min" for name in figures}
    more = {name: found[of[name]] - figures["alone"][of[name]] for name, found in figures.items()}
    targets = {"off-cpu, stack per ms": f"{MOST_US} us, or {MOST_US / USUAL_US:.3f} of the typical tool", USUAL: f"about {USUAL_US} us"}
    rows = [("", "per switch", "added", "of the typical tool", "mean", "target")]
    for name, found in figures.items():
        share = f"{more[name] / more[USUAL]:.3f}" if USUAL in more and name != "alone" else ""
        rows.append((name, us(found[of[name]]), "" if name == "alone" else us(more[name]), share, us(found["mean_ns"]), targets.get(name, "")))
    return rows
