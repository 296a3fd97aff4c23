"""Writing, loading and comparing snapshot files compared with zstd on the same bytes."""

import os

from measure import alternate, mib, ms, ratio, run, show


def zstd(*arguments):
    return run(["zstd", "-q", "-f", *arguments], keep_output=False)


def unpack(path):
    """Writes the JSON of a snapshot to a file beside it. Returns its path."""
    zstd("-d", path, "-o", f"{path}.json")
    return f"{path}.json"


def make_actions(tools, first, second, layout):
    text = unpack(first)

    def measure_core():
        words = run([tools.file_speed, first, "1", layout]).output.split()
        facts = dict(zip(words[::2], words[1::2]))
        return {"ns": float(facts[b"load"]) * 1e6, "write": float(facts[b"write"]) * 1e6, "peak": int(facts[b"peak_mib"]) * 2**20}

    def compare():
        finished = run([tools.ctprof, "compare", "--lifetime", first, second, "--limit", "20"], keep_output=False)
        return {"ns": finished.wall_ns, "peak": finished.peak_bytes}

    return {
        "zstd -3": lambda: {"ns": zstd("-3", text, "-o", f"{first}.again").wall_ns},
        "zstd -dc": lambda: {"ns": zstd("-dc", first).wall_ns},
        "load and write": measure_core,
        "zstd -dc both": lambda: {"ns": zstd("-dc", first).wall_ns + zstd("-dc", second).wall_ns},
        "compare": compare,
    }


def bench(tools, repeat, title, first, second, targets, layout="rows"):
    """Measures write, load and compare. `targets`: the largest ratios for each, and a remark on memory."""
    results = alternate(repeat, make_actions(tools, first, second, layout))
    max_write, max_load, max_compare, memory = targets

    def row(name, action, floor="", limit="", key="ns"):
        ns, minimum, peak = results[action][key], results[action][f"{key} min"], results[action].get("peak")
        ratio_texts = (f"{ratio(ns, results[floor]['ns'])} of {floor}", f"at most {limit}") if floor else ("", "")
        return (name, ms(ns), ms(minimum), *ratio_texts, mib(peak) if peak else "")

    show(f"{title}, {repeat} rounds", [
        ("", "median", "minimum", "ratio", "target", f"peak memory{memory}"),
        row("zstd -3", "zstd -3"),
        row("write", "load and write", "zstd -3", max_write, "write"),
        row("zstd -dc", "zstd -dc"),
        row("load", "load and write", "zstd -dc", max_load),
        row("zstd -dc both", "zstd -dc both"),
        row("compare", "compare", "zstd -dc both", max_compare),
    ])


def export_columns(tools, path):
    """Exports the snapshot to a columns file beside it. Returns its path and size."""
    columns_path = f"{path}.columns"
    run([tools.ctprof, "export", path, "--to", "columns", "-o", columns_path])
    return columns_path, os.path.getsize(columns_path)


def bench_columns(tools, repeat, title, first, second, memory):
    (left, size), (right, _) = export_columns(tools, first), export_columns(tools, second)
    size_ratio = ratio(size, os.path.getsize(first))
    bench(tools, repeat, f"{title}, in columns of {size_ratio} of the bytes (at most 0.7)", left, right, (2.5, 2.5, 4, memory), "columns")


def bench_runs(tools, repeat, directory, runs, threads, groups):
    """Compares `runs` runs of a host, half of them on each side; then twice as many."""
    for count in (runs, 2 * runs):
        sides = [os.path.join(directory, f"{side}{count}") for side in "ab"]
        for seed, side in enumerate(sides):
            os.mkdir(side)
            run([tools.make_runs, side, *map(str, (count // 2, threads, groups, seed))])
        paths = [os.path.join(side, name) for side in sides for name in sorted(os.listdir(side))]

        def compare():
            finished = run([tools.ctprof, "compare", *sides], keep_output=False)
            return {"ns": finished.wall_ns, "peak": finished.peak_bytes}

        results = alternate(repeat, {"zstd -dc": lambda: {"ns": zstd("-dc", *paths).wall_ns}, "compare": compare})
        compared_runs, floor = results["compare"], results["zstd -dc"]
        show(f"{count} runs of {threads} threads in {groups} groups, {repeat} rounds", [
            ("", "median", "minimum", "ratio", "target", "peak memory (at most 300 MiB for 100 runs)"),
            ("zstd -dc", ms(floor["ns"]), ms(floor["ns min"]), "", "", ""),
            ("compare", ms(compared_runs["ns"]), ms(compared_runs["ns min"]), f"{ratio(compared_runs['ns'], floor['ns'])} of zstd -dc", "at most 4", mib(compared_runs["peak"])),
        ])


def make(tools, path, threads, groups, seed):
    """Makes a file of synthetic threads in `groups` groups."""
    per_process = max(1, threads // groups)
    run([tools.make_snapshot, path, *map(str, (threads, groups, groups, per_process, seed))])
