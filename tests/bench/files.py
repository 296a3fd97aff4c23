"""Writing, loading and comparing snapshot files compared with zstd on the same bytes."""

import os

from measure import alternate, mib, ms, ratio, run, show


def zstd(*arguments):
    return run(["zstd", "-q", "-f", *arguments], keep_output=False)


def unpack(path):
    """Writes the JSON of a snapshot to a file beside it. Returns its path."""
    zstd("-d", path, "-o", f"{path}.json")
    return f"{path}.json"


def deeds(tools, first, second, layout):
    text = unpack(first)

    def core():
        words = run([tools.file_speed, first, "1", layout]).output.split()
        said = dict(zip(words[::2], words[1::2]))
        return {"ns": float(said[b"load"]) * 1e6, "write": float(said[b"write"]) * 1e6, "peak": int(said[b"peak_mib"]) * 2**20}

    def compared():
        done = run([tools.ctprof, "compare", "--lifetime", first, second, "--limit", "20"], keep_output=False)
        return {"ns": done.wall_ns, "peak": done.peak_bytes}

    return {
        "zstd -3": lambda: {"ns": zstd("-3", text, "-o", f"{first}.again").wall_ns},
        "zstd -dc": lambda: {"ns": zstd("-dc", first).wall_ns},
        "load and write": core,
        "zstd -dc both": lambda: {"ns": zstd("-dc", first).wall_ns + zstd("-dc", second).wall_ns},
        "compare": compared,
    }


def bench(tools, repeat, title, first, second, targets, layout="rows"):
    """Measures write, load and compare. `targets`: the largest ratios for each, and a remark on memory."""
    figures = alternate(repeat, deeds(tools, first, second, layout))
    most_write, most_load, most_compare, memory = targets

    def row(name, deed, floor="", most="", figure="ns"):
        ns, least, peak = figures[deed][figure], figures[deed][f"{figure} min"], figures[deed].get("peak")
        beside = (f"{ratio(ns, figures[floor]['ns'])} of {floor}", f"at most {most}") if floor else ("", "")
        return (name, ms(ns), ms(least), *beside, mib(peak) if peak else "")

    show(f"{title}, {repeat} rounds", [
        ("", "median", "minimum", "ratio", "target", f"peak memory{memory}"),
        row("zstd -3", "zstd -3"),
        row("write", "load and write", "zstd -3", most_write, "write"),
        row("zstd -dc", "zstd -dc"),
        row("load", "load and write", "zstd -dc", most_load),
        row("zstd -dc both", "zstd -dc both"),
        row("compare", "compare", "zstd -dc both", most_compare),
    ])


def in_columns(tools, path):
    """Exports the snapshot in columns to a file beside it. Returns its path and size."""
    other = f"{path}.columns"
    run([tools.ctprof, "export", path, "--to", "columns", "-o", other])
    return other, os.path.getsize(other)


def bench_columns(tools, repeat, title, first, second, memory):
    (left, size), (right, _) = in_columns(tools, first), in_columns(tools, second)
    share = ratio(size, os.path.getsize(first))
    bench(tools, repeat, f"{title}, in columns of {share} of the bytes (at most 0.7)", left, right, (2.5, 2.5, 4, memory), "columns")


def bench_runs(tools, repeat, directory, runs, threads, groups):
    """Compares `runs` runs of a host, half of them on each side; then twice as many."""
    for count in (runs, 2 * runs):
        sides = [os.path.join(directory, f"{side}{count}") for side in "ab"]
        for seed, side in enumerate(sides):
            os.mkdir(side)
            run([tools.make_runs, side, *map(str, (count // 2, threads, groups, seed))])
        every = [os.path.join(side, name) for side in sides for name in sorted(os.listdir(side))]

        def compared():
            done = run([tools.ctprof, "compare", *sides], keep_output=False)
            return {"ns": done.wall_ns, "peak": done.peak_bytes}

        figures = alternate(repeat, {"zstd -dc": lambda: {"ns": zstd("-dc", *every).wall_ns}, "compare": compared})
        whole, floor = figures["compare"], figures["zstd -dc"]
        show(f"{count} runs of {threads} threads in {groups} groups, {repeat} rounds", [
            ("", "median", "minimum", "ratio", "target", "peak memory (at most 300 MiB for 100 runs)"),
            ("zstd -dc", ms(floor["ns"]), ms(floor["ns min"]), "", "", ""),
            ("compare", ms(whole["ns"]), ms(whole["ns min"]), f"{ratio(whole['ns'], floor['ns'])} of zstd -dc", "at most 4", mib(whole["peak"])),
        ])


def make(tools, path, threads, groups, seed):
    """Makes a file of synthetic threads in `groups` groups."""
    per_process = max(1, threads // groups)
    run([tools.make_snapshot, path, *map(str, (threads, groups, groups, per_process, seed))])
