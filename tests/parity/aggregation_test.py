#!/usr/bin/python3
"""Checks `show` and `compare` by plain arithmetic: the value of each group must follow from the rows in the file.

Checks every group and metric by the rule that the file's registry names, and also coverage, derived metrics, differences and percentages.
The files are captures of the recorded trees.
"""

import json
import subprocess
from collections import Counter
from fractions import Fraction

import file_json
import harness
import patterns
from file_json import Gap

LARGEST = 2**64 - 1

AXES = ["pcomm", "cgroup", "comm", "comm-exact", "all"]

# A metric that applies to no row of a group has no line.
NO_VALUE = (None, None)  # a derived metric without a value; it may be missing, because its inputs may not apply to any row
NOTHING_APPLIES = {"values": 0, "rows": 0}

DELAYS = ["cpu", "blkio", "swapin", "freepages", "thrashing", "compact", "wpcopy", "irq"]


def total_delay(v, kinds=DELAYS):
    """Sums all measured delays. Swap-in and thrashing delays overlap, so only the larger of the two counts."""
    totals = {}
    for kind in kinds:
        try:
            totals[kind] = v(f"{kind}_delay_total_ns")
        except KeyError:
            pass
    overlapping = [totals.pop(kind) for kind in ("swapin", "thrashing") if kind in totals]
    if not totals and not overlapping:
        raise KeyError("all delays")
    return sum(totals.values()) + max(overlapping, default=0)


DERIVED = {
    "total_offcpu_delay_ns": total_delay,
    "memory_delay_ns": lambda v: total_delay(v, ["freepages", "compact", "swapin", "thrashing"]),
    "affine_success_ratio": lambda v: v("nr_wakeups_affine") / v("nr_wakeups_affine_attempts"),
    "avg_wait_ns": lambda v: v("wait_sum") / v("wait_count"),
    "cpu_efficiency": lambda v: v("run_time_ns") / (v("run_time_ns") + v("wait_time_ns")),
    "avg_slice_ns": lambda v: v("run_time_ns") / v("timeslices"),
    "involuntary_csw_ratio": lambda v: v("nonvoluntary_csw") / (v("voluntary_csw") + v("nonvoluntary_csw")),
    "page_faults": lambda v: v("minflt") + v("majflt"),
    "disk_io_fraction": lambda v: v("read_bytes") / v("rchar"),
    "avg_iowait_ns": lambda v: v("iowait_sum") / v("iowait_count"),
    "live_heap_estimate": lambda v: v("allocated_bytes") - v("deallocated_bytes"),
    "process.file_lock_queue": lambda v: v("process.file_lock_waiters") + 0,
}
DERIVED |= {f"avg_{kind}_delay_ns": lambda v, kind=kind: v(f"{kind}_delay_total_ns") / v(f"{kind}_delay_count") for kind in DELAYS}


def format_cell(cell):
    return cell.decode(errors="replace") if isinstance(cell, bytes) else cell


def total(cells):
    return min(sum(cells), LARGEST)


def tally(cells):
    """Returns the most frequent value. Of equally frequent values, returns the smallest as text, so that false comes before true."""
    counts = Counter(format_cell(cell) for cell in cells)
    winner = min(counts, key=lambda value: (-counts[value], str(value)))
    return {"value": winner, "count": counts[winner], "total": len(cells)}


def cpu_list(cpus):
    """Formats CPUs as the kernel formats a set: 0-3,8."""
    runs = []
    for cpu in cpus:
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def affinity(cells):
    sizes = [len(cell) for cell in cells]
    alike = all(cell == cells[0] for cell in cells)
    return {"min": min(sizes), "max": max(sizes), "cpus": cpu_list(cells[0]) if alike else None}


def group_cells_by_key(cells):
    return {key: total(cell[key] for cell in cells if key in cell) for key in sorted({key for cell in cells for key in cell})}


def reduce(rule, cells):
    """Reduces a group's values by the rule, or returns None if there are none."""
    if not cells:
        return None
    if rule.startswith("Range"):
        return {"min": min(cells), "max": max(cells)}
    if rule.startswith("Mode"):
        return tally(cells)
    return {"Affinity": affinity, "MapSum": group_cells_by_key}.get(rule, total if rule.startswith("Sum") else max)(cells)


def number(value):
    """Returns a reduced value as one exact number, or None if it is not a number."""
    if isinstance(value, dict):
        return Fraction(value["min"] + value["max"], 2) if "min" in value else None
    return None if value is None or isinstance(value, (str, list)) else Fraction(value)


def compute_derived(formula, values):
    """Returns the value of a derived metric, or None if an input is missing or a divisor is 0."""
    def value(name):
        if number(values.get(name)) is None:
            raise KeyError(name)
        return number(values[name])
    try:
        return formula(value)
    except (KeyError, ZeroDivisionError):
        return None


def key_of(axis, thread):
    """Returns the original names by which a thread is grouped. A name that could not be read is empty."""
    columns = {"pcomm": ["pcomm"], "comm": ["comm"], "comm-exact": ["comm"], "cgroup": ["cgroup"], "all": ["cgroup", "pcomm", "comm"]}[axis]
    return [(column, "" if isinstance(thread[column], Gap) else format_cell(thread[column])) for column in columns]


def patterns_of(axis, threads, cgroups):
    """Returns a map (column, name) -> key, computed over all files of the comparison."""
    names = {}
    for column, name in [key for thread in threads for key in key_of(axis, thread)]:
        names.setdefault(column, set()).add(name)
    if axis == "cgroup":
        names.setdefault("cgroup", set()).update(cgroups)
    keys = {}
    for column, found in names.items():
        known = patterns.cgroup_keys(found) if column == "cgroup" else patterns.thread_keys(found)
        keys |= {(column, name): name if axis == "comm-exact" else known[name] for name in found}
    return keys


class Groups:
    """A file's rows by group: group -> metric -> (value, coverage). `files` are all files of the comparison, including this one. Only threads
    for which `keep` is true count."""

    def __init__(self, path, axis, files=(), keep=None):
        keep = keep or (lambda thread: True)
        file = file_json.load(path)
        files = [file_json.load(other) for other in files] or [file]
        keys = patterns_of(axis, [row for other in files for row in other.threads.values() if keep(row)], [path for other in files for path in other.cgroups])
        keyed = [{tuple(keys[key] for key in key_of(axis, row)) for row in other.threads.values() if keep(row)} for other in files]
        self.renames, self.pairs, self.below = patterns.find_renames(*keyed) if axis == "all" and len(files) == 2 else ({}, [], [])
        self.rules = {name: metric["rule"] for name, metric in file.metrics.items()
                      if metric["family"] != "identity" and metric["entity"] in ("thread", "process")}
        members = {}
        for (tgid, tid), row in file.threads.items():
            if not keep(row):
                continue
            rows = [row | (file.processes[tgid] if tid == tgid else {})]
            group = tuple(keys[key] for key in key_of(axis, row))
            group = (self.renames.get(group[0], group[0]), *group[1:])
            members.setdefault(group if axis == "all" else group[0], []).extend(rows)
        self.groups = {key: self._reduce(rows) for key, rows in members.items()}
        self.sizes = {key: len(rows) for key, rows in members.items()}
        # A cgroup is also a group if its threads are all in descendants.
        self.present = set(members) | ({keys["cgroup", path] for path in file.cgroups} if axis == "cgroup" else set())

    def _reduce(self, rows):
        found = {"thread_count": (len(rows), None)}
        for name, rule in self.rules.items():
            cells = [row[name] for row in rows if name in row and row[name] != Gap("NotApplicable")]
            values = [cell for cell in cells if not isinstance(cell, Gap)]
            if name != "thread_count":
                found[name] = (reduce(rule, values), {"values": len(values), "rows": len(cells)})
        values = {name: value for name, (value, _) in found.items()}
        return found | {name: (compute_derived(formula, values), None) for name, formula in DERIVED.items()}


def group_of(row):
    """Returns the group's key. Under `all` it is a tuple of three."""
    return tuple(row["group"]) if isinstance(row["group"], list) else row["group"]


def report_of(*words):
    """Returns a report about threads and processes. Other tests cover cgroups and the host."""
    finished = harness.run(*words, "--format", "json", "--limit", "0")
    assert finished.returncode == 0, finished.stderr
    report = json.loads(finished.stdout)
    report["rows"] = [row for row in report["rows"] if not row["metric"].startswith(("cgroup.", "host."))]
    return report


def differs(expected, found, scale=0):
    """Returns whether a value in JSON differs from the expected one. Fractions may differ in their last digits, and differences in the last digits
    of the compared values, whose magnitude is `scale`."""
    if isinstance(expected, Fraction):
        return found is None or abs(Fraction(found) - expected) > max(abs(expected), scale) * Fraction(1, 10**12)
    return found != expected


class AggregationCase(harness.CaptureCase):
    """Checks reports on files by plain arithmetic."""

    def errors_in_show(self, path, axis):
        groups = Groups(path, axis)
        rows = report_of("show", path, "--group-by", axis)["rows"]
        seen = {(group_of(row), row["metric"]) for row in rows}
        for group, metrics in groups.groups.items():
            yield from (f"{group}: {metric} is not shown" for metric, (value, coverage) in metrics.items()
                        if (group, metric) not in seen and coverage != NOTHING_APPLIES
                        and (value, coverage) != NO_VALUE)
        for row in rows:
            yield from self.errors_in_row(row, groups)

    def errors_in_row(self, row, groups):
        value, coverage = groups.groups[group_of(row)][row["metric"]]
        where = f"{row['group']}: {row['metric']}"
        if differs(value, row["value"]):
            yield f"{where} is {row['value']}, not {value}"
        if coverage is not None and row["coverage"] != coverage:
            yield f"{where} covers {row['coverage']}, not {coverage}"
        if row["threads"] != groups.sizes[group_of(row)]:
            yield f"{where}: {row['threads']} threads, not {groups.sizes[row['group']]}"

    def errors_in_comparison(self, row, baseline, candidate):
        where = f"{row['group']}: {row['metric']}"
        before, _ = baseline.groups.get(group_of(row), {}).get(row["metric"], (None, None))
        after, _ = candidate.groups.get(group_of(row), {}).get(row["metric"], (None, None))
        if differs(before, row["baseline"]) or differs(after, row["candidate"]):
            yield f"{where}: {row['baseline']} and {row['candidate']}, not {before} and {after}"
        before, after = number(before), number(after)
        if before is None or after is None:
            return
        scale = max(abs(before), abs(after))
        if differs(after - before, row["delta"], scale):
            yield f"{where}: the difference is {row['delta']}, not {after - before}"
        share, of = (None, 0) if row["unit"] == "ratio" or before == 0 else ((after - before) / before, scale / abs(before))
        if differs(share, row["pct"], of):
            yield f"{where}: the share is {row['pct']}, not {share} of {before}"

    def compare(self, paths, axis):
        """Checks a comparison. Returns it and the groups of the baseline."""
        baseline, candidate = (Groups(path, axis, paths) for path in paths)
        comparison = report_of("compare", "--lifetime", *paths, "--group-by", axis)
        self.assertEqual(sorted(map(group_of, comparison["only_baseline"])), sorted(baseline.present - candidate.present))
        self.assertEqual(sorted(map(group_of, comparison["only_candidate"])), sorted(candidate.present - baseline.present))
        groups_in_rows = {group_of(row) for row in comparison["rows"]}
        self.assertLessEqual(groups_in_rows, baseline.present & candidate.present)
        self.assertLessEqual(set(baseline.groups) & set(candidate.groups), groups_in_rows)
        self.assert_none([wrong for row in comparison["rows"] for wrong in self.errors_in_comparison(row, baseline, candidate)])
        renames = comparison["renamed_cgroups"]
        self.assertEqual([(pair["baseline"], pair["candidate"]) for pair in renames], baseline.pairs)
        self.assertEqual([(pair["baseline"], pair["candidate"]) for rename in renames for pair in rename["below"]], baseline.below)
        return comparison, baseline


class RecordedAggregation(AggregationCase):
    def test_show_of_recorded_trees(self):
        for kernel in harness.kernels():
            harness.capture_tree(kernel, self.path(kernel))
            for axis in AXES:
                with self.subTest(kernel=kernel, axis=axis):
                    self.assert_none(list(self.errors_in_show(self.path(kernel), axis)))

    def test_compare(self):
        harness.capture_tree("6.12", self.path("a"))
        harness.capture_tree("6.18", self.path("b"))
        for axis in AXES:
            with self.subTest(axis=axis):
                self.compare([self.path("a"), self.path("b")], axis)

    def capture_with_cgroups(self, kernel, name, cgroup_of):
        """Captures a recorded tree and replaces the cgroups of its threads."""
        harness.capture_tree(kernel, self.path(name))
        document = file_json.load(self.path(name)).document
        threads = document["threads"]
        for number, thread in enumerate(threads):
            thread["cgroup"] = cgroup_of(number, thread["cgroup"])
        with open(self.path(name), "wb") as out:
            subprocess.run(["zstd", "-q"], input=json.dumps(document).encode(), stdout=out, check=True)
        return self.path(name)

    def test_renamed_cgroups(self):
        """Moves threads to other cgroups: all of them, all but one, so many that too few remain, none."""
        stay = self.capture_with_cgroups("6.12", "stay", lambda _, path: path.replace("/ctp.slice/work", "/a/b/work"))
        moves = {
            "slice": (lambda _, path: path.replace("/ctp.slice", "/x.slice"), 1, 0),
            "service": (lambda _, path: path.replace("/ctp.slice/work", "/c/b/work"), 1, 0),
            "one less": (lambda number, path: path.replace("/ctp.slice/work", "/c/d") if number != 7 else "/", 1, 0),
            "five less": (lambda number, path: path.replace("/ctp.slice/work", "/c/d") if number > 7 else "/", 0, 0),
            "nobody": (lambda _, path: path.replace("/ctp.slice/work", "/a/b/work"), 0, 0),
        }
        for name, (cgroup_of, pairs, below) in moves.items():
            with self.subTest(move=name):
                paths = [stay, self.capture_with_cgroups("6.18", "gone", cgroup_of)]
                forward, groups = self.compare(paths, "all")
                backward, _ = self.compare(paths[::-1], "all")
                self.assertEqual((len(groups.pairs), len(groups.below)), (pairs, below))
                self.assertEqual([(row["metric"], row["group"][1:]) for row in forward["rows"] if len(row["group"]) == 3],
                                 [(row["metric"], row["group"][1:]) for row in backward["rows"] if len(row["group"]) == 3])

    def test_descendants_of_renamed_cgroups(self):
        harness.capture_tree("6.12", self.path("a"))
        _, groups = self.compare([self.path("a"), self.capture_with_cgroups("6.18", "b", lambda _, path: path.replace("/ctp", "/ptc"))], "all")
        self.assertEqual(len(groups.pairs), 1)
        self.assertEqual([pair[0] for pair in groups.below], ['/ctp.slice/weird name\\x2d"q".scope'])


if __name__ == "__main__":
    harness.main()
