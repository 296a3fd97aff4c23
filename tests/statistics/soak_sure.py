"""Whether comparisons in turns are silent where nothing differs, and speak where something does: on this host, under a steady mixed load.

    soak_sure.py silence|voice|work|lock|moved [TIMES]      40 times by default
    soak_sure.py keep KIND FILE                             one recording, as tests/statistics/recorded has it

Each time 8 pairs of runs are recorded, and compared twice: all of them, and the first 6 alone.

silence: both commands do nothing. At most 5 of 40 comparisons may have a proven row.
voice: one side's service (planted.c) differs, in these three kinds by turns. In 36 of 40 the headline that tells of it must be proven,
and in the first five rows:

    work    a request works 20 % longer: %CPU
    lock    a request holds its lock 20 % longer, asleep: %blocked. It takes no more CPU time; what others wait for is what grows
    moved   it runs on another CPU, which it shares with a loop, where it had one without: %wait

Prints a line for each comparison, and a summary, also when it is interrupted. Exit status 1 if that does not hold, 130 if interrupted.
All of it is one session, so that a host that does other things as well can be told to let it go first:

    setsid -w sh -c 'echo -15 >/proc/self/autogroup; exec python3 soak_sure.py ...'

SURE_RESULTS names a file that keeps each comparison; the next session goes on behind those that it has.
CTPROF names the program; PLANTED the service, by default that of the same build.
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
HEARD_IN = {"work": "%CPU", "lock": "%blocked", "moved": "%wait"}
FACTORS = {"work": "1.2 1", "lock": "1 1.2"}
INTERRUPTED = 130
# Of so many comparisons.
MOST_FALSE, LEAST_HEARD, OF = 5, 36, 40
# The loop has a CPU that the service does not have unless it is moved there.
LOAD = [
    "exec taskset -c 1 sh -c 'while :; do :; done'",
    "while :; do head -c 1M /dev/zero >out; sleep 0.1; done",
    "while :; do /bin/true; sleep 0.1; done",
    "while :; do echo; sleep 0.05; done | while read -r _; do :; done",
]
# By then the service has read what it is told.
SETTLED = "sleep 0.2"
# Seconds until all of the load takes what it takes.
WARM = 2


class Interrupted(Exception):
    pass


def interrupt(*_):
    raise Interrupted


@contextlib.contextmanager
def held(command, **how):
    """A process in a group of its own, gone with all that it started when the block ends."""
    process = subprocess.Popen(command, process_group=0, **how)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def running(place):
    """The load and the service, until the block ends. Yields the service's process id, and the file that says what it does."""
    factors = place / "factors"
    factors.write_text("1 1\n")
    with contextlib.ExitStack() as stack:
        for text in LOAD:
            stack.enter_context(held(["sh", "-c", text], cwd=place))
        service = stack.enter_context(held([shutil.copy(PLANTED, place / SERVICE), factors]))
        time.sleep(WARM)
        yield service.pid, factors


def commands(kind, pid, factors):
    """What makes the condition of each side."""
    if kind == "silence":
        return [SETTLED, SETTLED]
    if kind == "moved":
        # Its first thread makes all others, and they run where that one may.
        return [f"taskset -cp {cpu} {pid} >/dev/null && {SETTLED}" for cpu in (0, 1)]
    return [f"echo {told} >{factors} && {SETTLED}" for told in ("1 1", FACTORS[kind])]


def record(runs, kind, place, *options):
    with running(place) as (pid, factors):
        command = [CTPROF, "record", "-q", "--no-sync", "--interleave", *commands(kind, pid, factors), "--repeat", str(max(PAIRS)),
                   "-d", LENGTH, "-o", runs, *options]
        with subprocess.Popen(command, process_group=0) as recording:
            try:
                status = recording.wait()
            except BaseException:
                recording.send_signal(signal.SIGINT)  # it ends the run that it is at, and takes nothing with it
                recording.wait()
                raise
        if status:
            raise subprocess.CalledProcessError(status, command)


def keep_pairs(runs, pairs):
    """Of each side the first of its runs."""
    for side in ("a", "b"):
        for file in sorted((runs / side).iterdir(), key=lambda path: (len(path.name), path.name))[pairs:]:
            file.unlink()


def compared(*sides):
    done = subprocess.run([CTPROF, "compare", *sides, "--format", "json"], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def proven(told, first=None):
    """The proven figures of the first rows or all, row by row: the group, and the labels of its headlines."""
    labels = [column["label"] for column in told["screen"]["headlines"]]
    return [(row["group"], [label for label, figure in zip(labels, row["figures"]) if figure[1].get("proven")])
            for row in told["screen"]["rows"][:first] if row["proven"]]


def is_heard(told, kind):
    return any(group == SERVICE and HEARD_IN[kind] in labels for group, labels in proven(told, 5))


class Count:
    """How many comparisons of one kind and number of pairs found something."""

    def __init__(self, kind, pairs):
        self.kind, self.pairs, self.found, self.times = kind, pairs, 0, 0

    def add(self, told):
        """Returns what is kept of the comparison."""
        found = bool(proven(told)) if self.kind == "silence" else is_heard(told, self.kind)
        rows = "; ".join(f"{group} {' '.join(labels)}" for group, labels in proven(told)[:5])
        return self.take({"kind": self.kind, "pairs": self.pairs, "found": found, "proven": rows})

    def take(self, result):
        self.times += 1
        self.found += result["found"]
        print(f"{self.kind}, {self.pairs} pairs: {self.found} of {self.times}; proven: {result['proven'] or 'nothing'}", flush=True)
        return result

    def __str__(self):
        word = "had a proven row" if self.kind == "silence" else "were heard"
        return f"{self.kind}, {self.pairs} pairs: {self.found} of {self.times} {word}"


def holds(counts, is_silence):
    """For each number of pairs, of all kinds together."""
    for pairs in PAIRS:
        found = sum(count.found for count in counts if count.pairs == pairs)
        times = sum(count.times for count in counts if count.pairs == pairs)
        if found * OF > times * MOST_FALSE if is_silence else found * OF < times * LEAST_HEARD:
            return False
    return True


def is_of(count, result):
    return (count.kind, count.pairs) == (result["kind"], result["pairs"])


class Results:
    """Comparisons of earlier sessions, a line each, so that a long series can be interrupted. Recordings that were not compared by all
    numbers of pairs are made again."""

    def __init__(self, path):
        self.path = path and pathlib.Path(path)

    def taken(self, counts, kinds):
        """Counts the earlier comparisons. How many recordings they are of."""
        lines = self.path.read_text().splitlines() if self.path and self.path.exists() else []
        results = [json.loads(line) for line in lines]
        recordings = 0
        for kind in kinds:
            of_kind = [[result for result in results if is_of(count, result)] for count in counts if count.kind == kind]
            whole = min(map(len, of_kind))
            recordings += whole
            for count, its in zip([count for count in counts if count.kind == kind], of_kind):
                for result in its[:whole]:
                    count.take(result)
        return recordings

    def keep(self, results):
        if self.path:
            with self.path.open("a") as file:
                file.writelines(json.dumps(result) + "\n" for result in results)


def soak(kinds, times, results=None):
    counts = [Count(kind, pairs) for kind in kinds for pairs in PAIRS]
    results = Results(results)
    status = 0
    try:
        for at in range(results.taken(counts, kinds), times):
            kind = kinds[at % len(kinds)]
            with tempfile.TemporaryDirectory(prefix="sure-") as name:
                runs = pathlib.Path(name) / "runs"
                record(runs, kind, pathlib.Path(name))
                found = []
                for count in counts:
                    if count.kind == kind:
                        keep_pairs(runs, count.pairs)
                        found.append(count.add(compared(runs)))
                results.keep(found)
    except Interrupted:
        print("interrupted", flush=True)
        status = INTERRUPTED
    for count in counts:
        print(count, flush=True)
    return status or int(not holds(counts, kinds == ["silence"]))


def keep(kind, file):
    with tempfile.TemporaryDirectory(prefix="sure-") as name:
        runs = pathlib.Path(name) / "runs"
        record(runs, kind, pathlib.Path(name), "--no-hostname", "--metrics", ",".join(recorded.METRICS))
        recorded.pack(runs, pathlib.Path(file))
    return 0


def main(kind, *arguments):
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    if len(os.sched_getaffinity(0)) < 2:
        print("soak_sure: the service and its neighbour need a CPU each", file=sys.stderr)
        return 77
    if kind == "keep":
        try:
            return keep(*arguments)
        except Interrupted:
            return INTERRUPTED
    kinds = list(HEARD_IN) if kind == "voice" else [kind]
    return soak(kinds, *map(int, arguments or ["40"]), results=os.environ.get("SURE_RESULTS"))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
