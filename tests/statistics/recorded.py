"""Recorded runs in one small file: the text of all of them, packed together, without what tells of the host that they were
made on."""

import io
import json
import pathlib
import subprocess
import tarfile
import tempfile

# What the headlines are made of, and no other.
METRICS = ("run_time_ns", "wait_time_ns", "voluntary_csw", "nonvoluntary_csw", "page_faults", "read_bytes", "write_bytes",
           "nr_migrations", "rss_bytes")
# Processes that the recorded load is made of; those of the kernel keep their names, too.
LOAD = {"sh", "head", "true", "sleep", "planted", "ctprof", "taskset"}
# In ns. The last digits of times would be half of what the files take: what threads that ended spent is rounded down, and the span in
# which any thread was seen, of 3 s, is rounded up, so that what is left of it never falls below zero.
STEPS = {"run_time_ns": 10_000, "wait_time_ns": 10_000}
STEP_OF_MOMENTS = 100_000
NAMES = {"pcomm", "comm", "process.pcomm"}


def rounded(first, last):
    """A span that is not shortened."""
    return [first // STEP_OF_MOMENTS * STEP_OF_MOMENTS, -(-last // STEP_OF_MOMENTS) * STEP_OF_MOMENTS]


def without_host(text):
    """The lines of a run; names of processes that are no part of it are `other`, and nothing tells how the kernel was started."""
    lines = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        line.get("host", {}).pop("kernel_cmdline", None)
    tables = [line["columns"] for line in lines if "columns" in line]
    kept = LOAD.union(name for table in tables for name, is_kernel in zip(table.get("comm", []), table.get("kernel_thread", [])) if is_kernel)
    for table in tables:
        for column in NAMES.intersection(table):
            table[column] = [name if name in kept else "other" for name in table[column]]
    for line in lines:
        if "seen" in line:
            line["seen"] = [rounded(*span) for span in line["seen"]]
        if line["kind"] == "exited":
            for column, step in STEPS.items():
                line["columns"][column] = [value and value // step * step for value in line["columns"][column]]
    body = "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines[:-1]).encode()
    lines[-1]["bytes"] = len(body)
    return body + json.dumps(lines[-1], separators=(",", ":")).encode() + b"\n"


def pack(runs, file):
    with tarfile.open(file, "w:xz", preset=9) as archive:
        for path in sorted(runs.glob("[ab]/*")):
            text = without_host(subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout)
            member = tarfile.TarInfo(str(path.relative_to(runs)))
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))


def write_frames(text, path):
    """A file of ctprof's: each line is a frame of its own."""
    with tempfile.TemporaryDirectory(prefix="frames-") as place:
        names = []
        for number, line in enumerate(text.splitlines(keepends=True)):
            names.append(pathlib.Path(place) / str(number))
            names[-1].write_bytes(line)
        with open(path, "wb") as out:
            subprocess.run(["zstd", "-qc", *names], stdout=out, check=True)


def unpack(file, runs):
    """Makes the directories `a` and `b` in `runs`, as `record --interleave` does."""
    with tarfile.open(file, "r:xz") as archive:
        for member in archive:
            path = runs / pathlib.PurePosixPath(member.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.extractfile(member) as text:
                write_frames(text.read(), path)
