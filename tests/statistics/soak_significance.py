"""Tests interleaved comparisons of one condition on this host under a steady mixed load: they must report no difference.

    soak_significance.py equal [TIMES]             40 times by default
    soak_significance.py keep KIND FILE            writes one recording for tests/statistics/recorded

Each repetition records 8 pairs of runs in which both commands do nothing, and compares all of them and the first 6. At most 5 of 40
comparisons may have a significant row. soak_power.py plants differences.

KIND is equal, or a difference of the service (planted.c) of one side:

    work    a request works 20 % longer: %CPU
    lock    a request holds its lock 30 % longer while it sleeps, so that requests are blocked 20 % longer: %blocked. CPU time is unchanged
    faults  a request touches 20 % more pages: flt/s
    naps    a request sleeps 12 times instead of 10: vcsw/s
    moved   the service moves to a CPU that it shares with a busy loop: %wait

Prints a line for each comparison, and a summary, also when it is interrupted. Exit status 1 if a limit is not met, 130 if interrupted.
All processes are in one session, so that a busy host can give it a higher priority:

    setsid -w sh -c 'echo -15 >/proc/self/autogroup; exec python3 soak_significance.py ...'

SIGNIFICANCE_RESULTS is the path of a file that stores the comparisons; the next session continues after them.
CTPROF is the path of ctprof, PLANTED that of the service, by default the one of the same build.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import recorded

CTPROF = pathlib.Path(os.environ["CTPROF"])
PLANTED = pathlib.Path(os.environ.get("PLANTED") or CTPROF.parents[2] / "tests/statistics/planted")
SERVICE = "planted"
LENGTH = "2s"
PAIRS = (8, 6)
# The recorded differences, and the headlines that show them.
DETECTED_IN = {"work": "%CPU", "lock": "%blocked", "moved": "%wait"}
# What the service reads, by condition; see planted.c.
STEADY, BASELINE = "- 1 1 1 1", "a 1 1 1 1"
FACTORS = {"work": "b 1.2 1 1 1", "lock": "b 1 1.3 1 1", "faults": "b 1 1 1.2 1", "naps": "b 1 1 1 1.2"}
INTERRUPTED = 130
# The limit for a series of OF comparisons.
MAX_FALSE, OF = 5, 40
# The first process has a CPU that the service does not use unless it is moved there.
LOAD = [
    "exec taskset -c 1 sh -c 'while :; do :; done'",
    "while :; do head -c 1M /dev/zero >out; sleep 0.1; done",
    "while :; do /bin/true; sleep 0.1; done",
    "while :; do echo; sleep 0.05; done | while read -r _; do :; done",
]
# Waits until the service has read its factors.
WAIT_FOR_FACTORS = "sleep 0.2"
# Seconds until the load is steady.
WARM_UP_SECONDS = 2


class Interrupted(Exception):
    pass


def interrupt(*_):
    raise Interrupted


@contextlib.contextmanager
def running_process(command, **options):
    """Starts a process in its own process group, and kills the group at the end of the block."""
    process = subprocess.Popen(command, process_group=0, **options)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def running_service(directory, name=SERVICE):
    """Runs the service until the block ends. Yields its process id, its file of factors and its report."""
    factors, report = directory / f"{name}.factors", directory / f"{name}.report"
    factors.write_text(STEADY + "\n")
    with running_process([shutil.copy(PLANTED, directory / name), factors, report]) as service:
        yield service.pid, factors, report


@contextlib.contextmanager
def running_load(directory):
    """Runs the load until the block ends."""
    with contextlib.ExitStack() as stack:
        for text in LOAD:
            stack.enter_context(running_process(["sh", "-c", text], cwd=directory))
        time.sleep(WARM_UP_SECONDS)
        yield


def commands(kind, pid, factors):
    """Returns the command that sets the condition of each side."""
    if kind == "equal":
        return [WAIT_FOR_FACTORS, WAIT_FOR_FACTORS]
    if kind == "moved":
        # The first thread of the service creates all others, which inherit its affinity.
        return [f"taskset -cp {cpu} {pid} >/dev/null && {WAIT_FOR_FACTORS}" for cpu in (0, 1)]
    return [f"echo {text} >{factors} && {WAIT_FOR_FACTORS}" for text in (BASELINE, FACTORS[kind])]


def end_last_condition(factors, report):
    """Lets the service report its totals until now."""
    size = report.stat().st_size
    factors.write_text(STEADY + "\n")
    while report.stat().st_size == size:
        time.sleep(0.01)


def record(runs, kind, directory, *options, pairs=max(PAIRS)):
    """Records pairs of runs. Returns the report of the service about itself."""
    with running_service(directory) as (pid, factors, report), running_load(directory):
        command = [CTPROF, "record", "-q", "--no-sync", "--interleave", *commands(kind, pid, factors), "--repeat", str(pairs),
                   "-d", LENGTH, "-o", runs, *options]
        with subprocess.Popen(command, process_group=0) as recording:
            try:
                status = recording.wait()
            except BaseException:
                recording.send_signal(signal.SIGINT)  # record ends the current run and keeps the finished ones
                recording.wait()
                raise
        if status:
            raise subprocess.CalledProcessError(status, command)
        if kind in FACTORS:
            end_last_condition(factors, report)
            return report.read_text()
    return ""


def keep_pairs(runs, pairs):
    """Keeps only the first runs of each side."""
    for side in ("a", "b"):
        for file in sorted((runs / side).iterdir(), key=lambda path: (len(path.name), path.name))[pairs:]:
            file.unlink()


def compare_runs(*sides):
    completed = subprocess.run([CTPROF, "compare", *sides, "--format", "json"], stdout=subprocess.PIPE, check=True)
    return json.loads(completed.stdout)


def significant_rows(report, first=None):
    """Returns the significant rows, of the first rows or all: the group, and the labels of its significant headlines."""
    labels = [column["label"] for column in report["screen"]["headlines"]]
    return [(row["group"], [label for label, figure in zip(labels, row["figures"]) if figure[1].get("proven")])
            for row in report["screen"]["rows"][:first] if row["proven"]]


def is_detected(report, kind):
    return any(group == SERVICE and DETECTED_IN[kind] in labels for group, labels in significant_rows(report, 5))


def series(kinds, times, path, measure):
    """Yields `times` results, of the kinds in turn: those that `path` (None: no file) stores from earlier sessions, then new ones.
    `measure(kind, directory)` records one and returns it. A recording that was interrupted is repeated."""
    path = path and pathlib.Path(path)
    lines = path.read_text().splitlines() if path and path.exists() else []
    earlier = [result for result in map(json.loads, lines) if result["kind"] in kinds][:times]
    yield from earlier
    for at in range(len(earlier), times):
        kind = kinds[at % len(kinds)]
        with tempfile.TemporaryDirectory(prefix="significance-") as directory:
            result = {"kind": kind, **measure(kind, pathlib.Path(directory))}
        if path:
            with path.open("a") as file:
                file.write(json.dumps(result) + "\n")
        yield result


def compare_equal(kind, directory):
    """Returns the significant rows by number of pairs."""
    runs = directory / "runs"
    record(runs, kind, directory)
    found = {}
    for pairs in PAIRS:
        keep_pairs(runs, pairs)
        found[pairs] = [f"{group} {' '.join(labels)}" for group, labels in significant_rows(compare_runs(runs))]
    return {"significant": {str(pairs): rows for pairs, rows in found.items()}}


def soak_equal(times, path):
    counts, comparisons, status = dict.fromkeys(map(str, PAIRS), 0), 0, 0
    try:
        for result in series(["equal"], times, path, compare_equal):
            comparisons += 1
            for pairs, rows in result["significant"].items():
                counts[pairs] += bool(rows)
                print(f"equal, {pairs} pairs: {counts[pairs]} of {comparisons}; significant: {'; '.join(rows[:5]) or 'nothing'}", flush=True)
    except Interrupted:
        print("interrupted", flush=True)
        status = INTERRUPTED
    for pairs, count in counts.items():
        print(f"equal, {pairs} pairs: {count} of {comparisons} had a significant row", flush=True)
    return status or int(any(count * OF > comparisons * MAX_FALSE for count in counts.values()))


def write_recording(kind, file):
    with tempfile.TemporaryDirectory(prefix="significance-") as name:
        runs = pathlib.Path(name) / "runs"
        record(runs, kind, pathlib.Path(name), "--no-hostname", "--metrics", ",".join(recorded.METRICS))
        recorded.pack(runs, pathlib.Path(file))
    return 0


def run(soak):
    """Runs `soak(path of the results)` with the signals and on a host that it needs. Returns the exit status."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    if len(os.sched_getaffinity(0)) < 2:
        print("two CPUs are required, for the service and for the load", file=sys.stderr)
        return 77
    try:
        return soak(os.environ.get("SIGNIFICANCE_RESULTS"))
    except Interrupted:
        return INTERRUPTED


def main(kind, *arguments):
    if kind == "keep":
        return run(lambda _: write_recording(*arguments))
    return run(lambda path: soak_equal(*map(int, arguments or ["40"]), path))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
