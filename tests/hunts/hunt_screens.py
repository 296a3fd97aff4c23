"""Common functions of the hunts: recording a window, parsing the first screen, and finding idle groups."""

import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "parity"))
import harness  # noqa: E402  pylint: disable=wrong-import-position

LINES, COLUMNS = 24, 120  # size of the terminal; 80 columns could be too narrow for the tested columns on a busy host
SECONDS = 2  # length of a window
SCALES = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
CELL = re.compile(r"(?:(?P<before>[\d.]+)→)?(?P<after>[\d.]+)(?P<scale>[KMG]i?|)B?(?: \+(?P<growth>[\d.]+)(?P<growth_scale>[KMG]i?|))?")
# A group below all these values is quiet: rates per second, and the growth of memory in the window.
FLOORS = {"run_time_ns": 10e6, "wait_time_ns": 10e6, "voluntary_csw": 10, "nonvoluntary_csw": 10, "page_faults": 10, "read_bytes": 64 << 10,
          "write_bytes": 64 << 10, "nr_migrations": 10}
GROWTH_FLOOR = 1 << 20


def run_checked(*words):
    """Runs ctprof, and returns its output."""
    finished = harness.run(*words)
    if finished.returncode != 0:
        raise AssertionError(f"{words}: {finished.stderr}")
    return finished.stdout


def record(path):
    run_checked("record", "--no-sync", "-q", "-d", f"{SECONDS}s", "-o", path)


def rates_and_memory(path):
    """Returns two maps from the details of a window: group -> metric -> rate, and group -> (memory at the end, its change)."""
    metrics = ",".join([*FLOORS, "rss_bytes"])
    report = json.loads(run_checked("show", path, "--format", "json", "--limit", "0", "--metrics", metrics))
    seconds = report["snapshot"]["window"]["rates_over_ns"] / 1e9
    rates, memory = {}, {}
    for row in report["rows"]:
        rates.setdefault(row["group"], {})
        if row["metric"] in FLOORS:
            rates[row["group"]][row["metric"]] = (row["value"] or 0) / seconds
        else:
            memory[row["group"]] = row["value"] or 0, row["change"] or 0
    return rates, memory


def quiet_groups(path):
    """Returns the groups of a window that are below all floors."""
    rates, memory = rates_and_memory(path)
    return {group for group, figures in rates.items() if all(rate < FLOORS[metric] for metric, rate in figures.items())
            and abs(memory.get(group, (0, 0))[1]) < GROWTH_FLOOR}


def quiet_in_both(before, after):
    """Returns the groups that are quiet in both windows and whose memory did not change between them."""
    first, last = rates_and_memory(before)[1], rates_and_memory(after)[1]
    return {group for group in quiet_groups(before) & quiet_groups(after)
            if abs(last.get(group, (0, 0))[0] - first.get(group, (0, 0))[0]) < GROWTH_FLOOR}


class Cell:
    """A printed value: "12.3", "1.5→98.7K", or "195Mi +180Mi" with growth. `before` equals `after` if there is only one value."""

    def __init__(self, text):
        found = CELL.match(text)
        scale = SCALES[found["scale"]]
        self.after = float(found["after"]) * scale
        self.before = float(found["before"] or found["after"]) * scale
        self.growth = float(found["growth"] or 0) * SCALES[found["growth_scale"] or ""]


class Screen:
    """The visible part of the output: its `lines`, and the `rows` of the table as group -> label -> text, in order."""

    def __init__(self, text):
        self.lines = text.splitlines()[:LINES]
        cells = [re.split("  +", line) for line in self.lines]
        header = next((at for at, line in enumerate(cells) if line[1:2] == ["threads"]), len(cells))
        # Findings: each can continue on several lines, and is followed by its command.
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
        """Returns the value in the group's row, from its column or the column 'moved most'; None if it is missing."""
        row = self.rows.get(group, {})
        text = row["moved most"].partition(" ")[2] if self.moved_most(group) == label else row.get(label)
        return Cell(text) if text else None

    def moved_most(self, group):
        """Returns the label in the group's column 'moved most'."""
        return self.rows.get(group, {}).get("moved most", "").partition(" ")[0]

    def has_sentence(self, sentence):
        """Returns whether the screen contains the sentence, ignoring line breaks."""
        return sentence in " ".join(" ".join(self.lines).split())


def read_first_screen(*words, columns=COLUMNS):
    """Returns the first screen that this command prints on a terminal."""
    return Screen(harness.on_a_terminal((LINES, columns), *words, "--color", "never").decode())
