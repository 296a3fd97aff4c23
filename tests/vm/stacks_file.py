"""Call stacks of a window file, read without ctprof: threads, and what each weighs by stack.

What is here:   the file.
What is not:    what must be in it (checks_stacks.py).
"""

import collections
import json
import os
import subprocess

TRUNCATED = "[truncated]"
KERNEL = "[kernel]"
Frame = collections.namedtuple("Frame", "name module is_guessed")  # name: None where it has none


class Thread:
    """`stacks`: of (frames, weight), leaf first; frames of one that does not reach its root end with TRUNCATED."""

    def __init__(self, tgid, tid, pcomm, run_time_ns):
        self.tgid, self.tid, self.pcomm, self.run_time_ns = tgid, tid, pcomm, run_time_ns
        self.stacks = []

    @property
    def weight(self):
        return sum(weight for _, weight in self.stacks)

    def total(self, name):
        """Of stacks that have a function of that name."""
        return sum(weight for frames, weight in self.stacks if name in (frame.name for frame in frames))

    def itself(self):
        """Function -> the weight of stacks whose leaf it is, in user space: what the kernel does for it is its own."""
        found = collections.Counter()
        for frames, weight in self.stacks:
            found[next((frame.name for frame in frames if frame.module != KERNEL), None)] += weight
        return found


class Stacks:
    """`threads` in the file's order; `notes` of the capture."""

    def __init__(self, path):
        text = subprocess.run(["zstd", "-dcq", path], check=True, capture_output=True).stdout
        lines = [json.loads(line) for line in text.splitlines()]
        window = next(line for line in lines if line["kind"] == "window")
        summary = next(line for line in lines if line["kind"] == "summary")["ctprof"]
        self.opened_ns, self.notes = window["opened"]["monotonic_ns"], summary["notes"]
        self.closed_ns = summary["end"]["monotonic_ns"]
        self.threads = []
        for line in lines:
            if line["kind"] == "exited" or (line["kind"] == "table" and line["entity"] == "thread"):
                self.threads += rows(line)
        self._fill(lines)

    def _fill(self, lines):
        parts = collections.defaultdict(lambda: collections.defaultdict(list))
        for line in (line for line in lines if line["kind"] == "stacks"):
            for key, column in line.items():
                parts[line["part"]][key] += column if isinstance(column, list) else []
        texts = parts["strings"]["text"]
        modules = [os.path.basename(texts[path]) if kind == "file" else f"[{kind}]"
                   for kind, path in zip(parts["modules"]["type"], parts["modules"]["path"])]
        frames = [Frame(TRUNCATED, "", False)]
        columns = (parts["frames"][key] for key in ("name", "module", "guessed"))
        frames += [Frame(texts[name] or None, modules[module], bool(guessed)) for name, module, guessed in zip(*columns)]
        stacks = [()]
        for parent, frame in zip(parts["nodes"]["parent"], parts["nodes"]["frame"]):
            stacks.append((frames[frame],) + stacks[parent])
        for row, node, weight in zip(*(parts["weights"][key] for key in ("row", "node", "weight"))):
            self.threads[row].stacks.append((stacks[node], weight))

    def named(self, pcomm):
        return [thread for thread in self.threads if thread.pcomm == pcomm]


def rows(line):
    """Of a line's columns; what it had run when the window opened is taken off."""
    columns, born = line["columns"], set(line.get("born", ()))
    bases = line.get("bases", {}).get("run_time_ns") or columns["run_time_ns"]
    for at, (tgid, tid, pcomm, ran) in enumerate(zip(*(columns[key] for key in ("tgid", "tid", "pcomm", "run_time_ns")))):
        base = 0 if line["first_row"] + at in born else bases[at]
        yield Thread(tgid, tid, pcomm, None if ran is None or base is None else ran - base)
