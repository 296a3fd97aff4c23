#!/usr/bin/python3
"""Runs a command, and prints its exit status and whether its memory stayed below the limit for hostile input.

    measure.py [--memory MB] [--cpu SECONDS] [--output MB] COMMAND...

The command uses at most two CPUs.

--cpu also limits its CPU time if CPU_BOUNDS is set, because the time depends on the machine and its load.
--output counts standard output instead of printing it. A command that exceeds one of the two limits is terminated.
"""

import argparse
import os
import resource
import subprocess
import sys

PIECE = 1 << 20
PROCESSORS = 2
# Delay until a process that has used up its CPU time is killed.
GRACE_SECONDS = 1


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory", type=int, default=700)
    parser.add_argument("--cpu", type=int, default=0)
    parser.add_argument("--output", type=int)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    options.cpu = options.cpu if "CPU_BOUNDS" in os.environ else 0
    return options


def run(options):
    """Returns (exit status, bytes of output); the bytes are 0 unless they were requested."""

    def limit():
        # Each worker needs memory, and the number of workers is that of idle CPUs.
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:PROCESSORS])
        if options.cpu:
            resource.setrlimit(resource.RLIMIT_CPU, (options.cpu + GRACE_SECONDS, options.cpu + GRACE_SECONDS))

    sink = subprocess.PIPE if options.output else None
    with subprocess.Popen(options.command, stdout=sink, preexec_fn=limit) as process:
        size = 0
        while sink and (piece := os.read(process.stdout.fileno(), PIECE)):
            size += len(piece)
            if size > options.output << 20:
                process.kill()
                break
        return process.wait(), size


def describe_usage(what, used, bound, unit):
    return f"below {bound} {unit}{what}" if used < bound else f"{used:.0f} {unit}{what}"


def main():
    options = arguments()
    status, size = run(options)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    parts = [f"status {status}", describe_usage("", used.ru_maxrss / 1024, options.memory, "MB")]
    seconds = used.ru_utime + used.ru_stime
    if options.cpu and seconds >= options.cpu:
        parts.append(f"{seconds:.0f} s of CPU")
    if options.output:
        parts.append(describe_usage(" of output", size >> 20, options.output, "MB"))
    sys.stdout.flush()
    print(", ".join(parts))


main()
