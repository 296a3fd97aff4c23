"""Tests interleaved comparisons on this host under a steady mixed load: they must detect differences, and report none if nothing differs.

    soak_significance.py equal|different|work|lock|moved [TIMES]      40 times by default
    soak_significance.py keep KIND FILE                             writes one recording for tests/statistics/recorded

Each repetition records 8 pairs of runs, and compares all of them and the first 6.

equal: both commands do nothing. At most 5 of 40 comparisons may have a significant row.
different: the service (planted.c) of one side differs, in these three kinds in turn. In 36 of 40 comparisons, the headline of the kind must be
significant and in the first five rows:

    work    a request works 20 % longer: %CPU
    lock    a request holds its lock 20 % longer while it sleeps: %blocked. CPU time is unchanged; other threads wait longer
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
LENGTH = "3s"
PAIRS = (8, 6)
DETECTED_IN = {"work": "%CPU", "lock": "%blocked", "moved": "%wait"}
FACTORS = {"work": "1.2 1", "lock": "1 1.2"}
INTERRUPTED = 130
# Limits for a series of OF comparisons.
MAX_FALSE, MIN_DETECTED, OF = 5, 36, 40
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
def running_load(directory):
    """Runs the load and the service until the block ends. Yields the service's process id and its file of factors."""
    factors = directory / "factors"
    factors.write_text("1 1\n")
    with contextlib.ExitStack() as stack:
        for text in LOAD:
            stack.enter_context(running_process(["sh", "-c", text], cwd=directory))
        service = stack.enter_context(running_process([shutil.copy(PLANTED, directory / SERVICE), factors]))
        time.sleep(WARM_UP_SECONDS)
        yield service.pid, factors


def commands(kind, pid, factors):
    """Returns the command that sets the condition of each side."""
    if kind == "equal":
        return [WAIT_FOR_FACTORS, WAIT_FOR_FACTORS]
    if kind == "moved":
        # The first thread of the service creates all others, which inherit its affinity.
        return [f"taskset -cp {cpu} {pid} >/dev/null && {WAIT_FOR_FACTORS}" for cpu in (0, 1)]
    return [f"echo {text} >{factors} && {WAIT_FOR_FACTORS}" for text in ("1 1", FACTORS[kind])]


def record(runs, kind, directory, *options):
    with running_load(directory) as (pid, factors):
        command = [CTPROF, "record", "-q", "--no-sync", "--interleave", *commands(kind, pid, factors), "--repeat", str(max(PAIRS)),
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


class Count:
    """Counts the positive comparisons of one kind and number of pairs."""

    def __init__(self, kind, pairs):
        self.kind, self.pairs, self.found, self.times = kind, pairs, 0, 0

    def add(self, report):
        """Counts a comparison, and returns the result to store."""
        found = bool(significant_rows(report)) if self.kind == "equal" else is_detected(report, self.kind)
        rows = "; ".join(f"{group} {' '.join(labels)}" for group, labels in significant_rows(report)[:5])
        return self.count({"kind": self.kind, "pairs": self.pairs, "found": found, "proven": rows})

    def count(self, result):
        self.times += 1
        self.found += result["found"]
        print(f"{self.kind}, {self.pairs} pairs: {self.found} of {self.times}; significant: {result['proven'] or 'nothing'}", flush=True)
        return result

    def __str__(self):
        word = "had a significant row" if self.kind == "equal" else "detected the difference"
        return f"{self.kind}, {self.pairs} pairs: {self.found} of {self.times} {word}"


def limits_are_met(counts, has_equal_sides):
    """Checks the limits for each number of pairs, over all kinds."""
    for pairs in PAIRS:
        found = sum(count.found for count in counts if count.pairs == pairs)
        times = sum(count.times for count in counts if count.pairs == pairs)
        if found * OF > times * MAX_FALSE if has_equal_sides else found * OF < times * MIN_DETECTED:
            return False
    return True


def is_result_of(count, result):
    return (count.kind, count.pairs) == (result["kind"], result["pairs"])


class Results:
    """Stores the comparisons of earlier sessions, one per line, so that a long series can be interrupted. A recording without a comparison
    for each number of pairs is repeated."""

    def __init__(self, path):
        self.path = path and pathlib.Path(path)

    def load_earlier(self, counts, kinds):
        """Adds the results of earlier sessions to `counts`. Returns the number of recordings that they used."""
        lines = self.path.read_text().splitlines() if self.path and self.path.exists() else []
        results = [json.loads(line) for line in lines]
        recordings = 0
        for kind in kinds:
            of_kind = [[result for result in results if is_result_of(count, result)] for count in counts if count.kind == kind]
            complete = min(map(len, of_kind))
            recordings += complete
            for count, earlier in zip([count for count in counts if count.kind == kind], of_kind):
                for result in earlier[:complete]:
                    count.count(result)
        return recordings

    def append(self, results):
        if self.path:
            with self.path.open("a") as file:
                file.writelines(json.dumps(result) + "\n" for result in results)


def soak(kinds, times, results=None):
    counts = [Count(kind, pairs) for kind in kinds for pairs in PAIRS]
    results = Results(results)
    status = 0
    try:
        for at in range(results.load_earlier(counts, kinds), times):
            kind = kinds[at % len(kinds)]
            with tempfile.TemporaryDirectory(prefix="significance-") as name:
                runs = pathlib.Path(name) / "runs"
                record(runs, kind, pathlib.Path(name))
                found = []
                for count in counts:
                    if count.kind == kind:
                        keep_pairs(runs, count.pairs)
                        found.append(count.add(compare_runs(runs)))
                results.append(found)
    except Interrupted:
        print("interrupted", flush=True)
        status = INTERRUPTED
    for count in counts:
        print(count, flush=True)
    return status or int(not limits_are_met(counts, kinds == ["equal"]))


def write_recording(kind, file):
    with tempfile.TemporaryDirectory(prefix="significance-") as name:
        runs = pathlib.Path(name) / "runs"
        record(runs, kind, pathlib.Path(name), "--no-hostname", "--metrics", ",".join(recorded.METRICS))
        recorded.pack(runs, pathlib.Path(file))
    return 0


def main(kind, *arguments):
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    if len(os.sched_getaffinity(0)) < 2:
        print("soak_significance: two CPUs are required, for the service and for the load", file=sys.stderr)
        return 77
    if kind == "keep":
        try:
            return write_recording(*arguments)
        except Interrupted:
            return INTERRUPTED
    kinds = list(DETECTED_IN) if kind == "different" else [kind]
    return soak(kinds, *map(int, arguments or ["40"]), results=os.environ.get("SIGNIFICANCE_RESULTS"))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
