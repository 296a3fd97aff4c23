"""Compares spans of archives on this host that differ, and spans that do not.

    soak_spans.py

Five services (planted.c) run at a time, each recorded by a recorder of its own (`record --every 1s -p PID`), over 8 spans of 150 s in
which the work of a request alternates between two values; the larger one is 30 % more. Each service gives 4 pairs of a span with its
successor, which differ, and 4 pairs of spans with equal work, two for each value. At least 18 of the 20 pairs that differ must have a
significant row, and at most 3 of the 20 others.

Takes 21 minutes. Spans in which the load of the host changes have too few blocks for a test; such pairs count as not significant, so the
host must be quiet or equally busy. Prints a line for each pair, and a summary. soak_significance.py describes the load and the environment.
"""

import contextlib
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import soak_significance
from soak_significance import CTPROF

SERVICES, SPANS, WINDOWS = 5, 8, 150
CONDITIONS = ("a 0.25 1 1 1", "b 0.325 1 1 1")
MIN_DETECTED, MAX_FALSE = 18, 3
# Seconds after a change of the condition that belong to no span.
SETTLE_SECONDS = 3


class Lane:
    """One service and its recorder."""

    def __init__(self, name, archive, factors):
        self.name, self.archive, self.factors = name, archive, factors

    def set_condition(self, at):
        self.factors.write_text(CONDITIONS[at % 2] + "\n")


@contextlib.contextmanager
def running_lane(directory, number):
    name, archive = f"planted{number}", directory / f"archive{number}"
    with soak_significance.running_service(directory, name) as (pid, factors, _):
        command = [CTPROF, "record", "-q", "--every", "1s", "-p", str(pid), "-o", archive]
        with soak_significance.running_process(command) as recorder:
            yield Lane(name, archive, factors)
            recorder.send_signal(signal.SIGINT)  # record stores the open window
            recorder.wait()


def record_spans(lanes):
    """Returns the spans, in whole seconds since 1970."""
    spans = []
    for at in range(SPANS):
        for lane in lanes:
            lane.set_condition(at)
        since = int(time.time()) + SETTLE_SECONDS
        spans.append((since, since + WINDOWS))
        time.sleep(max(0, since + WINDOWS - time.time()))
        print(f"recorded span {at + 1} of {SPANS}", flush=True)
    return spans


def choose_pairs():
    """Returns the pairs of spans that differ, and those that do not."""
    different = [(at, at + 1) for at in range(0, SPANS, 2)]
    equal = [(at, at + 2) for at in range(SPANS - 2) if at % 4 < 2]
    return different, equal


def compare_spans(lane, one, other):
    """Returns the significant rows, and the messages."""
    command = [CTPROF, "compare", lane.archive, lane.archive, "--format", "json"]
    for since, until in (one, other):
        command += ["--since", f"@{since}", "--until", f"@{until}"]
    completed = subprocess.run(command, capture_output=True, text=True, check=True)
    report = json.loads(completed.stdout)
    rows = soak_significance.significant_rows(report)
    return [f"{group} {' '.join(labels)}" for group, labels in rows], completed.stderr


def shorten(messages):
    """Returns the number of blocks of each side, or the reason why there are none."""
    lines = [line for line in messages.splitlines() if "blocks" in line or "too few" in line]
    return "; ".join(line.split(": ", 1)[1] for line in lines)


def count_differing(what, lanes, spans, pairs):
    found = 0
    for lane in lanes:
        for one, other in pairs:
            rows, messages = compare_spans(lane, spans[one], spans[other])
            found += bool(rows)
            print(f"{what}: {lane.name}, spans {one + 1} and {other + 1}: {'; '.join(rows) or 'nothing'} ({shorten(messages)})", flush=True)
    return found


def main(directory):
    with soak_significance.running_load(directory), contextlib.ExitStack() as stack:
        lanes = [stack.enter_context(running_lane(directory, number)) for number in range(SERVICES)]
        spans = record_spans(lanes)
    different, equal = choose_pairs()
    detected, wrong = count_differing("different", lanes, spans, different), count_differing("equal", lanes, spans, equal)
    print(f"different: {detected} of {SERVICES * len(different)} pairs have a significant row, at least {MIN_DETECTED} required")
    print(f"equal: {wrong} of {SERVICES * len(equal)} pairs have a significant row, at most {MAX_FALSE} allowed")
    return int(detected < MIN_DETECTED or wrong > MAX_FALSE)


def soak(_):
    with tempfile.TemporaryDirectory(prefix="spans-") as directory:
        return main(pathlib.Path(directory))


if __name__ == "__main__":
    sys.exit(soak_significance.run(soak))
