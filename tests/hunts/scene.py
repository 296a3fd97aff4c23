"""What the hunts share: recording a window, what ctprof prints of it first, and which groups did nothing in it."""

import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import harness  # noqa: E402  pylint: disable=wrong-import-position

LINES, COLUMNS = 24, 120  # of a terminal; on a busy host other programs decide which columns have place on one of 80
SECONDS = 2  # of a window
SCALES = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
CELL = re.compile(r"(?:(?P<before>[\d.]+)→)?(?P<after>[\d.]+)(?P<scale>[KMG]i?|)B?(?: \+(?P<growth>[\d.]+)(?P<growth_scale>[KMG]i?|))?")
# Who is below all of these is quiet: by the second, and of memory what it changed by in the window.
FLOORS = {"run_time_ns": 10e6, "wait_time_ns": 10e6, "voluntary_csw": 10, "nonvoluntary_csw": 10, "page_faults": 10, "read_bytes": 64 << 10,
          "write_bytes": 64 << 10, "nr_migrations": 10}
GROWTH_FLOOR = 1 << 20


def checked(*words):
    """What ctprof prints."""
    done = harness.run(*words)
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.stderr}")
    return done.stdout


def record(path):
    checked("record", "--no-sync", "-q", "-d", f"{SECONDS}s", "-o", path)


def rates_and_memory(path):
    """Of a window, by the figures of its details: group -> metric -> rate, and group -> memory at the end, and what it changed by."""
    metrics = ",".join([*FLOORS, "rss_bytes"])
    told = json.loads(checked("show", path, "--format", "json", "--limit", "0", "--metrics", metrics))
    seconds = told["snapshot"]["window"]["rates_over_ns"] / 1e9
    rates, memory = {}, {}
    for row in told["rows"]:
        rates.setdefault(row["group"], {})
        if row["metric"] in FLOORS:
            rates[row["group"]][row["metric"]] = (row["value"] or 0) / seconds
        else:
            memory[row["group"]] = row["value"] or 0, row["change"] or 0
    return rates, memory


def quiet_groups(path):
    """The groups of a window that are below every floor."""
    rates, memory = rates_and_memory(path)
    return {group for group, figures in rates.items() if all(rate < FLOORS[metric] for metric, rate in figures.items())
            and abs(memory.get(group, (0, 0))[1]) < GROWTH_FLOOR}


def quiet_in_both(before, after):
    """The groups that are so in two windows, and did not grow from one to the other."""
    first, last = rates_and_memory(before)[1], rates_and_memory(after)[1]
    return {group for group in quiet_groups(before) & quiet_groups(after)
            if abs(last.get(group, (0, 0))[0] - first.get(group, (0, 0))[0]) < GROWTH_FLOOR}


class Cell:
    """A figure as it is printed: "12.3", "1.5→98.7K", "195Mi +180Mi" of what grew. `before` is `after` where there is one figure."""

    def __init__(self, text):
        found = CELL.match(text)
        scale = SCALES[found["scale"]]
        self.after = float(found["after"]) * scale
        self.before = float(found["before"] or found["after"]) * scale
        self.growth = float(found["growth"] or 0) * SCALES[found["growth_scale"] or ""]


class Screen:
    """What is seen without scrolling: `lines`, and of the table `rows`, group -> label -> text, in order."""

    def __init__(self, text):
        self.lines = text.splitlines()[:LINES]
        cells = [re.split("  +", line) for line in self.lines]
        header = next((at for at, line in enumerate(cells) if line[1:2] == ["threads"]), len(cells))
        # Sentences, each with the lines that it is broken into and its command.
        numbered = re.compile(r"[1-5] (.*)")
        self.findings = []
        for line in self.lines[:header]:
            if found := numbered.fullmatch(line):
                self.findings.append(found[1])
            elif self.findings and line.startswith("  "):
                self.findings[-1] += " " + line.strip()
        self.rows = {}
        for line in cells[header + 1:]:
            if len(line) != len(cells[header]):
                break
            self.rows[line[0].strip()] = dict(zip(cells[header], line))

    def cell(self, group, label):
        """The figure in the group's row, be it in a column or what moved most; None where it is not there."""
        row = self.rows.get(group, {})
        text = row["moved most"].partition(" ")[2] if self.moved_most(group) == label else row.get(label)
        return Cell(text) if text else None

    def moved_most(self, group):
        """The label that a comparison tells first of the group."""
        return self.rows.get(group, {}).get("moved most", "").partition(" ")[0]

    def says(self, sentence):
        """Whether it does, however it is broken into lines."""
        return sentence in " ".join(" ".join(self.lines).split())


def first_of(*words, columns=COLUMNS):
    """The first screen that this command prints on a terminal."""
    return Screen(harness.on_a_terminal((LINES, columns), *words, "--color", "never").decode())
