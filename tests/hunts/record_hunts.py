#!/usr/bin/python3
"""Records the windows that recorded_test.py reads.

    record_hunts.py record DIRECTORY [KIND...]    writes DIRECTORY/KIND.before.ctprof.zst and KIND.after.ctprof.zst for each kind
    record_hunts.py pack DIRECTORY FILE.tar.xz    packs them as text into one archive, without information about the host

The windows contain only the processes of one cgroup. Recording requires root, a cgroup v2 hierarchy, and an idle host.
Environment: CTPROF, TROUBLES, WAITERS.
"""

import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import hunt_screens  # noqa: E402
from hunt_screens import harness  # noqa: E402
from cgroups_test import find_hierarchy, remove  # noqa: E402

# The CPU shares of the programs relative to other processes, if cgroups of version 1 have the
# controller.
SHARES = pathlib.Path("/sys/fs/cgroup/cpu/hunt")
# Additional recorders of a recording, and its programs if they are not only the one of its name.
RECORDERS = {"locks": "off-cpu", "python": "on-cpu", "naps": "off-cpu", "polls": "off-cpu", "pipes": "off-cpu", "pool": "off-cpu"}
PROGRAMS = {"neighbour": ("server", "burner"), "locks": ("convoy",), "demoted": ("demoted", "rival"), "python": (), "naps-without-stacks": ("naps",)}
KINDS_OF_WAITERS = ("naps", "polls", "pipes", "pool")  # of waiters.c; the other programs are of troubles.c


@contextlib.contextmanager
def large_share():
    if not SHARES.parent.exists():
        yield
        return
    SHARES.mkdir()
    try:
        (SHARES / "cpu.shares").write_text("262144", encoding="ascii")
        yield
    finally:
        remove(os.fsencode(SHARES))


@contextlib.contextmanager
def hunt_cgroup():
    top = os.path.join(find_hierarchy(), b"hunt")
    os.mkdir(top)
    try:
        yield os.fsdecode(top)
    finally:
        for directory, _, _ in list(os.walk(top, topdown=False)):
            remove(directory)


def start(stack, top, words, place):
    directory = os.path.join(top, place)
    os.mkdir(directory)
    program = stack.enter_context(words)
    for cgroup in (pathlib.Path(directory), *([SHARES] if SHARES.exists() else [])):
        (cgroup / "cgroup.procs").write_text(str(program.pid), encoding="ascii")
    return program


def record(path, kind):
    recorders = ["--recorders", RECORDERS[kind]] if kind in RECORDERS else []
    hunt_screens.run_checked("record", "--no-sync", "-q", "--no-hostname", "--cgroup", "/hunt", "-d", f"{hunt_screens.SECONDS}s", *recorders, "-o", str(path))


def start_helper(name, file):
    return harness.Helper("WAITERS" if name in KINDS_OF_WAITERS else "TROUBLES", name, f"h-{name}", file)


def record_hunt(directory, kind):
    with contextlib.ExitStack() as stack:
        stack.enter_context(large_share())
        top = stack.enter_context(hunt_cgroup())
        file = os.path.join(stack.enter_context(harness.scratch()), "file")
        programs = [start(stack, top, start_helper(name, file), name) for name in (*PROGRAMS.get(kind, (kind,)), "idler")]
        record(directory / f"{kind}.before.ctprof.zst", kind)
        if kind == "python":
            start(stack, top, harness.Process(["python3", "-c", "while True: sum(i * i for i in range(1000))"]), "python")
            time.sleep(0.2)
        for program in programs:
            program.process.stdin.write(b"trouble\n")
            program.process.stdin.flush()
            program.process.stdout.readline()
        record(directory / f"{kind}.after.ctprof.zst", kind)


KINDS = ("neighbour", "convoy", "locks", "syncer", "leaker", "grower", "workers", "forker", "poller", "zombies", "stuck", "tail", "demoted", "python",
         "naps-without-stacks", *KINDS_OF_WAITERS)


def remove_host_details(text):
    """Returns the lines of a window without the kernel command line and the build directory of the programs."""
    lines = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        line.get("host", {}).pop("kernel_cmdline", None)
    texts = "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines[:-1])
    body = re.sub(r"/[^\"' ]*/(troubles|waiters)\b", r"/usr/bin/\1", texts).encode()
    lines[-1]["bytes"] = len(body)
    return body + json.dumps(lines[-1], separators=(",", ":")).encode() + b"\n"


def pack(directory, file):
    with tarfile.open(file, "w:xz", preset=9) as archive:
        for path in sorted(directory.glob("*.ctprof.zst")):
            text = remove_host_details(subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout)
            member = tarfile.TarInfo(path.name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))


def main():
    command, directory, *words = sys.argv[1:]
    if command == "pack":
        pack(pathlib.Path(directory), words[0])
        return
    for kind in words or KINDS:
        record_hunt(pathlib.Path(directory), kind)


if __name__ == "__main__":
    main()
