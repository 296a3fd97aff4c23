"""Reads the call stacks of a window file without ctprof: the threads, and the weight of each of their stacks.

In scope:       reading the file.
Out of scope:   checking it (checks_stacks.py).
"""

import collections
import json
import os
import subprocess

TRUNCATED = "[truncated]"
KERNEL = "[kernel]"
Frame = collections.namedtuple("Frame", "name module is_guessed")  # name: None if it is unknown


class Thread:
    """`stacks` contains (frames, weight), with the leaf first. A stack that does not reach its root ends with TRUNCATED."""

    def __init__(self, tgid, tid, pcomm, run_time_ns):
        self.tgid, self.tid, self.pcomm, self.run_time_ns = tgid, tid, pcomm, run_time_ns
        self.stacks = []

    @property
    def weight(self):
        return sum(weight for _, weight in self.stacks)

    def weight_of(self, name):
        """Returns the weight of the stacks that contain a function with this name."""
        return sum(weight for frames, weight in self.stacks if name in (frame.name for frame in frames))

    def self_weights(self):
        """Returns a map function -> weight of the stacks whose user-space leaf it is. Time in the kernel counts for the function that called it."""
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
                self.threads += read_threads(line)
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

    def threads_of(self, pcomm):
        return [thread for thread in self.threads if thread.pcomm == pcomm]


def read_threads(line):
    """Yields the threads of a line's columns, with their run time since the start of the window."""
    columns, born = line["columns"], set(line.get("born", ()))
    bases = line.get("bases", {}).get("run_time_ns") or columns["run_time_ns"]
    for at, (tgid, tid, pcomm, ran) in enumerate(zip(*(columns[key] for key in ("tgid", "tid", "pcomm", "run_time_ns")))):
        base = 0 if line["first_row"] + at in born else bases[at]
        yield Thread(tgid, tid, pcomm, None if ran is None or base is None else ran - base)
