"""Cases: runs one command of ctprof in all formats, and compares the output with values that are recomputed from its files.

    case = Show("run.ctprof.zst")                       # or "A..B", a directory of runs, or an archive of `record --every`
    case.check(tally, "pcomm", ("json", "csv", "details", "screen"))
    Compare(["a"], ["b"]).check(tally, "cgroup", ("json",))
"""

import os

import accounts
import product
from capture_file import load
from csv_check import CsvCheck
from figures import Figures
from grouping import Grouping
from heading import Heading
from report_check import Checker
import significance
from screen import HeadingCheck, ScreenCheck
from sides import Side
from text_check import COLUMNS, DetailsCheck, ScreenTextCheck


FORMATS = ("json", "csv", "details", "screen")
PLAIN_UNITS = {"thread_count": "count", "blocked_share": "ratio"}
# Sums of counters, ratios, levels, and a counter times a ratio: they are defined in windows of any length.
DERIVED = (("io_calls", "syscr + syscw"), ("time_on_queue", "run_time_ns + wait_time_ns"), ("faults_per_csw", "minflt / voluntary_csw"),
           ("bytes_per_call", "(rchar + wchar) / (syscr + syscw)"), ("rss_doubled", "rss_bytes * 2"),
           ("slice_per_thread", "fair_slice_ns / nr_threads"),
           ("voluntary_run", "run_time_ns * (voluntary_csw / (voluntary_csw + nonvoluntary_csw))"))
DERIVED_UNITS = {"io_calls": "count", "time_on_queue": "ns", "faults_per_csw": "ratio", "bytes_per_call": "bytes", "rss_doubled": "bytes",
                 "slice_per_thread": "ns", "voluntary_run": "ns"}

class Loaded:
    """Captures by path; each file is read once."""

    def __init__(self):
        self.captures = {}

    def captures_in(self, path):
        if path not in self.captures:
            self.captures[path] = load(path)
        return self.captures[path]

    def spans(self, argument):
        """Returns the runs that an argument represents."""
        if os.path.isdir(argument):
            files = sorted(os.path.join(argument, name) for name in os.listdir(argument) if name.endswith(".zst"))
            blocks = [self.captures_in(file) for file in files]
            if any(len(block) > 1 for block in blocks):
                return [accounts.span_of_consecutive([capture for block in blocks for capture in block])]
            return [accounts.span_of_capture(block[0]) for block in blocks]
        if ".." in argument and not os.path.exists(argument):
            before, after = argument.split("..")
            return [accounts.of_pair(self.captures_in(before)[0], self.captures_in(after)[0])]
        path, _, number = argument.partition("#")
        captures = self.captures_in(path)
        if number:
            return [accounts.span_of_capture(captures[int(number) - 1])]
        return [accounts.span_of_consecutive(captures) if len(captures) > 1 else accounts.span_of_capture(captures[0])]

LOADED = Loaded()

def group_options(axis, words):
    return {"axis": axis, "thread_names_as_they_are": "--no-thread-normalize" in words, "cgroups_as_they_are": "--no-cg-normalize" in words,
            "flatten": [words[at + 1] for at, word in enumerate(words) if word == "--cgroup-flatten"]}

def make_sides(runs_by_side, per_second, axis, words=(), derive=()):
    options = group_options(axis, words)
    grouping = Grouping(spans=[span for runs in runs_by_side for span in runs], **options)
    return [Side([Figures(span, grouping, derive) for span in runs], per_second) for runs in runs_by_side]

def base_name(word):
    """Returns an argument without directories."""
    return "..".join(os.path.basename(part).removesuffix(".ctprof.zst") for part in word.split("..")) if os.path.isabs(word) else word


def derive_words(derive):
    return [word for name, text in derive for word in ("--derive", f"{name}={text}")]

def units_of(sides):
    spans = [run.span for side in sides for run in side.runs]
    return PLAIN_UNITS | DERIVED_UNITS | {name: metric["unit"] for span in spans for name, metric in {**span.metrics, **span.derived}.items()}

class Case:
    def __init__(self, derive=(), words=()):
        self.derive, self.words = derive, tuple(words)

    def is_of_windows(self):
        return all(span.is_window for runs in self.runs for span in runs) and "--lifetime" not in self.words

    def check(self, tally, axis, formats=FORMATS):
        words = [*self.arguments(), *self.words, *derive_words(self.derive), "--group-by", axis]
        name = " ".join([self.command, *map(base_name, [*self.arguments(), *self.words]), *(["--derive"] if self.derive else []), axis])
        sides = make_sides(self.runs, self.per_second(), axis, self.words, self.derive)
        if "json" in formats:
            self.rows(Checker(tally, name), product.run_json(self.command, *words, "--details"), sides)
        if "csv" in formats:
            self.rows(CsvCheck(tally, name), product.run_csv(self.command, *words), sides)
        if "screen" in formats and self.is_of_windows():
            rates = make_sides(self.runs, True, axis, self.words, self.derive)
            report = product.run_json(self.command, *words)
            ScreenCheck(tally, name).check(report, rates)
            if len(rates) == 2:
                significance.check(report, lambda what, where, *rest: tally.judge(f"judged {what}", (name, *where), *rest))
            if not self.derive:  # with named metrics, every metric of every group is printed instead
                ScreenTextCheck(tally, name).check(product.run(self.command, *words, "--limit", "0"), report, rates)
            self.headings(tally, name, report)
        if "details" in formats and self.command == "show":
            text = product.run(self.command, *words, "--details", "--columns", COLUMNS, "--limit", "0")
            DetailsCheck(tally, name).show(text, sides[0], units_of(sides))

class Show(Case):
    command = "show"

    def __init__(self, argument, **more):
        super().__init__(**more)
        self.argument, self.runs = argument, [LOADED.spans(argument)]

    def arguments(self):
        return [self.argument]

    def per_second(self):
        return len(self.runs[0]) > 1 and self.is_of_windows()

    def rows(self, check, report, sides):
        check.show(report, sides[0])

    def headings(self, tally, name, report):
        if len(self.runs[0]) == 1:
            HeadingCheck(tally, name).check(report["snapshot"]["window"], Heading(self.runs[0][0]))
            return
        for run, span in zip(report["snapshot"]["runs"], self.runs[0]):
            HeadingCheck(tally, name).check(run["window"], Heading(span))

class Compare(Case):
    """A comparison; each side is a list of arguments."""

    command = "compare"

    def __init__(self, *sides, **more):
        super().__init__(**more)
        self.sides, self.runs = sides, [[span for argument in side for span in LOADED.spans(argument)] for side in sides]

    def arguments(self):
        words = []
        for at, side in enumerate(self.sides):
            words += (["--vs"] if at else []) + list(side)
        return words

    def per_second(self):
        return self.is_of_windows()

    def rows(self, check, report, sides):
        if len(sides) == 2 or isinstance(check, Checker):
            check.compare(report, sides)

    def headings(self, tally, name, report):
        for key, runs in (("baseline", self.runs[0]), ("candidate", self.runs[-1])):
            if len(runs) == 1:
                HeadingCheck(tally, name).check(report[key]["window"], Heading(runs[0]))
