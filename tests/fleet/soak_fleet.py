#!/usr/bin/env python3
"""Checks a fleet of ten thousand hosts with 500 to 5,000 threads each: indexing takes at most five times as long as `zstd -dc` of the same bytes,
a ranking takes at most a hundredth of that, memory stays below 1 GB, and twice the files take about twice the time. A shift of 10 % in the
hosts of one kernel (a twentieth) is found, and no shift is found without one. HOSTS, THREADS and PLACE set other values.

Times are wall-clock times on an otherwise idle machine. Each value is printed with the result of its check.
"""

import contextlib
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import fleets

HOSTS = int(os.environ.get("HOSTS", "10000"))
THREADS = os.environ.get("THREADS", "500:5000")
RARE_KERNEL = "6.12.0"
KERNELS = {"6.1.0": 0.95, RARE_KERNEL: 0.05}
SHIFT = f"run_time_ns=1.1@{RARE_KERNEL}"
LOAD = ["exec head -c 1T /dev/zero >/dev/null", "while :; do sha256sum /bin/sh >/dev/null; done", "while :; do sleep 0.01; done"]
MOST_TIMES_ZSTD, MOST_OF_INDEXING, MOST_MEMORY_KIB, MOST_GROWTH = 5, 0.01, 1_000_000, 2.3


def fleet(*words, cwd):
    """Returns (seconds, largest total resident set of its processes in KiB, output as JSON)."""
    start = time.monotonic()
    process = subprocess.Popen([fleets.CTPROF, "fleet", *words, "--format", "json"], stdout=subprocess.PIPE, cwd=cwd, env=fleets.environment())
    watched = Memory(process.pid)
    out = []
    while True:
        watched.measure()
        try:
            out.append(process.communicate(timeout=0.05)[0])
            break
        except subprocess.TimeoutExpired:
            continue
    if process.returncode != 0:
        sys.exit(f"ctprof fleet {' '.join(words)} ended with {process.returncode}")
    return time.monotonic() - start, watched.most, json.loads(out[0])


class Memory:
    """The largest total resident set of a process and its descendants."""

    def __init__(self, pid):
        self.pid, self.most = pid, 0

    def measure(self):
        parents, sizes = {}, {}
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    stat = pathlib.Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                parents[int(entry)], sizes[int(entry)] = int(stat[1]), int(stat[21]) * resource.getpagesize() // 1024
        self.most = max(self.most, sum(size for pid, size in sizes.items() if self.is_ours(pid, parents)))

    def is_ours(self, pid, parents):
        while pid > 1:
            if pid == self.pid:
                return True
            pid = parents.get(pid, 0)
        return False


def decompress(place):
    """Returns the seconds that `zstd -dc` takes for all files."""
    start = time.monotonic()
    subprocess.run("find . -name '*.ctprof.zst' -print0 | xargs -0 -n 200 zstd -dcq > /dev/null", shell=True, check=True, cwd=place)
    return time.monotonic() - start


def check(what, holds):
    print(f"{'holds' if holds else 'FAILS'}: {what}", flush=True)
    FAILED.append(what) if not holds else None


FAILED = []


def check_limits(place):
    size = sum(file.stat().st_size for file in place.glob("*.ctprof.zst"))
    print(f"{HOSTS} files, {size / 2**30:.2f} GiB", flush=True)
    shutil.rmtree(place / fleets.INDEX, ignore_errors=True)
    floor = min(decompress(place) for _ in range(2))
    took, memory, summary = fleet("index", ".", cwd=place)
    check(f"all {summary['captures']} captures are in the index", summary["captures"] == HOSTS)
    check(f"indexing took {took:.1f} s, {took / floor:.2f} times zstd -dc ({floor:.1f} s)", took <= MOST_TIMES_ZSTD * floor)
    check(f"memory of all its processes was {memory // 1024} MiB", memory < MOST_MEMORY_KIB)
    for words in (["rank"], ["rank", "run_time_ns"], ["rank", "run_time_ns", "--cohort", "kernel"]):
        best = min(fleet(*words, cwd=place)[0] for _ in range(3))
        check(f"{' '.join(words)} took {best:.2f} s, {best / took * 100:.2f} % of indexing", best <= MOST_OF_INDEXING * took)
    again, _, summary = fleet("index", ".", cwd=place)
    check(f"indexing once more read {summary['read']} files in {again:.2f} s", summary["read"] == 0)
    for words in (["top"], ["compare", "--by", "kernel"]):
        seconds, memory, _ = fleet(*words, cwd=place)
        check(f"{' '.join(words)} took {seconds:.1f} s and {memory // 1024} MiB", memory < MOST_MEMORY_KIB)
    check_growth(place, took)


def check_growth(place, took):
    """Checks that half of the files take about half of the time."""
    with tempfile.TemporaryDirectory(prefix="half-", dir=place) as half:
        for file in sorted(place.glob("*.ctprof.zst"))[:HOSTS // 2]:
            os.link(file, pathlib.Path(half) / file.name)
        seconds, _, _ = fleet("index", ".", cwd=half)
    check(f"half of the files took {seconds:.1f} s, all {took / seconds:.2f} times that", took / seconds <= MOST_GROWTH)


@contextlib.contextmanager
def running(texts):
    """Runs shell loops, and kills them and their children at the end of the block."""
    processes = [subprocess.Popen(["sh", "-c", text], process_group=0) for text in texts]
    try:
        yield
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def record(place):
    """Records windows of this host under load, because an idle host has no figures to compare."""
    files = [place / f"seed-{number}.ctprof.zst" for number in range(3)]
    with running(LOAD):
        for file in files:
            subprocess.run([fleets.CTPROF, "record", "-q", "-d", "2s", "-o", file], check=True, stderr=subprocess.DEVNULL)
    return files


def significant_rows(place):
    candidate, = fleet("compare", "--by", "kernel", cwd=place)[2]["candidates"]
    return [(row["group"], row["metric"], round(row["shift"], 3)) for row in candidate["rows"] if row["proven"]]


def main():
    place = pathlib.Path(tempfile.mkdtemp(prefix="soak-fleet-", dir=os.environ.get("PLACE")))
    try:
        seeds = record(place)
        fleets.make(place / "even", HOSTS, threads=THREADS, kernels=KERNELS, seed=1, made_of=seeds)
        check_limits(place / "even")
        found = significant_rows(place / "even")
        check(f"no significant result without a shift: {found}", not found)
        shutil.rmtree(place / "even")
        fleets.make(place / "shifted", HOSTS, threads=THREADS, kernels=KERNELS, shift=SHIFT, seed=2, made_of=seeds)
        fleet("index", ".", cwd=place / "shifted")
        found = significant_rows(place / "shifted")
        check(f"a shift of 10 % in a twentieth is found: {found}", found and all(metric == "run_time_ns" for _, metric, _ in found))
    finally:
        shutil.rmtree(place)
    return 1 if FAILED else 0


if __name__ == "__main__":
    fleets.need_duckdb()
    sys.exit(main())
