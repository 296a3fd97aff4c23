#!/usr/bin/python3
"""Records the windows that recorded_test.py reads.

    record_hunts.py record DIRECTORY [KIND...]    writes DIRECTORY/KIND.before.ctprof.zst and KIND.after.ctprof.zst for each kind
    record_hunts.py pack DIRECTORY FILE.tar.xz    adds them as text to an archive, without information about the host; replaces equal names

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

CONTROLLERS = pathlib.Path("/sys/fs/cgroup")
# If cgroups of version 1 have the controllers: the first one has the CPU shares of the programs
# relative to other processes.
GROUPS = (CONTROLLERS / "cpu/hunt", CONTROLLERS / "memory/hunt")
# Additional recorders of a recording, and its programs if they are not only the one of its name.
RECORDERS = {"python": "on-cpu"} | dict.fromkeys(("locks", "naps", "polls", "pipes", "pool", "logger", "holder", "deadlock"), "off-cpu")
PROGRAMS = {"neighbour": ("server", "burner"), "locks": ("convoy",), "demoted": ("demoted", "rival"), "python": (), "naps-without-stacks": ("naps",),
            "niced": ("niced", "rival"), "realtime": ("realtime", "rival"), "bulk": ("bulk", "lookups"), "throttled": ("server",)}
# Limits of cgroups of version 1 that apply from the second window on: the file and its text.
LIMITS = {"realtime": ("cpu/hunt/cpu.rt_runtime_us", "900000"), "throttled": ("cpu/hunt/cpu.cfs_quota_us", "20000"),
          "reclaim": ("memory/hunt/memory.limit_in_bytes", str(48 << 20))}
KINDS_OF_WAITERS = ("naps", "polls", "pipes", "pool")  # of waiters.c; the other programs are of troubles.c


@contextlib.contextmanager
def first_version_cgroups():
    with contextlib.ExitStack() as stack:
        for group in GROUPS:
            if group.parent.exists():
                group.mkdir()
                stack.callback(remove, os.fsencode(group))
        if GROUPS[0].exists():
            (GROUPS[0] / "cpu.shares").write_text("262144", encoding="ascii")
        yield


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
    children = pathlib.Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text(encoding="ascii").split()
    for cgroup in (pathlib.Path(directory), *(group for group in GROUPS if group.exists())):
        for process in (str(program.pid), *children):
            (cgroup / "cgroup.procs").write_text(process, encoding="ascii")
    return program


def lacks_controller(kind):
    return kind in LIMITS and not (CONTROLLERS / LIMITS[kind][0]).parent.parent.exists()


def set_limit(kind):
    if kind in LIMITS:
        file, text = LIMITS[kind]
        (CONTROLLERS / file).write_text(text, encoding="ascii")


def record(path, kind, seconds):
    recorders = ["--recorders", RECORDERS[kind]] if kind in RECORDERS else []
    hunt_screens.run_checked("record", "--no-sync", "-q", "--no-hostname", "--cgroup", "/hunt", "-d", f"{seconds}s", *recorders, "-o", str(path))


def start_helper(name, file):
    return harness.Helper("WAITERS" if name in KINDS_OF_WAITERS else "TROUBLES", name, f"h-{name}", file)


def record_hunt(directory, kind, healthy_seconds=hunt_screens.SECONDS):
    """Records a window of healthy programs, and then one with their problem."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(first_version_cgroups())
        top = stack.enter_context(hunt_cgroup())
        file = os.path.join(stack.enter_context(harness.scratch()), "file")
        programs = [start(stack, top, start_helper(name, file), name) for name in (*PROGRAMS.get(kind, (kind,)), "idler")]
        record(directory / f"{kind}.before.ctprof.zst", kind, healthy_seconds)
        if kind == "python":
            start(stack, top, harness.Process(["python3", "-c", "while True: sum(i * i for i in range(1000))"]), "python")
            time.sleep(0.2)
        set_limit(kind)
        for program in programs:
            program.process.stdin.write(b"trouble\n")
            program.process.stdin.flush()
            program.process.stdout.readline()
        record(directory / f"{kind}.after.ctprof.zst", kind, hunt_screens.SECONDS)


KINDS = ("neighbour", "convoy", "locks", "syncer", "leaker", "grower", "workers", "forker", "poller", "zombies", "stuck", "tail", "demoted", "python",
         "niced", "realtime", "yielder", "timer", "herd", "crowd", "imbalance", "hang", "churn", "faulter", "mapper", "heap", "reclaim", "scanner",
         "bulk", "logger", "holder", "deadlock", "flock", "pipeline", "sockets", "spawner", "throttled", "naps-without-stacks", *KINDS_OF_WAITERS)


def remove_host_details(text):
    """Returns the lines of a window without the kernel command line and the build directory of the programs."""
    lines = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        line.get("host", {}).pop("kernel_cmdline", None)
    texts = "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines[:-1])
    body = re.sub(r"/[^\"' ]*/(troubles|waiters)\b", r"/usr/bin/\1", texts).encode()
    lines[-1]["bytes"] = len(body)
    return body + json.dumps(lines[-1], separators=(",", ":")).encode() + b"\n"


def read_archive(file):
    """Returns the texts of an archive by name; none if it does not exist."""
    if not file.exists():
        return {}
    with tarfile.open(file) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}


def pack(directory, file):
    texts = read_archive(file)
    for path in directory.glob("*.ctprof.zst"):
        texts[path.name] = remove_host_details(subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout)
    with tarfile.open(file, "w:xz", preset=9) as archive:
        for name, text in sorted(texts.items()):
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))


def main():
    command, directory, *words = sys.argv[1:]
    if command == "pack":
        pack(pathlib.Path(directory), pathlib.Path(words[0]))
        return
    for kind in words or KINDS:
        record_hunt(pathlib.Path(directory), kind)


if __name__ == "__main__":
    main()
