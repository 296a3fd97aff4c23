#!/usr/bin/python3
"""Records this host under varied load, and recomputes every printed value until enough cells of each kind were checked.

    soak_recompute.py [ROUNDS]      as root, on a kernel with BPF; prints the table of counts, and exits with 1 if a cell differs
"""

import os
import sys
import tempfile

import product
import recordings
from cases import DERIVED, FORMATS, LOADED, Compare, Show, make_sides
from export_check import check_ids, check_perfetto, check_pprof
from file_check import check_exits_without_bpf, check_group_times, check_times
from grouping import AXES
from heading import Heading
from screen import HeadingCheck
from tally import Tally

CELLS, CELLS_OF_A_KIND, MOST_ROUNDS = 1_000_000, 10_000, 40
# The kinds of cells, identified by words in the name of a check.
KINDS = ("value", "rate", "derived", "median", "change", "delta", "percent", "coverage", "threads", "turnover", "per second of life", "csv",
         "printed", "screen", "heading")
# Number of short windows, because a heading has few cells.
SHORT_WINDOWS = 650


class Round:
    def __init__(self, tally, directory):
        self.tally, self.place = tally, directory

    def path(self, name):
        plain = os.path.join(self.place, name)
        return plain if os.path.isdir(plain) else plain + ".ctprof.zst"

    def files(self, name):
        return sorted(os.path.join(self.path(name), file) for file in os.listdir(self.path(name)) if file.endswith(".zst"))

    def record(self):
        recordings.make_all(self.place)
        with tempfile.TemporaryDirectory(prefix="load-") as ready:
            with recordings.start_programs(ready, "churn", "hog"):
                recordings.record(os.path.join(self.place, "short"), "--repeat", str(SHORT_WINDOWS), "-d", "50ms")
                recordings.record(os.path.join(self.place, "more"), "--repeat", "5", "-d", "500ms")

    def check(self):
        pair = f"{self.path('before')}..{self.path('after')}"
        windows = [self.path(name) for name in ("window", "full", "without-bpf", "stacks")]
        for axis in AXES:
            formats = FORMATS if axis in ("pcomm", "cgroup") else ("json",)
            derive = DERIVED if axis in ("pcomm", "all") else ()
            for name in (windows[0], pair, self.path("archive"), self.path("runs")):
                Show(name, derive=derive).check(self.tally, axis, formats)
            Show(self.path("before")).check(self.tally, axis, ("json", "csv", "details"))
            Compare([windows[0]], [windows[1]], derive=derive).check(self.tally, axis, formats)
            Compare([self.path("before")], [self.path("after")], words=["--lifetime"]).check(self.tally, axis, ("json", "csv"))
        for name in windows[1:]:
            Show(name).check(self.tally, "cgroup")
        for words in (["--no-thread-normalize"], ["--no-cg-normalize"], ["--cgroup-flatten", "/*/job-*"]):
            for axis in ("pcomm", "cgroup"):
                Show(windows[0], words=words).check(self.tally, axis, ("json",))
        for runs in range(2, 7):
            self.sides(runs)
        self.check_lifetimes(pair)
        self.headings()
        self.check_files(windows, pair)

    def headings(self):
        """Checks the heading of each of many short windows."""
        spans = LOADED.spans(self.path("short"))
        runs = product.run_json("show", self.path("short"))["snapshot"]["runs"]
        for number, (run, span) in enumerate(zip(runs, spans, strict=True), 1):
            HeadingCheck(self.tally, f"run {number}").check(run["window"], Heading(span))

    def sides(self, runs):
        """Tests a group that is missing in none, half, and all but one of the runs."""
        for absent in sorted({1, runs // 2, runs - 1}):
            files = self.files("runs")[:runs]
            for at in range(absent):
                into = os.path.join(self.place, f"absent-{at}.ctprof.zst")
                product.edit(files[at], into, product.rename({"churn": "other", "true": "other"}))
                files[at] = into
                LOADED.captures.pop(into, None)
            formats = ("json", "csv", "screen") if absent == runs // 2 else ("json",)
            Compare(files, self.files("more")[:max(2, runs - 1)], derive=DERIVED[:3]).check(self.tally, "pcomm", formats)

    def check_lifetimes(self, pair):
        other = os.path.join(self.place, "other-boot.ctprof.zst")
        product.edit(self.path("hog"), other, product.on_another_boot)
        for axis in ("pcomm", "comm", "pid"):
            Compare([self.path("before")], [other]).check(self.tally, axis, ("json", "csv"))
        Compare([self.path("hog")], [other]).check(self.tally, "pcomm", ("json",))
        Compare([pair], [self.path("window")]).check(self.tally, "pcomm")

    def check_files(self, windows, pair):
        for name in windows:
            check_times(self.tally, os.path.basename(name), LOADED.spans(name)[0])
            check_ids(self.tally, name)
        check_ids(self.tally, pair)
        check_exits_without_bpf(self.tally, "without-bpf", LOADED.captures_in(self.path("without-bpf"))[0])
        report = product.run_json("show", pair, "--details")
        check_group_times(self.tally, "before..after", report, make_sides([LOADED.spans(pair)], False, "pcomm")[0])
        check_pprof(self.tally, self.path("stacks"), LOADED.spans(self.path("stacks"))[0])
        check_perfetto(self.tally, self.path("stacks"), LOADED.spans(self.path("stacks"))[0])


def cells_by_kind(tally):
    return {kind: sum(count for name, count in tally.checked.items() if kind in name) for kind in KINDS}


def is_enough(tally):
    return sum(tally.checked.values()) >= CELLS and min(cells_by_kind(tally).values()) >= CELLS_OF_A_KIND


def main():
    tally, least = Tally(), int(sys.argv[1]) if len(sys.argv) > 1 else 1
    for number in range(1, MOST_ROUNDS + 1):
        with tempfile.TemporaryDirectory(prefix="recompute-") as directory:
            one = Round(tally, directory)
            one.record()
            one.check()
        LOADED.captures.clear()
        fewest = min(cells_by_kind(tally).items(), key=lambda one: one[1])
        cells, differ = (sum(counts.values()) for counts in (tally.checked, tally.differ))
        print(f"round {number}: {cells} cells, fewest of {fewest[0]}: {fewest[1]}; {differ} differ", flush=True)
        if number >= least and is_enough(tally):
            break
    print("\n".join(tally.lines()))
    for kind, cells in cells_by_kind(tally).items():
        print(f"{kind:20} {cells:>10} cells")
    if not is_enough(tally):
        sys.exit(f"fewer than {CELLS_OF_A_KIND} cells of a kind, or than {CELLS} in total")
    sys.exit(1 if tally.differ else 0)


if __name__ == "__main__":
    main()
