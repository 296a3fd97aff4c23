"""Writing, loading and comparing snapshot files beside zstd on the same bytes."""

import subprocess

from measure import alternate, mib, ms, ratio, run, show


def zstd(*arguments):
    return run(["zstd", "-q", "-f", *arguments], keep_output=False)


def unpack(path):
    """The JSON of a snapshot, in a file beside it."""
    zstd("-d", path, "-o", f"{path}.json")
    return f"{path}.json"


def deeds(tools, first, second):
    text = unpack(first)

    def timed(finished):
        return {"ns": finished.json()["ns"], "peak": finished.peak_bytes}

    def compared():
        done = run([tools.ctprof, "compare", first, second, "--limit", "20"], keep_output=False)
        return {"ns": done.wall_ns, "peak": done.peak_bytes}

    return {
        "zstd -3": lambda: {"ns": zstd("-3", text, "-o", f"{first}.again").wall_ns},
        "write": lambda: timed(run([tools.file_time, "write", first, f"{first}.again"])),
        "zstd -dc": lambda: {"ns": zstd("-dc", first).wall_ns},
        "load": lambda: timed(run([tools.file_time, "load", first])),
        "zstd -dc both": lambda: {"ns": zstd("-dc", first).wall_ns + zstd("-dc", second).wall_ns},
        "compare": compared,
    }


def row(figures, deed, floor, target):
    peak = figures[deed].get("peak")
    return (deed, ms(figures[deed]["ns"]), ms(figures[deed]["ns min"]), f"{ratio(figures[deed]['ns'], figures[floor]['ns'])} of {floor}" if floor else "",
            target if floor else "", mib(peak) if peak else "")


def bench(tools, repeat, title, first, second, targets):
    """`targets`: the largest ratios for write, load, compare, and a remark on memory."""
    figures = alternate(repeat, deeds(tools, first, second))
    write, load, compare, memory = targets
    show(f"{title}, {repeat} rounds", [
        ("", "median", "least", "ratio", "target", f"peak memory{memory}"),
        row(figures, "zstd -3", None, ""),
        row(figures, "write", "zstd -3", f"at most {write}"),
        row(figures, "zstd -dc", None, ""),
        row(figures, "load", "zstd -dc", f"at most {load}"),
        row(figures, "zstd -dc both", None, ""),
        row(figures, "compare", "zstd -dc both", f"at most {compare}"),
    ])


def make(tools, path, threads, groups, seed):
    subprocess.run([tools.make_snapshot, path, str(threads), str(groups), str(seed)], check=True)
