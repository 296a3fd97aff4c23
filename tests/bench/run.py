"""The bench of `tools/dev bench`: captures and files compared with their floors, then the micro benchmarks.

It measures and prints; nothing passes or fails. README.md explains the results.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import tempfile

import captures
import detect
import window_cost
import files
import fleet
import jemalloc
import live
import off_cpu
import on_cpu
import peers
import sleepers
import task_iter
import taskstats

KINDS = ("processes", "threads")
COUNTS = (1_000, 10_000)
# From this many threads on, peers run only with few processes: atop and ps take seconds for 10,000
# processes.
MANY_PROCESSES = 5_000
FEW_PROCESSES = ("threads", "twenty")
JEMALLOC_COUNTS = (100, 1_000, 5_000)


class Tools:
    """The measured programs in a build directory."""

    def __init__(self, build):
        programs = pathlib.Path(build) / "tests" / "bench"
        self.ctprof = pathlib.Path(build) / "tools" / "ctprof" / "ctprof"
        self.plugins = pathlib.Path(build) / "plugins"
        self.idle, self.floor = programs / "idle", programs / "floor"
        self.taskstats_floor = programs / "taskstats_floor"
        self.storm = pathlib.Path(build) / "tests" / "record" / "storm"
        self.task_iter_floor = programs / "task_iter_floor"
        self.switches, self.off_cpu_floor = programs / "switches", programs / "off_cpu_floor"
        self.sleepers_passes = programs / "sleepers_passes"
        self.file_speed, self.make_snapshot = programs / "file_speed", programs / "make_snapshot"
        self.make_runs = programs / "make_runs"
        self.make_fleet = pathlib.Path(build) / "tests" / "fleet" / "make_fleet"
        self.ptrace_floor = programs / "ptrace_floor"
        self.heap = pathlib.Path(build) / "tests" / "jemalloc" / "heap_linked"
        self.detect = programs / "detect"
        self.sample_cost = programs / "sample_cost"
        self.atop = shutil.which("atop", path=f"{os.environ['PATH']}:{pathlib.Path(build).parent}/peers/usr/bin")
        kinds = {"none": "idle", "libjemalloc.so": "idle_linked", "archive": "idle_archive", "static": "idle_static"}
        self.jemalloc_idle = {linkage: programs / name for linkage, name in kinds.items() if (programs / name).is_file()}
        self.micro = sorted(path for path in programs.glob("*_bench") if path.is_file())


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tools/dev bench", description="Measures captures and files and compares them with their floors.")
    parser.add_argument("counts", nargs="*", type=int, metavar="N", help="sizes of the crowd (default: 1000 10000)")
    parser.add_argument("--repeat", type=int, default=7, help="measured rounds (default: 7)")
    parser.add_argument("--parts", default="captures,taskstats,task_iter,ends,on_cpu,off_cpu,sleepers,live,peers,jemalloc,detect,files,runs,fleet,micro",
                        help="comma-separated: captures, taskstats, task_iter, ends, on_cpu, off_cpu, sleepers, live, peers, jemalloc, detect, files, runs, fleet, micro (default: all)")
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def bench_captures(tools, repeat, counts, directory):
    """Returns the paths of two captures of the last crowd."""
    for count in counts:
        for kind in KINDS:
            capture_paths = captures.bench(tools, repeat, kind, count, directory)
    return capture_paths


def bench_files(tools, repeat, directory, capture_paths):
    if capture_paths:
        files.bench(tools, repeat, "Files of the last captures", *capture_paths, (2.5, 4.5, 5, ""))
        files.bench_columns(tools, repeat, "Files of the last captures", *capture_paths, "")
    first, second = f"{directory}/a.ctprof.zst", f"{directory}/b.ctprof.zst"
    for threads, groups, targets in ((10_000, 1_000, (2.5, 4.5, 5, "")), (100_000, 20_000, (3.25, 5.85, 6.5, " (250 MB)"))):
        files.make(tools, first, threads, groups, 1)
        files.make(tools, second, threads, groups, 2)
        title = f"Synthetic files of {threads:,} threads in {groups:,} groups"
        files.bench(tools, repeat, title, first, second, targets)
        files.bench_columns(tools, repeat, title, first, second, " (120 MB)" if threads == 100_000 else "")


def main():
    arguments = parse_arguments()
    tools, parts = Tools(arguments.build), arguments.parts.split(",")
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        capture_paths = bench_captures(tools, arguments.repeat, arguments.counts or COUNTS, directory) if "captures" in parts else None
        for count in (arguments.counts or COUNTS) if "taskstats" in parts else []:
            taskstats.bench(tools, arguments.repeat, count, directory)
        for count in (arguments.counts or COUNTS) if "task_iter" in parts and tools.task_iter_floor.is_file() else []:
            task_iter.bench(tools, arguments.repeat, count, directory)
        for count in (arguments.counts or COUNTS) if "ends" in parts else []:
            window_cost.bench_window(tools, arguments.repeat, count)
        if "ends" in parts and tools.storm.is_file() and shutil.which("bpftool"):
            window_cost.bench(tools, directory)
        if "on_cpu" in parts and os.geteuid() == 0:
            on_cpu.bench(tools, arguments.repeat, directory)
        if "off_cpu" in parts and tools.switches.is_file():
            off_cpu.bench(tools, arguments.repeat, directory)
        if "sleepers" in parts and tools.sleepers_passes.is_file():
            sleepers.bench(tools, arguments.repeat, arguments.counts or COUNTS[1:])
        for count in (arguments.counts or COUNTS) if "live" in parts else []:
            live.bench(tools, arguments.repeat, count)
        for count in (arguments.counts or COUNTS) if "peers" in parts else []:
            for kind in peers.KINDS if count < MANY_PROCESSES else FEW_PROCESSES:
                peers.bench(tools, arguments.repeat, kind, count, directory)
        if "jemalloc" in parts and tools.heap.is_file():
            for count in JEMALLOC_COUNTS:
                jemalloc.bench(tools, arguments.repeat, count, directory)
        if "files" in parts:
            bench_files(tools, arguments.repeat, directory, capture_paths)
        if "runs" in parts:
            files.bench_runs(tools, arguments.repeat, directory, 50, 10_000, 500)
        if "fleet" in parts:
            fleet.bench(tools, arguments.repeat, directory)
    if "detect" in parts and tools.detect.is_file():
        detect.bench(tools, arguments.repeat)
    for program in tools.micro if "micro" in parts else []:
        print(f"\n{program.name}", flush=True)
        subprocess.run([program, "--benchmark_min_time=0.2"], check=True)


if __name__ == "__main__":
    main()
