"""A capture of what sleeps equals plain copies of the kernel's files that were taken before and after it."""

from agreement import HEAP, IDENTITY, IN_PROGRESS
from captured import Gap
from compare_rows import lacking_columns, row_differences
import plain_cgroups

MOST_MOVING = 6  # of our threads; all others must have slept
SHARED_SLACK_KIB = 4  # a page that others map too counts by how many they are
SHARES_LIBRARIES = b"heap_preloaded"  # with ctprof itself, while that runs

# Moves without being used: averages, and what other CPUs have not yet added up.
RESTLESS = ("avg10", "avg60", "avg300", "cgroup.memory.stat")


def slept(left, read):
    """What was the same before and after: key -> row."""
    before, after = read("before"), read("after")
    return {key: row for key, row in before.items() if after.get(key) == row}


def threads(left):
    plain, captured = slept(left, left.plain_threads), left.file("second").threads
    moving = len(left.plain_threads("before")) - len(plain)
    differences = [f"{moving} of our threads did not sleep"] if moving > MOST_MOVING else []
    for key, row in plain.items():
        differences += row_differences(f"{key[0]}/{key[1]}", row, captured.get(key, {}))
    told_elsewhere = HEAP | IN_PROGRESS | set(IDENTITY)  # tests/jemalloc, tests/record, checks_parity.py
    for plugin in ("procfs-sched", "taskstats", "task-iter"):
        differences += [f"{name} is not compared" for name in lacking_columns(
            next(iter(plain.values())), next(iter(captured.values())), left.file("second").columns_of("thread", plugin) - told_elsewhere)]
    return differences


def rollups(left):
    def read(name):
        return {tgid: left.plain_rollup(name, tgid) for (tgid, tid), row in left.plain_threads(name).items()
                if tgid == tid and row["comm"] != SHARES_LIBRARIES}

    differences, compared = [], slept(left, read)
    for tgid, plain in compared.items():
        found = left.file("second").processes[tgid]["process.smaps_rollup"]
        if isinstance(found, Gap) or sorted(found) != sorted(plain):
            differences.append(f"{tgid}: {found!r}, not {plain!r}")
            continue
        differences += [f"{tgid}: {key} is {found[key]}, not {kib}" for key, kib in plain.items()
                        if abs(found[key] - kib) > (SHARED_SLACK_KIB if "Pss" in key or key == "Referenced" else 0)]
    return differences or ([] if compared else ["no process slept"])


def cgroup_rows(left, name, paths):
    cgroups = left.plain_cgroups(name)
    return {path: cgroups.row(path, "cgroup") | cgroups.row(path, "psi") for path in paths}


def cgroups(left):
    """Cell by cell: those that were the same before and after."""
    captured = left.file("second").cgroups_by_path()
    before, after = (cgroup_rows(left, name, captured) for name in ("before", "after"))
    differences, compared = [], set()
    for path, row in before.items():
        quiet = {name: cell for name, cell in row.items() if after[path][name] == cell and not name.endswith(RESTLESS)}
        differences += row_differences(path.decode(), quiet, captured[path])
        compared |= {name for name, cell in quiet.items() if isinstance(cell, (int, dict))}
    never = [metric["name"] for plugin in ("cgroup", "psi") for metric in plain_cgroups.vocabulary(plugin)
             if metric["entity"] == "cgroup" and metric["name"] not in compared and not metric["name"].endswith(RESTLESS)
             and any(isinstance(row[metric["name"]], (int, dict)) for row in before.values())]
    return differences + [f"{name} was never quiet: it is not compared" for name in never]


def is_total(value):
    return isinstance(value, int) and not isinstance(value, bool)


def host(left):
    """Pressure grows all the time: what was captured lies between the two copies. The rest is equal."""
    differences = []
    captured = left.file("second").host
    for plugin in ("psi", "sched_ext"):
        before, after = (plain_cgroups.read_host(left.plain(name), plugin) for name in ("before", "after"))
        for name, cell in before.items():
            if name.endswith("total_usec") and is_total(cell):
                if not (is_total(captured[name]) and cell <= captured[name] <= after[name]):
                    differences.append(f"{name} is {captured[name]!r}, not between {cell} and {after[name]}")
            elif cell == after[name] and not name.endswith(RESTLESS):
                differences += row_differences("host", {name: cell}, captured)
    return differences


CHECKS = {"threads equal plain readings": threads, "process memory equals plain readings": rollups,
          "cgroups equal plain readings": cgroups, "pressure and sched_ext equal plain readings": host}
