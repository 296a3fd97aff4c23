"""The cost of sampling stacks: of a sample for the sampled thread, beyond the timer interrupt, and of reading it for ctprof.

The first is measured as a thread's own CPU time for the same work, with and without samples (`sample_cost.c`): perf's cost of registers and a
copy of the stack, beyond samples of only the instruction pointer, and the cost of ctprof's samples. The timer interrupt costs ten times as much
as these differences, so the result is the lower quartile of many rounds, each in another order.
"""

import contextlib
import os
import re
import statistics
import subprocess

from measure import ratio, run, show

COPIES = {"8K": 8192, "32K": 32768}
TARGETS_NS = {"8K": 1_000, "32K": 2_000}
FREQUENCY, SECONDS = 4000, 3
MOST_READER_NS = 5_000


def a_sample(tools, repeat):
    """Returns {mode: ns that a sample costs its thread}, the lower quartile of the rounds."""
    ways = ["none", "ip", *(f"{how} {size}" for size in COPIES.values() for how in ("floor", "ours"))]
    rounds = []
    for turn in range(repeat):
        first = turn % len(ways)
        rounds.append({way: run([tools.sample_cost, *way.split()]).json() for way in ways[first:] + ways[:first]})
    without = quartile([turn["none"]["ns"] for turn in rounds])
    return {way: quartile([(turn[way]["ns"] - without) / max(1, turn[way]["samples"]) for turn in rounds]) for way in ways[1:]}


def quartile(readings):
    return statistics.quantiles(readings, n=4)[0]


def bench_target(tools, repeat):
    costs = a_sample(tools, repeat)
    rows = [("", "minimal perf", "ctprof", "ratio", "target"), ("ids, time and address: the timer", f"{costs['ip']:.0f} ns", "", "", "")]
    for name, size in COPIES.items():
        floor, ours = (costs[f"{how} {size}"] - costs["ip"] for how in ("floor", "ours"))
        rows.append((f"additional: stack and {name}", f"{floor:.0f} ns", f"{ours:.0f} ns", ratio(ours, floor), f"at most {TARGETS_NS[name]} ns"))
    show(f"Cost of a sample for its thread: the same work {repeat} times per mode, lower quartiles", rows)


@contextlib.contextmanager
def busy(count):
    spinners = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(count)]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def recorded(tools, room, *words):
    """Records. Returns (CPU ns in total, its messages)."""
    path = f"{room}/on-cpu.ctprof.zst"
    with subprocess.Popen([tools.ctprof, "record", "--no-sync", "-d", f"{SECONDS}s", "--metrics", "run_time_ns", "-o", path, *map(str, words)],
                          stderr=subprocess.PIPE, text=True) as process:
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"bench: record exited with status {process.returncode}\n{said}")
    return round((usage.ru_utime + usage.ru_stime) * 1e9), said


def bench_reader(tools, repeat, room):
    """Measures two busy CPUs: reading the ring buffers, and also unwinding, naming and writing the file."""
    rounds = []
    with busy(2):
        for _ in range(repeat):
            without, _ = recorded(tools, room)
            whole, said = recorded(tools, room, "--recorders", "on-cpu", "--freq", FREQUENCY)
            taken = int(re.search(r"on-cpu: (\d+) stack", said)[1])
            reading = float(re.search(r"on-cpu: .*; ([\d.]+) ms of CPU time", said)[1]) * 1e6
            lost = re.search(r"(\d+) lost", said)
            rounds.append((reading / taken, (whole - without) / taken, int(lost[1]) if lost else 0, taken))
    show(f"Samples at {FREQUENCY} Hz on busy CPUs, {rounds[-1][3]:,} in {SECONDS} s, {repeat} rounds",
         [("", "per sample, minimum", "target"),
          ("reading from the ring buffer", f"{min(each[0] for each in rounds):.0f} ns", f"at most {MOST_READER_NS} ns"),
          ("and unwinding, naming, writing", f"{min(each[1] for each in rounds):.0f} ns", ""),
          ("lost", f"{sum(each[2] for each in rounds)}", "none")])


def bench(tools, repeat, room):
    """Needs permission to sample."""
    bench_target(tools, 8 * repeat)
    bench_reader(tools, min(3, repeat), room)
