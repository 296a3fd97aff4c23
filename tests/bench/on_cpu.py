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
import time

from measure import cpu_ns, ratio, run, show

COPIES = {"8K": 8192, "32K": 32768}
TARGETS_NS = {"8K": 1_000, "32K": 2_000}
FREQUENCY, SECONDS = 4000, 3
MAX_READER_NS = 5_000
WINDOW_SECONDS, STARTUP_S = 8, 2  # until the tables of running programs are made
MAX_WINDOW_PERCENT = 1  # of one CPU


def measure_sample_costs(tools, repeat):
    """Returns {mode: ns that a sample costs its thread}, the lower quartile of the rounds."""
    modes = ["none", "ip", *(f"{kind} {size}" for size in COPIES.values() for kind in ("floor", "ours"))]
    rounds = []
    for number in range(repeat):
        first = number % len(modes)
        rounds.append({mode: run([tools.sample_cost, *mode.split()]).json() for mode in modes[first:] + modes[:first]})
    baseline = quartile([one_round["none"]["ns"] for one_round in rounds])
    return {mode: quartile([(one_round[mode]["ns"] - baseline) / max(1, one_round[mode]["samples"]) for one_round in rounds]) for mode in modes[1:]}


def quartile(readings):
    return statistics.quantiles(readings, n=4)[0]


def bench_sampled_thread(tools, repeat):
    costs = measure_sample_costs(tools, repeat)
    rows = [("", "minimal perf", "ctprof", "ratio", "target"), ("ids, time and address: the timer", f"{costs['ip']:.0f} ns", "", "", "")]
    for name, size in COPIES.items():
        floor, ours = (costs[f"{kind} {size}"] - costs["ip"] for kind in ("floor", "ours"))
        rows.append((f"additional: stack and {name}", f"{floor:.0f} ns", f"{ours:.0f} ns", ratio(ours, floor), f"at most {TARGETS_NS[name]} ns"))
    show(f"Cost of a sample for its thread: the same work {repeat} times per mode, lower quartiles", rows)


@contextlib.contextmanager
def busy_cpus(count):
    spinners = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(count)]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def record(tools, directory, *words):
    """Records. Returns (CPU ns in total, its messages)."""
    path = f"{directory}/on-cpu.ctprof.zst"
    with subprocess.Popen([tools.ctprof, "record", "--no-sync", "-d", f"{SECONDS}s", "--metrics", "run_time_ns", "-o", path, *map(str, words)],
                          stderr=subprocess.PIPE, text=True) as process:
        messages = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"bench: record exited with status {process.returncode}\n{messages}")
    return round((usage.ru_utime + usage.ru_stime) * 1e9), messages


def bench_reader(tools, repeat, directory):
    """Measures two busy CPUs: reading the ring buffers, and also unwinding, naming and writing the file."""
    rounds = []
    with busy_cpus(2):
        for _ in range(repeat):
            baseline, _ = record(tools, directory)
            total, messages = record(tools, directory, "--recorders", "on-cpu", "--freq", FREQUENCY)
            samples = int(re.search(r"on-cpu: (\d+) stack", messages)[1])
            reading_ns = float(re.search(r"on-cpu: .*; ([\d.]+) ms of CPU time", messages)[1]) * 1e6
            lost_match = re.search(r"(\d+) lost", messages)
            rounds.append((reading_ns / samples, (total - baseline) / samples, int(lost_match[1]) if lost_match else 0, samples))
    show(f"Samples at {FREQUENCY} Hz on busy CPUs, {rounds[-1][3]:,} in {SECONDS} s, {repeat} rounds",
         [("", "per sample, minimum", "target"),
          ("reading from the ring buffer", f"{min(one_round[0] for one_round in rounds):.0f} ns", f"at most {MAX_READER_NS} ns"),
          ("and unwinding, naming, writing", f"{min(one_round[1] for one_round in rounds):.0f} ns", ""),
          ("lost", f"{sum(one_round[2] for one_round in rounds)}", "none")])


def measure_window_percent(tools, directory):
    """Returns the CPU time of all threads of a recorder while its window is open, in percent of one CPU."""
    argv = [tools.ctprof, "record", "--no-sync", "-d", f"{WINDOW_SECONDS}s", "-o", f"{directory}/window.ctprof.zst"]
    with subprocess.Popen([*argv, "--recorders", "on-cpu", "--freq", str(FREQUENCY)], stderr=subprocess.DEVNULL) as process:
        time.sleep(STARTUP_S)
        begin, begin_cpu = time.monotonic_ns(), cpu_ns(process.pid)
        time.sleep(WINDOW_SECONDS - 2 * STARTUP_S)
        return 100 * (cpu_ns(process.pid) - begin_cpu) / (time.monotonic_ns() - begin)


def bench_window(tools, repeat, directory):
    """Measures the recorder without the beginning and the end of its window."""
    rows = [(f"CPU of the recorder at {FREQUENCY} Hz, {repeat} rounds", "median", "minimum", "target")]
    for name, cpus in (("idle host", 0), ("two busy CPUs", 2)):
        with busy_cpus(cpus):
            percents = [measure_window_percent(tools, directory) for _ in range(repeat)]
        rows.append((name, f"{statistics.median(percents):.2f} %", f"{min(percents):.2f} %", f"at most {MAX_WINDOW_PERCENT} %"))
    show("Recorder while the window is open, in percent of one CPU", rows)


def bench(tools, repeat, directory):
    """Needs permission to sample."""
    bench_sampled_thread(tools, 8 * repeat)
    bench_reader(tools, min(3, repeat), directory)
    bench_window(tools, min(4, repeat), directory)
