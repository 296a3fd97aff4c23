"""Detection: finding jemalloc's counters in processes of many distinct executables, with an initially empty cache of files."""

import contextlib
import pathlib
import shutil
import subprocess
import tempfile

from measure import alternate, ms, run, show

EXECUTABLES, PROCESSES_EACH = 100, 3
TARGET = "at most 0.30"


@contextlib.contextmanager
def processes(program):
    """Runs EACH processes of each of EXECUTABLES copies of `program`; the copies are distinct files."""
    with tempfile.TemporaryDirectory(prefix="detect-") as directory:
        copies = [shutil.copy(program, pathlib.Path(directory) / str(number)) for number in range(EXECUTABLES)]
        children = [
            subprocess.Popen([copy, "threads", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for copy in copies for _ in range(PROCESSES_EACH)
        ]
        try:
            if any(child.stdout.readline() != b"ready\n" for child in children):
                raise SystemExit(f"bench: could not start {program}")
            yield [str(child.pid) for child in children]
        finally:
            for child in children:
                child.stdin.close()
                child.wait()
                child.stdout.close()


def row(name, results):
    cold, warm = results["cold_ns"], results["warm_ns"]
    found = f"{results['found']:.0f} of {EXECUTABLES * PROCESSES_EACH}"
    minimum = f"{results['cold_ns min'] / EXECUTABLES / 1e6:.3f} ms"
    return (name, ms(cold), f"{cold / EXECUTABLES / 1e6:.3f} ms", minimum, ms(warm), found, TARGET)


def bench(tools, repeat):
    """Runs `tools.detect` on copies of each program of `tools.jemalloc_idle`: {how jemalloc is linked: program}."""
    rows = [("", "empty cache", "per executable", "minimum", "warm cache", "found", "target, ms")]
    for name, program in tools.jemalloc_idle.items():
        with processes(program) as pids:
            results = alternate(repeat, {name: lambda pids=pids: run([tools.detect, *pids]).json()})
        rows.append(row(name, results[name]))
    show(f"jemalloc in {EXECUTABLES * PROCESSES_EACH} processes of {EXECUTABLES} executables, {repeat} rounds", rows)
