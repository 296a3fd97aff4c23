"""Packs recorded runs into one small file: an archive of their text, without information about the host."""

import io
import json
import pathlib
import subprocess
import tarfile
import tempfile

# The metrics from which the headlines are computed.
METRICS = ("run_time_ns", "wait_time_ns", "voluntary_csw", "nonvoluntary_csw", "page_faults", "read_bytes", "write_bytes",
           "nr_migrations", "rss_bytes")
# Processes of the recorded load. Kernel threads keep their names as well.
LOAD = {"sh", "head", "true", "sleep", "planted", "ctprof", "taskset"}
# In ns. The last digits of times would take half of the space. Times of exited threads are rounded
# down. The span of 3 s in which each thread was seen is rounded up, so that the difference between
# both never becomes negative.
STEPS = {"run_time_ns": 10_000, "wait_time_ns": 10_000}
TIME_STEP = 100_000
NAMES = {"pcomm", "comm", "process.pcomm"}


def round_span(first, last):
    """Rounds both ends so that the span is not shortened."""
    return [first // TIME_STEP * TIME_STEP, -(-last // TIME_STEP) * TIME_STEP]


def remove_host_details(text):
    """Returns the lines of a run without the kernel command line; processes outside the load are named `other`."""
    lines = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        line.get("host", {}).pop("kernel_cmdline", None)
    tables = [line["columns"] for line in lines if "columns" in line]
    kept_names = LOAD.union(name for table in tables for name, is_kernel in zip(table.get("comm", []), table.get("kernel_thread", [])) if is_kernel)
    for table in tables:
        for column in NAMES.intersection(table):
            table[column] = [name if name in kept_names else "other" for name in table[column]]
    for line in lines:
        if "seen" in line:
            line["seen"] = [round_span(*span) for span in line["seen"]]
        if line["kind"] == "exited":
            for column, step in STEPS.items():
                line["columns"][column] = [value and value // step * step for value in line["columns"][column]]
    body = "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in lines[:-1]).encode()
    lines[-1]["bytes"] = len(body)
    return body + json.dumps(lines[-1], separators=(",", ":")).encode() + b"\n"


def pack(runs, file):
    with tarfile.open(file, "w:xz", preset=9) as archive:
        for path in sorted(runs.glob("[ab]/*")):
            text = remove_host_details(subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout)
            member = tarfile.TarInfo(str(path.relative_to(runs)))
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))


def write_frames(text, path):
    """Writes a ctprof file, in which each line is a zstd frame."""
    with tempfile.TemporaryDirectory(prefix="frames-") as directory:
        names = []
        for number, line in enumerate(text.splitlines(keepends=True)):
            names.append(pathlib.Path(directory) / str(number))
            names[-1].write_bytes(line)
        with open(path, "wb") as out:
            subprocess.run(["zstd", "-qc", *names], stdout=out, check=True)


def unpack(file, runs):
    """Creates the directories `a` and `b` in `runs`, like `record --interleave`."""
    with tarfile.open(file, "r:xz") as archive:
        for member in archive:
            path = runs / pathlib.PurePosixPath(member.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.extractfile(member) as text:
                write_frames(text.read(), path)
