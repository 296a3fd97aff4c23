#!/usr/bin/python3
"""Checks that a file compared with itself shows no change, and that exchanging two files mirrors the report and keeps its order.

Covers JSON and text, under every grouping, on recorded trees (of one kernel, and of two that lack different values), and on constructed
files of random rows.
"""

import json
import random
import re
import subprocess

import harness

AXES = ["pcomm", "cgroup", "comm", "comm-exact", "all"]
ROUNDS = 4  # of random files; each has its own seed
TREES = [("6.12", "6.18"), ("5.10", "7.2")]

# Keys of a row that are exchanged or lost when the files are exchanged: threads that started become threads that exited.
PAIRS = [("baseline", "candidate"), ("threads_baseline", "threads_candidate"), ("coverage_baseline", "coverage_candidate"),
         ("parts_baseline", "parts_candidate"), ("per_life_baseline", "per_life_candidate"), ("runs_baseline", "runs_candidate"),
         ("busiest_baseline", "busiest_candidate"), ("extras_baseline", "extras_candidate"), ("threads_new", "threads_gone")]
NEGATED = {"delta": "delta", "delta_alive": "delta_alive", "delta_new": "delta_gone", "delta_gone": "delta_new", "rate": "rate"}


def negate(delta):
    """Negates a number, or each value of a map. A word stays the same."""
    if isinstance(delta, dict):
        return {key: negate(part) for key, part in delta.items()}
    return delta if delta is None or isinstance(delta, str) else -delta


def mirror_row(row):
    """Returns the row that is expected when the files are exchanged, without the percentage, which then has another base."""
    other = {key: value for key, value in row.items() if key not in ("pct", "rate")}
    for one, two in PAIRS:
        other[one], other[two] = row[two], row[one]
    return other | {key: negate(row[other_key]) for key, other_key in NEGATED.items() if other_key in row}


def is_zero(delta):
    return delta in (0, None, "same") or isinstance(delta, dict) and all(part == 0 for part in delta.values())


def is_only_exchanged(key):
    return {"only_baseline": "only_candidate", "only_candidate": "only_baseline"}.get(key, key)


def output_of(*words):
    finished = harness.run(*words)
    assert finished.returncode == 0, (words, finished.stderr)
    return finished.stdout


def run_json(*words):
    return json.loads(output_of(*words, "--format", "json"))


def text_rows(text):
    """Returns a map section -> rows of cells from text whose columns are separated by two blanks. Leaves out text outside the tables."""
    sections = {}
    for block in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        name, header, *lines = block.split("\n")
        if not header.startswith("metric"):
            continue
        sections[name] = [re.split(r" {2,}", line.strip()) for line in lines if re.match(r"\S+ {2,}", line)]
    return sections


def mirror_cells(cells):
    """Exchanges metric, arrow and delta of a line of text."""
    metric, value, delta = cells
    before, after = (side.strip() for side in value.split(" → "))
    return [metric, f"{after} → {before}", delta.translate(str.maketrans("+-", "-+")) if re.match(r"[+-]<?\d", delta) else delta]


def random_document(dice):
    """Makes a document with few names and small values, so that groups share keys, have ties, lack values, or exist on one side only."""
    names = ["a", "w-1", "w-2", "db", "c0ffee", "deadbee5"]
    counts = ["run_time_ns", "wait_time_ns", "timeslices", "nr_migrations", "majflt", "wait_max", "fair_slice_ns", "allocated_bytes", "deallocated_bytes",
              "thrashing_delay_total_ns", "swapin_delay_total_ns"]

    def thread(tid):
        row = {"tid": tid, "tgid": tid - tid % 3, "pcomm": dice.choice(names), "comm": dice.choice(names), "cgroup": f"/{dice.choice(names)}",
               "start_time_clock_ticks": dice.randrange(3), "nice": dice.randrange(-2, 3), "policy": dice.choice(["SCHED_OTHER", "SCHED_FIFO"]),
               "cpu_affinity": dice.sample(range(4), dice.randrange(1, 4)), "smaps_rollup_kib": {key: dice.randrange(3) for key in dice.sample(["Rss", "Pss", "Swap"], 2)}}
        row["cpu_affinity"].sort()
        return row | {name: dice.choice([0, 1, 2, 1000, 2**64 - 1]) for name in counts if dice.random() < 0.9}

    def cgroup():
        return {"cpu": {"usage_usec": dice.randrange(3), "weight": dice.choice([100, 200])},
                "memory": {"max": dice.choice([None, 5, 2**64 - 1]), "min": dice.choice([0, 2**64 - 1]), "stat": {key: dice.randrange(2) for key in dice.sample(["anon", "file", "pgfault"], 2)}}}

    threads = [thread(tid) for tid in sorted(dice.sample(range(3, 60), 30))]
    paths = {f"/{name}": cgroup() for name in dice.sample(names, 4)}
    return {"captured_at_unix_ns": 1790000000000000000, "threads": threads, "cgroup_stats": paths,
            "sched_ext": {"state": dice.choice(["enabled", "disabled"]), "switch_all": dice.randrange(2), "nr_rejected": dice.randrange(3), "hotplug_seq": 0, "enable_seq": 0}}


class Case(harness.CaptureCase):
    def check_itself(self, path, axis):
        report = run_json("compare", "--lifetime", path, path, "--group-by", axis)
        self.assertGreater(len(report["rows"]), 0)
        names = [name for name in NEGATED if name in report["rows"][0]]
        self.assert_none([f"{row['group']}: {row['metric']}: {name} is {row[name]}" for row in report["rows"] for name in names if not is_zero(row[name])])
        self.assert_none([f"{row['group']}: {row['metric']}: {row['pct']}" for row in report["rows"] if row["pct"] not in (0, None)])
        self.assertEqual((report["only_baseline"], report["only_candidate"], report["host_diff"] or []), ([], [], []))
        text = output_of("compare", "--lifetime", path, path, "--group-by", axis, "--limit", "0")
        self.assertNotIn("→", text)
        self.assertNotIn("only in", text)
        self.assertEqual(text_rows(text), {}, "no table has a row")

    def check_exchanged(self, a, b, axis, *words):
        forward, backward = (run_json("compare", "--lifetime", *files, "--group-by", axis, *words) for files in ((a, b), (b, a)))
        self.assertGreater(len(forward["rows"]), 0)
        self.assertEqual([(row["group"], row["metric"]) for row in forward["rows"]], [(row["group"], row["metric"]) for row in backward["rows"]], "the order")
        self.assert_none([f"{row['group']}: {row['metric']}: {mirror_row(row)}\nis {other}" for row, other in zip(forward["rows"], backward["rows"])
                          if mirror_row(row) != {key: value for key, value in other.items() if key != "pct"}])
        self.assertEqual((forward["only_baseline"], forward["only_candidate"]), (backward["only_candidate"], backward["only_baseline"]))
        self.assertEqual(forward["cut"], {is_only_exchanged(key): count for key, count in backward["cut"].items()})
        self.assertEqual([(row["key"], row["baseline"], row["candidate"]) for row in forward["host_diff"] or []],
                         [(row["key"], row["candidate"], row["baseline"]) for row in backward["host_diff"] or []])

    def check_text(self, a, b, axis):
        words = ("--group-by", axis, "--columns", "metric,arrow,delta", "--limit", "40")
        forward, backward = (text_rows(output_of("compare", "--lifetime", *files, *words)) for files in ((a, b), (b, a)))
        self.assertGreater(sum(map(len, forward.values())), 0)
        self.assertEqual({name: [mirror_cells(cells) for cells in rows] for name, rows in forward.items()}, backward)

    def check(self, a, b):
        for axis in AXES:
            with self.subTest(axis=axis):
                self.check_itself(a, axis)
                self.check_exchanged(a, b, axis, "--rate")
                self.check_text(a, b, axis)
        for order in ("delta", "name", "name:desc", "movers:asc"):
            with self.subTest(order=order):
                self.check_exchanged(a, b, "comm", "--sort-by", order, "--limit", "7")


class Mirror(Case):
    def test_recorded_trees(self):
        for pair in TREES:
            with self.subTest(trees=pair):
                for kernel in pair:
                    harness.capture_tree(kernel, self.path(kernel))
                self.check(*map(self.path, pair))

    def test_random_files(self):
        for seed in range(ROUNDS):
            with self.subTest(seed=seed):
                dice = random.Random(seed)
                for side in "ab":
                    with open(self.path(side), "wb") as file:
                        subprocess.run(["zstd", "-q"], input=json.dumps(random_document(dice)).encode(), stdout=file, check=True)
                self.check(self.path("a"), self.path("b"))


if __name__ == "__main__":
    harness.main()
