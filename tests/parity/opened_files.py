"""Finds by strace which files a capture opens."""

import os
import re

import harness

# openat(3</proc>, "7/task/7/stat", O_RDONLY) = 4</proc/7/task/7/stat>
OPEN = re.compile(r'open(?:at|at2)?\((?:(?:AT_FDCWD|\d+)(?:<(?P<base>.*?)>)?, )?"(?P<path>[^"]*)"')


def opened_paths(log):
    """Returns the absolute paths of all attempts to open a file, successful or not."""
    for line in log.splitlines():
        call = OPEN.search(line)
        if call:
            yield os.path.normpath(os.path.join(call["base"] or "/", call["path"]))


def capture_under_strace(test, path, *words, plugins="procfs-sched"):
    """Captures under strace and returns strace's log."""
    log = path + ".strace"
    opens = ("-f", "-y", "-qq", "-e", "trace=open,openat,openat2")
    harness.under_strace(test, opens, f"--plugins={plugins}", "capture", "-o", path, *words, log=log)
    with open(log, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()
