"""Checks that a capture of sleeping threads equals plain copies of the kernel's files, which were taken before and after it."""

from agreement import HEAP, IDENTITY, IN_PROGRESS
from guest_output import Gap
from compare_rows import uncovered_columns, row_differences
import plain_cgroups

MAX_MOVING_THREADS = 6  # of the test's threads; all others must have slept
SHARED_SLACK_KIB = 4  # a page that other processes map, too, is divided by the number of mappings
SHARES_LIBRARIES = b"heap_preloaded"  # shares its libraries with ctprof while that runs

# Values that change without activity: averages, and counts that other CPUs have not added yet.
UNSTABLE = ("avg10", "avg60", "avg300", "cgroup.memory.stat")


def unchanged_rows(output, read):
    """Returns the rows that are equal before and after: key -> row."""
    before, after = read("before"), read("after")
    return {key: row for key, row in before.items() if after.get(key) == row}


def threads(output):
    plain, captured = unchanged_rows(output, output.plain_threads), output.file("second").threads
    moving = len(output.plain_threads("before")) - len(plain)
    differences = [f"{moving} of the threads of the test did not sleep"] if moving > MAX_MOVING_THREADS else []
    for key, row in plain.items():
        differences += row_differences(f"{key[0]}/{key[1]}", row, captured.get(key, {}))
    compared_elsewhere = HEAP | IN_PROGRESS | set(IDENTITY)  # compared in tests/jemalloc, tests/record and checks_parity.py
    for plugin in ("procfs-sched", "taskstats", "task-iter"):
        differences += [f"{name} is not compared" for name in uncovered_columns(
            next(iter(plain.values())), next(iter(captured.values())), output.file("second").columns_of("thread", plugin) - compared_elsewhere)]
    return differences


def rollups(output):
    def read(name):
        return {tgid: output.plain_rollup(name, tgid) for (tgid, tid), row in output.plain_threads(name).items()
                if tgid == tid and row["comm"] != SHARES_LIBRARIES}

    differences, compared = [], unchanged_rows(output, read)
    for tgid, plain in compared.items():
        found = output.file("second").processes[tgid]["process.smaps_rollup"]
        if isinstance(found, Gap) or sorted(found) != sorted(plain):
            differences.append(f"{tgid}: {found!r}, not {plain!r}")
            continue
        differences += [f"{tgid}: {key} is {found[key]}, not {kib}" for key, kib in plain.items()
                        if abs(found[key] - kib) > (SHARED_SLACK_KIB if "Pss" in key or key == "Referenced" else 0)]
    return differences or ([] if compared else ["no process slept"])


def cgroup_rows(output, name, paths):
    cgroups = output.plain_cgroups(name)
    return {path: cgroups.row(path, "cgroup") | cgroups.row(path, "psi") for path in paths}


def cgroups(output):
    """Compares the cells that are equal before and after."""
    captured = output.file("second").cgroups_by_path()
    before, after = (cgroup_rows(output, name, captured) for name in ("before", "after"))
    differences, compared = [], set()
    for path, row in before.items():
        quiet = {name: cell for name, cell in row.items() if after[path][name] == cell and not name.endswith(UNSTABLE)}
        differences += row_differences(path.decode(), quiet, captured[path])
        compared |= {name for name, cell in quiet.items() if isinstance(cell, (int, dict))}
    never = [metric["name"] for plugin in ("cgroup", "psi") for metric in plain_cgroups.vocabulary(plugin)
             if metric["entity"] == "cgroup" and metric["name"] not in compared and not metric["name"].endswith(UNSTABLE)
             and any(isinstance(row[metric["name"]], (int, dict)) for row in before.values())]
    return differences + [f"{name} was never quiet: it is not compared" for name in never]


def is_total(value):
    return isinstance(value, int) and not isinstance(value, bool)


def host(output):
    """Pressure grows all the time, so the captured value must lie between the two copies. All other values must be equal."""
    differences = []
    captured = output.file("second").host
    for plugin in ("psi", "sched_ext"):
        before, after = (plain_cgroups.read_host(output.plain(name), plugin) for name in ("before", "after"))
        for name, cell in before.items():
            if name.endswith("total_usec") and is_total(cell):
                if not (is_total(captured[name]) and cell <= captured[name] <= after[name]):
                    differences.append(f"{name} is {captured[name]!r}, not between {cell} and {after[name]}")
            elif cell == after[name] and not name.endswith(UNSTABLE):
                differences += row_differences("host", {name: cell}, captured)
    return differences


CHECKS = {"threads equal plain readings": threads, "process memory equals plain readings": rollups,
          "cgroups equal plain readings": cgroups, "pressure and sched_ext equal plain readings": host}
