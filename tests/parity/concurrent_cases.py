"""Runs the cases of a test file concurrently, each in its own process, because they mostly wait:

    if __name__ == "__main__":
        concurrent_cases.main(jobs=4, alone=["test_a_capture_of_the_whole_host"])

With names of cases as arguments (Class.test_name), the file runs only these, one after the other.
"""

import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

import harness

SKIPPED = 77


def _names_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from _names_of(test)
        else:
            yield test.id().removeprefix("__main__.")


def _run_case(name):
    """Runs a case, prints its output, and returns its exit status."""
    finished = subprocess.run([sys.executable, sys.argv[0], name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    print(finished.stdout, end="", flush=True)
    return finished.returncode


def main(jobs, alone=()):
    """Runs `jobs` cases at a time, and then those of `alone` one after the other."""
    if len(sys.argv) > 1:
        harness.main()
    names = list(_names_of(unittest.defaultTestLoader.loadTestsFromName("__main__")))
    last = [name for name in names if name.rpartition(".")[2] in alone]
    with ThreadPoolExecutor(jobs) as pool:
        statuses = list(pool.map(_run_case, [name for name in names if name not in last]))
    statuses += map(_run_case, last)
    if all(status == SKIPPED for status in statuses):
        sys.exit(SKIPPED)
    sys.exit(any(status not in (0, SKIPPED) for status in statuses))
